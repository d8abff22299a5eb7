// Elements. Whatever a world says becomes text, never markup.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(made.dataset, value);
    } else if (name === "style") {
      for (const [key, text] of Object.entries(value)) made.style.setProperty(key, text);
    } else {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Changes a text only where it differs: a selection, and what a screen reader reads, stay.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Saves what is seen as a file.
function save(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

// Saves canvases, one upon the other, as a picture on paper.
export function savePicture(name, ...canvases) {
  const [{ width, height }] = canvases;
  const picture = element("canvas", { width, height });
  const context = picture.getContext("2d");
  context.fillStyle = colour("paper");
  context.fillRect(0, 0, width, height);
  for (const canvas of canvases) context.drawImage(canvas, 0, 0);
  picture.toBlob((blob) => save(`${name}.png`, blob));
}

// Texts stand in quotes; a ' goes before one that a spreadsheet would take for a formula.
export function saveCsv(name, columns, rows) {
  const cell = (value) => {
    if (typeof value === "number" || value === null || value === undefined) return value ?? "";
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `"${text.replace(/^(?=[=+@\t\r]|-(?![\d.]+$))/, "'").replaceAll('"', '""')}"`;
  };
  const head = columns.map((title) => (/^[\w.]+$/.test(title) ? title : cell(title)));
  const lines = [head, ...rows.map((row) => row.map(cell))].map((line) => `${line.join(",")}\n`);
  save(name, new Blob(lines, { type: "text/csv" }));
}
