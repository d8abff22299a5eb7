// One entity with all its components, or a row by its id, and the forms to change them.

import { ask } from "./api.js";
import { Control } from "./controls.js";
import { element, say } from "./dom.js";
import { entityName, isReference, referencePath } from "./format.js";
import { fillCell } from "./grid.js";

export class EntityPage {
  // `component`: of a row that nobody owns, whose id is given instead of an entity.
  constructor(app, entity, component = "") {
    Object.assign(this, { app, entity, component });
    this.path = component ? `row/${component}/${entity}` : `entity/${entity}`;
    this.parts = new Map();
    this.last = Promise.resolve();
    this.label = element("strong", { class: "name" });
    this.facts = element("p", { class: "facts" });
    this.tools = element("div", { class: "tools" });
    this.cards = element("div", { class: "cards" });
    this.node = element("section", { class: "page scrolls", data: { shown: entity } },
      element("div", { class: "top" }, element("h2", {}, component ? `${app.component(component).title} ${entity}` : entityName(entity)),
        this.label, element("span", { class: "kind" }, component ? "row" : `entity ${entity}`), this.facts, this.tools), this.cards);
    if (app.world.edit) this.#addTools();
    this.refresh();
  }

  close() {}

  async refresh() {
    if (this.busy) return;
    this.busy = true;
    try {
      this.#show(await ask(this.path));
    } catch (error) {
      this.app.failed(error);
    }
    this.busy = false;
  }

  #show({ alive, components, label }) {
    say(this.label, label ?? "");
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
      this.parts.get(key).show(row, alive);
    });
    this.#offer(alive, new Set(Object.keys(components)));
  }

  #addTools() {
    this.choice = element("select", { "aria-label": "Component to add" });
    this.add = element("button", { type: "button", on: { click: () =>
      this.choice.value && this.change("POST", this.choice.value, {}) } }, "Add");
    const destroy = element("button", { type: "button", class: "danger", on: { click: () => {
      if (destroy.dataset.sure) this.change("DELETE", "");
      else this.#makeSure(destroy);
    } } }, "Destroy");
    this.tools.append(...(this.component ? [] : [this.choice, this.add]), destroy);
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
    this.tools.hidden = !alive; // of the dead nothing can be changed
    const free = this.app.world.components.filter(({ name, owner, list }) =>
      owner === "entity" && (list || !present.has(name)));
    for (const part of [this.choice, this.add]) part.hidden = !free.length;
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
      this.#show(await ask(`${this.path}${name && !this.component ? `/${name}` : ""}${place}`, { method, body }));
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
    this.remove = app.world.edit && !page.component
      ? element("button", { type: "button", "aria-label": `Remove ${found.title}`, title: "Remove", on: { click: () =>
        page.change("DELETE", name, undefined, instance) } }, "×")
      : null;
    const title = element("h3", {}, element("a", { href: `#/rows/${name}` }, found.title), which, this.remove);
    this.node = element("article", { class: "card", data: { part: name } }, title,
      lines.length ? element("table", {}, element("tbody", {}, ...lines)) : element("p", { class: "note" }, "a tag"), this.error);
    if (app.world.edit) this.#addControls();
  }

  #addControls() {
    this.controls = this.fields.map((field, k) => field.type === "object" ? null : new Control(field, {
      label: `${this.name} ${field.name}`, commit: (value) => this.#commit(k, value), undone: () => this.#complain(k, "") }));
    this.links = this.fields.map((field) => (isReference(field.type) && !field.shape.length ? element("span", { class: "links" }) : null));
  }

  show(row, alive) {
    this.row = row;
    if (this.remove) this.remove.hidden = !alive;
    this.fields.forEach((field, k) => {
      const [control, cell, value] = [this.controls?.[k], this.cells[k], row[field.name]];
      if (!control || !alive) {
        if (control?.node.parentElement) cell.replaceChildren();
        return fillCell(cell, value, field.type);
      }
      if (!control.node.parentElement) cell.replaceChildren(control.node, this.links[k] ?? "");
      if (this.links[k]) this.#link(this.links[k], field, value);
      control.show(value);
    });
    if (!alive) this.#complain(-1, "");
  }

  // Beside a reference: one link that follows it, and one to all rows that have the same.
  #link(node, field, value) {
    if (node.dataset.to === value) return;
    node.dataset.to = value;
    const path = value === "0" ? "" : referencePath(field.type, value);
    const where = encodeURIComponent(`${field.name}=${value}`);
    node.replaceChildren(...(path ? [element("a", { href: `#/${path}`, title: "Follow", data: field.type.startsWith("entity") ? { entity: value } : {} }, "→")] : []),
      element("a", { href: `#/rows/${this.name}?where=${where}`, title: "All rows with this" }, "⌕"));
  }

  // What is wrong with a field is in sight until it is mended, or until another one is refused.
  #complain(k, message) {
    if (message || k < 0) {
      this.controls?.forEach((control, other) => {
        if (other === k || !this.wrong[other]) return;
        this.wrong[other] = "";
        control.undo();
      });
    }
    if (k >= 0) this.wrong[k] = message;
    const text = this.wrong.find((each) => each) ?? "";
    this.error.hidden = text === "";
    say(this.error, text);
  }

  async #commit(k, value) {
    const message = await this.page.change("PATCH", this.name, { [this.fields[k].name]: value }, this.instance);
    this.#complain(k, message);
    return message;
  }
}
