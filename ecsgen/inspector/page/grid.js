// A table of any number of rows: only those in sight are asked for, and only these are elements.

import { Latest } from "./api.js";
import { element, say } from "./dom.js";
import { cellText, entityName, isReference, referencePath } from "./format.js";

const ROW = 26; // pixels, as in page.css
const HEAD = 30;
const TALLEST = 8_000_000; // pixels: browsers stop at about twice that
const MARGIN = 20; // rows asked for around those in sight
const MOST = 500;

export class Grid {
  // `columns`: {key, title, type, unit, doc, sortable, width}; `load(start, count, sort, desc)`
  // returns {n, start, rows, columns, label}; `open(path)`, `failed(error)`, `loaded(answer)`.
  constructor({ label, columns, load, open, failed, loaded, sort = "", desc = false, sorted }) {
    Object.assign(this, { columns, load, open, failed, loaded, sort, desc, sorted });
    this.answer = { n: 0, start: 0, rows: [], columns: {} };
    this.selected = -1;
    this.isLaid = false; // out, before which nobody knows how many rows to ask for
    this.latest = new Latest();
    this.#build(label);
    this.#markSort();
    this.observer = new ResizeObserver(() => this.#fit());
    this.observer.observe(this.node);
  }

  close() {
    this.observer.disconnect();
    this.load = null;
  }

  refresh() {
    if (this.isLaid && !this.latest.isBusy) this.#want();
  }

  // Something else is asked for: what is being answered does not count.
  renew() {
    this.node.scrollTop = 0;
    this.#want();
  }

  #build(label) {
    this.heads = this.columns.map((column) => this.#head(column));
    this.body = element("tbody", { role: "rowgroup" });
    const widths = this.columns.map((column) =>
      element("col", { style: { width: `${column.width}ch` } }));
    const table = element("table", { role: "presentation" }, element("colgroup", {}, ...widths),
      element("thead", { role: "rowgroup" }, element("tr", { role: "row", "aria-rowindex": 1 }, ...this.heads)), this.body);
    const whole = this.columns.reduce((sum, column) => sum + column.width, 0);
    table.style.setProperty("min-width", `${whole}ch`);
    this.table = table;
    this.space = element("div", { class: "space" }, table);
    this.space.style.setProperty("min-width", `${whole}ch`);
    this.node = element("div", { class: "grid", tabindex: 0, role: "grid", "aria-label": label,
      on: { scroll: () => this.#scrolled(), keydown: (event) => this.#key(event) } }, this.space);
  }

  #head(column) {
    const title = element("span", {}, column.title);
    const unit = column.unit ? element("small", {}, ` ${column.unit}`) : null;
    const hint = [column.type, column.doc].filter(Boolean).join(": ");
    const inside = column.sortable
      ? element("button", { type: "button", title: hint }, title, unit)
      : element("span", { title: hint }, title, unit);
    const kind = /^[fiu]\d/.test(column.type) && !column.type.includes("[") ? "number" : "";
    const click = () => column.sortable && this.#sortBy(column.key); // anywhere in the head
    return element("th", { role: "columnheader", scope: "col", class: column.sortable ? `${kind} sortable` : kind, "aria-sort": "none",
      data: { column: column.key }, on: { click } }, inside);
  }

  #sortBy(key) {
    if (this.sort !== key) [this.sort, this.desc] = [key, false];
    else if (!this.desc) this.desc = true;
    else [this.sort, this.desc] = ["", false];
    this.sorted?.(this.sort, this.desc);
    this.#markSort();
    this.#want();
  }

  // At once, for rows in another order can take a while.
  #markSort() {
    for (const [place, head] of this.heads.entries()) {
      const way = this.desc ? "descending" : "ascending";
      head.setAttribute("aria-sort", this.columns[place].key === this.sort ? way : "none");
    }
  }

  get #inSight() {
    return Math.max(1, Math.floor((this.node.clientHeight - HEAD) / ROW));
  }

  get #first() {
    const reach = this.space.offsetHeight - this.node.clientHeight;
    const last = this.answer.n - this.#inSight;
    if (reach <= 0 || last <= 0) return 0;
    return Math.round(Math.min(1, this.node.scrollTop / reach) * last);
  }

  #scrolled() {
    this.#show();
    if (!this.#isThere(this.#first)) this.#want();
  }

  #fit() {
    this.#show();
    if (!this.isLaid || !this.#isThere(this.#first)) this.#want();
    this.isLaid = true;
  }

  #isThere(first) {
    const { n, start, rows } = this.answer;
    return first >= start && Math.min(n, first + this.#inSight) <= start + rows.length;
  }

  #want() {
    this.latest.wish(async () => {
      if (this.load === null) return;
      const start = Math.max(0, this.#first - MARGIN);
      const number = Math.min(MOST, this.#inSight + 2 * MARGIN);
      try {
        const answer = await this.load(start, number, this.sort, this.desc);
        if (this.load === null) return;
        this.answer = answer;
        this.#show();
        this.loaded?.(answer);
      } catch (error) {
        this.failed(error);
        return;
      }
      const first = this.#first;
      if (!this.#isThere(first) && Math.max(0, first - MARGIN) !== start) this.#want();
    });
  }

  #show() {
    const { n } = this.answer;
    const height = Math.min(TALLEST, HEAD + n * ROW);
    this.space.style.setProperty("height", `${height}px`);
    say(this.table.caption ?? this.table.createCaption(), n === 0 ? "no rows" : "");
    this.node.setAttribute("aria-rowcount", n + 1);
    const first = this.#first;
    const shown = Math.min(n - first, this.#inSight + 1);
    while (this.body.rows.length > shown) this.body.lastChild.remove();
    while (this.body.rows.length < shown) this.body.append(this.#row());
    for (let k = 0; k < shown; k += 1) this.#fill(this.body.rows[k], first + k);
    const active = this.selected - first;
    if (active >= 0 && active < shown) this.node.setAttribute("aria-activedescendant", `row-${active}`);
    else this.node.removeAttribute("aria-activedescendant");
  }

  #row() {
    const cells = this.columns.map((column, place) =>
      element("td", { role: "gridcell", class: this.heads[place].classList.contains("number") ? "number" : "" }));
    const row = element("tr", { role: "row", id: `row-${this.body.rows.length}` }, ...cells);
    row.addEventListener("click", () => this.#select(Number(row.getAttribute("aria-rowindex")) - 2));
    row.addEventListener("dblclick", () => this.#openSelected());
    return row;
  }

  #fill(row, place) {
    const { start, rows, columns, label } = this.answer;
    const at = place - start;
    const isThere = at >= 0 && at < rows.length;
    row.setAttribute("aria-rowindex", place + 2);
    row.setAttribute("aria-selected", place === this.selected);
    row.classList.toggle("waiting", !isThere);
    if (isThere) row.dataset.row = rows[at];
    else delete row.dataset.row;
    for (const [k, column] of this.columns.entries()) {
      fillCell(row.cells[k], isThere ? columns[column.key]?.[at] ?? null : null, column.type, isThere, k ? null : label?.[at]);
    }
  }

  #select(place) {
    const { n } = this.answer;
    if (n === 0) return;
    this.selected = Math.min(Math.max(place, 0), n - 1);
    const first = this.#first;
    const last = first + this.#inSight - 1;
    if (this.selected < first) this.#scrollTo(this.selected);
    else if (this.selected > last) this.#scrollTo(this.selected - this.#inSight + 1);
    else this.#show();
  }

  #scrollTo(first) {
    const reach = this.space.offsetHeight - this.node.clientHeight;
    const last = this.answer.n - this.#inSight;
    this.node.scrollTop = last > 0 ? (Math.min(first, last) / last) * reach : 0;
    this.#show();
  }

  #openSelected() {
    const [{ key, type }] = this.columns; // the owner's
    const owner = this.answer.columns[key]?.[this.selected - this.answer.start];
    if (owner !== undefined && owner !== "0") this.open?.(referencePath(type, owner));
  }

  #key(event) {
    const page = this.#inSight - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.target !== this.node || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) this.#select(this.selected < 0 ? this.#first : this.selected + steps[event.key]);
    else if (event.key === "Home") this.#select(0);
    else if (event.key === "End") this.#select(this.answer.n - 1);
    else if (event.key === "Enter") this.#openSelected();
    else return;
    event.preventDefault();
  }
}

// A link to an entity, or to a row by its id, with what it is called.
export function referenceLink(value, type = "entity", label = null) {
  const isEntity = type.startsWith("entity");
  const link = element("a", { href: `#/${referencePath(type, value)}`, title: value, data: isEntity ? { entity: value } : { id: value } },
    isEntity ? entityName(value) : value);
  if (label) link.append(" ", element("b", {}, label));
  return link;
}

export function fillCell(cell, value, type, isThere = true, label = null) {
  if (typeof value === "string" && isReference(type) && value !== "0") {
    const key = `${value} ${label ?? ""}`;
    if (cell.firstElementChild?.dataset.key === key) return;
    const link = referenceLink(value, type, label);
    link.dataset.key = key;
    cell.replaceChildren(link);
    return;
  }
  const text = value === null ? (isThere ? "–" : "") : cellText(value, type);
  cell.classList.toggle("nothing", value === null);
  say(cell, text);
  if (text.length > 8) cell.title = text;
  else cell.removeAttribute("title");
}
