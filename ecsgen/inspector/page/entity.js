// One entity with all its components, and the forms to change them.

import { ask } from "./api.js";
import { element, say } from "./dom.js";
import { cellText, entityName, entityNumber } from "./format.js";
import { fillCell } from "./grid.js";

export class EntityPage {
  constructor(app, entity) {
    this.app = app;
    this.entity = entity;
    this.parts = new Map();
    this.last = Promise.resolve();
    this.facts = element("p", { class: "facts" });
    this.tools = element("div", { class: "tools" });
    this.cards = element("div", { class: "cards" });
    this.node = element("section", { class: "page scrolls", data: { shown: entity } },
      element("div", { class: "top" }, element("h2", {}, entityName(entity)),
        element("span", { class: "kind" }, `entity ${entity}`), this.facts, this.tools), this.cards);
    if (app.world.edit) this.#addTools();
    this.refresh();
  }

  close() {}

  async refresh() {
    if (this.busy) return;
    this.busy = true;
    try {
      this.#show(await ask(`entity/${this.entity}`));
    } catch (error) {
      this.app.failed(error);
    }
    this.busy = false;
  }

  #show({ alive, components }) {
    const rows = Object.entries(components).flatMap(([name, found]) =>
      (Array.isArray(found) ? found : [found]).map((row, k) => [name, row, Array.isArray(found) ? k : null]));
    const keys = rows.map(([name, , k]) => (k === null ? name : `${name} ${k}`));
    const what = rows.length ? "" : "no components";
    say(this.facts, alive ? what : `dead${rows.length ? ", not yet collected" : ""}`);
    this.node.classList.toggle("dead", !alive);
    for (const [key, part] of this.parts) {
      if (!keys.includes(key)) {
        part.node.remove();
        this.parts.delete(key);
      }
    }
    rows.forEach(([name, row, k], place) => {
      const key = keys[place];
      if (!this.parts.has(key)) this.parts.set(key, new Card(this, name, k));
      const { node } = this.parts.get(key);
      if (this.cards.children[place] !== node) this.cards.insertBefore(node, this.cards.children[place] ?? null);
      this.parts.get(key).show(row);
    });
    this.#offer(alive, new Set(Object.keys(components)));
  }

  #addTools() {
    this.choice = element("select", { "aria-label": "Component to add" });
    const add = element("button", { type: "button", on: { click: () =>
      this.choice.value && this.change("POST", this.choice.value, {}) } }, "Add");
    const destroy = element("button", { type: "button", class: "danger", on: { click: () => {
      if (destroy.dataset.sure) this.change("DELETE", "");
      else this.#makeSure(destroy);
    } } }, "Destroy");
    this.tools.append(this.choice, add, destroy);
  }

  #makeSure(button) {
    button.dataset.sure = "1";
    say(button, "Really destroy?");
    setTimeout(() => {
      delete button.dataset.sure;
      say(button, "Destroy");
    }, 3000);
  }

  #offer(alive, present) {
    if (!this.choice) return;
    for (const control of this.tools.children) control.disabled = !alive;
    const free = this.app.world.components.filter(({ name, owner, list }) =>
      owner === "entity" && (list || !present.has(name)));
    const names = free.map(({ name }) => name);
    if (names.join() === [...this.choice.options].map(({ value }) => value).join()) return;
    this.choice.replaceChildren(...free.map(({ name, title }) => element("option", { value: name }, title)));
  }

  // One change after the other: sent at once, they could arrive, and be answered, in any order.
  change(...what) {
    this.last = this.last.then(() => this.#change(...what));
    return this.last;
  }

  async #change(method, name, body, instance = null) {
    const place = instance === null ? "" : `?instance=${instance}`;
    try {
      this.#show(await ask(`entity/${this.entity}${name && `/${name}`}${place}`, { method, body }));
      return "";
    } catch (error) {
      this.app.failed(error);
      return error.message;
    }
  }
}

class Card {
  constructor(page, name, instance) {
    const { app } = page;
    const found = app.component(name);
    Object.assign(this, { page, name, instance, fields: found.fields });
    this.cells = found.fields.map(() => element("td"));
    this.wrong = found.fields.map(() => "");
    this.error = element("p", { class: "error", role: "alert", hidden: true });
    const lines = found.fields.map((field, k) => element("tr", {},
      element("th", { scope: "row", title: [field.type, field.doc].filter(Boolean).join(": ") }, field.name,
        field.unit ? element("small", {}, ` ${field.unit}`) : null), this.cells[k]));
    const which = instance === null ? "" : ` ${instance}`;
    const remove = app.world.edit
      ? element("button", { type: "button", "aria-label": `Remove ${found.title}`, title: "Remove", on: { click: () =>
        page.change("DELETE", name, undefined, instance) } }, "×")
      : null;
    const title = element("h3", {}, element("a", { href: `#/rows/${name}` }, found.title), which, remove);
    this.node = element("article", { class: "card", data: { part: name } }, title,
      lines.length ? element("table", {}, element("tbody", {}, ...lines)) : element("p", { class: "note" }, "a tag"), this.error);
    if (app.world.edit) this.#addInputs();
  }

  #addInputs() {
    this.inputs = this.fields.map((field, k) => {
      if (field.type === "object") return null;
      const input = element("input", { "aria-label": `${this.name} ${field.name}`, spellcheck: "false", autocomplete: "off",
        on: { keydown: (event) => event.key === "Escape" && this.#undo(k), change: () => this.#commit(k) } });
      this.cells[k].append(input);
      return input;
    });
  }

  show(row) {
    this.row = row;
    this.fields.forEach((field, k) => {
      const input = this.inputs?.[k];
      if (!input) fillCell(this.cells[k], row[field.name], field.type);
      else if (document.activeElement !== input && !input.classList.contains("wrong")) input.value = written(row[field.name], field);
    });
  }

  #undo(k) {
    const input = this.inputs[k];
    input.value = written(this.row[this.fields[k].name], this.fields[k]);
    this.#complain(k, "");
    input.blur();
  }

  // What is wrong with each field stays in sight while another one is changed.
  #complain(k, message) {
    this.wrong[k] = message;
    this.inputs[k].classList.toggle("wrong", message !== "");
    const all = this.wrong.filter((text) => text).join("\n");
    this.error.hidden = all === "";
    say(this.error, all);
  }

  async #commit(k) {
    const [field, input] = [this.fields[k], this.inputs[k]];
    const value = read(input.value, field);
    const message = await this.page.change("PATCH", this.name, { [field.name]: value }, this.instance);
    this.#complain(k, message);
    if (!message && document.activeElement !== input) input.value = written(this.row[field.name], field);
  }
}

// A value as it is written into a field's input, and back.
function written(value, field) {
  if (field.shape.length) return JSON.stringify(value, (_, part) => (typeof part === "number" && field.type.startsWith("f32") ? Number(cellText(part, "f32")) : part));
  if (field.type.startsWith("entity")) return value;
  return cellText(value, field.type);
}

function read(text, field) {
  if (field.shape.length) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  if (/^(str|bytes)/.test(field.type) || field.members) return text;
  if (field.type.startsWith("entity")) return entityNumber(text) ?? text;
  if (field.type === "bool") return { true: true, false: false }[text.trim()] ?? text;
  const number = Number(text);
  const isSafe = text.trim() !== "" && Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isSafe ? number : text.trim();
}
