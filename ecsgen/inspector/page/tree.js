// A hierarchy: the roots, and what is below a node once it is opened.

import { ask, query } from "./api.js";
import { element, say } from "./dom.js";
import { count, plural, referencePath } from "./format.js";
import { referenceLink } from "./grid.js";

const AT_ONCE = 100;

export class TreePage {
  constructor(app, name) {
    const found = app.component(name);
    Object.assign(this, { app, name, owner: found.owner, type: found.owner === "entity" ? "entity" : `id<${found.title}>` });
    this.facts = element("p", { class: "facts" });
    this.roots = element("ul", { role: "tree", "aria-label": `hierarchy of ${found.title}`,
      on: { keydown: (event) => this.#key(event) } });
    this.node = element("section", { class: "page scrolls tree" },
      element("div", { class: "top" }, element("h2", {}, found.title), element("span", { class: "kind" }, "hierarchy"),
        this.facts, element("div", { class: "tools" }, element("a", { href: `#/rows/${name}` }, "Table"))), this.roots);
    this.#loadRoots();
  }

  close() {}

  refresh() {} // what is open stays as it was read; closing and opening a node reads it again

  async #loadRoots() {
    const n = await this.#load({}, this.roots, 0, 1);
    if (n === null) return;
    say(this.facts, plural(n, "root"));
    if (n === 1) this.#toggle(this.roots.firstElementChild, true);
  }

  async #load(parent, list, start, level) {
    try {
      const { n, nodes } = await ask(`tree/${this.name}${query({ ...parent, start: start || "", count: AT_ONCE })}`);
      list.append(...nodes.map((node) => this.#item(node, level)));
      const left = n - start - nodes.length;
      if (left > 0 && nodes.length) list.append(this.#more(parent, list, start + nodes.length, left, level));
      if (!this.roots.querySelector("[tabindex='0']")) this.roots.querySelector("[role=treeitem]")?.setAttribute("tabindex", 0);
      return n;
    } catch (error) {
      this.app.failed(error);
      return null;
    }
  }

  #item(node, level) {
    const whose = node[this.owner];
    const link = referenceLink(whose, this.type, node.label);
    link.tabIndex = -1;
    const about = node.children ? plural(node.children, "child", "children") : "";
    const line = element("span", { class: "line", on: { click: (event) => link.contains(event.target) || this.#toggle(item) } },
      element("span", { class: "mark", "aria-hidden": "true" }), link,
      element("small", {}, ` row ${count(node.row)}${about && `, ${about}`}`));
    const item = element("li", { role: "treeitem", tabindex: -1, "aria-level": level,
      "aria-expanded": node.children ? "false" : null, data: { row: node.row } }, line);
    item.node = { parent: whose, row: node.row };
    return item;
  }

  #more(parent, list, start, left, level) {
    const button = element("button", { type: "button", on: { click: async () => {
      button.parentElement.remove();
      await this.#load(parent, list, start, level);
    } } }, `${count(left)} more …`);
    return element("li", { role: "none" }, button);
  }

  async #toggle(item, wanted = item.getAttribute("aria-expanded") !== "true") {
    const state = item.getAttribute("aria-expanded");
    if (state === null || (state === "true") === wanted) return;
    item.setAttribute("aria-expanded", wanted);
    item.querySelector(":scope > ul")?.remove();
    if (!wanted) return;
    const list = element("ul", { role: "group" });
    item.append(list);
    await this.#load(item.node, list, 0, Number(item.getAttribute("aria-level")) + 1);
  }

  #key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target !== item) return;
    const all = [...this.roots.querySelectorAll("[role=treeitem]")];
    const at = all.indexOf(item);
    if (event.key === "ArrowDown") this.#focus(item, all[at + 1]);
    else if (event.key === "ArrowUp") this.#focus(item, all[at - 1]);
    else if (event.key === "Home") this.#focus(item, all[0]);
    else if (event.key === "End") this.#focus(item, all[all.length - 1]);
    else if (event.key === "ArrowRight" && item.getAttribute("aria-expanded") === "true") this.#focus(item, all[at + 1]);
    else if (event.key === "ArrowRight") this.#toggle(item, true);
    else if (event.key === "ArrowLeft" && item.getAttribute("aria-expanded") === "true") this.#toggle(item, false);
    else if (event.key === "ArrowLeft") this.#focus(item, item.parentElement.closest("[role=treeitem]"));
    else if (event.key === "Enter") this.app.go(referencePath(this.type, item.node.parent));
    else return;
    event.preventDefault();
  }

  #focus(from, to) {
    if (!to) return;
    from.setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  }
}
