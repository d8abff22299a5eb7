// Pages that are one table: a component, a query, a group, and the entities of a search.

import { ask, query } from "./api.js";
import { histogram } from "./charts.js";
import { element, saveCsv, say } from "./dom.js";
import { bytes, count, entityNumber, plural, width } from "./format.js";
import { Grid, referenceLink } from "./grid.js";

// The first column: entities, or the ids of rows of a component that nobody owns.
function ownerColumn(owner = "entity", component = "") {
  const type = owner === "entity" ? "entity" : `id<${component}>`;
  return { key: owner, title: owner, sortable: true, type, width: 24 };
}

function fieldColumn(field, prefix = "") {
  const title = `${prefix}${field.name}`;
  return { key: title, title, type: field.type, unit: field.unit, doc: field.doc,
    sortable: !field.shape.length && field.type !== "object",
    width: width(field.type, field.shape, `${title} ${field.unit}`, field.members) };
}

function hasHistogram(field) {
  return !/^(str|bytes|object|entity|id<)/.test(field.type);
}

// What all these pages have: a title, facts beside it, tools, and the table.
class TablePage {
  constructor(app, title, kind) {
    this.app = app;
    this.facts = element("p", { class: "facts" });
    this.tools = element("div", { class: "tools" });
    this.extra = element("div", { class: "extra", hidden: true });
    this.node = element("section", { class: "page table" },
      element("div", { class: "top" }, element("h2", {}, title), element("span", { class: "kind" }, kind),
        this.facts, this.tools), this.extra);
  }

  addGrid(label, columns, path, loaded) {
    const { app } = this;
    this.grid = new Grid({
      label, columns, loaded,
      sort: app.parameters.get("sort") ?? "",
      desc: app.parameters.has("desc"),
      load: (start, number, sort, desc) =>
        ask(`${path}${query({ ...this.asked, start, count: number, sort, desc: desc ? 1 : "" })}`),
      open: (path) => app.go(path),
      failed: (error) => app.failed(error),
      sorted: (sort, desc) => app.keep({ sort, desc: desc ? 1 : "" }),
    });
    this.tools.append(element("button", { type: "button", title: "The rows in sight", on: { click: () => this.#saveRows(label) } }, "CSV"));
    this.node.append(this.grid.node);
  }

  #saveRows(label) {
    const { columns } = this.grid.answer;
    const names = Object.keys(columns);
    saveCsv(`${label}.csv`, names, columns[names[0]].map((_, k) => names.map((name) => columns[name][k])));
  }

  refresh() {
    this.grid.refresh();
  }

  close() {
    this.grid.close();
  }
}

// `mass>=2; label=rock`: both must hold.
function conditions(text) {
  return text.split(";").map((each) => each.trim()).filter(Boolean);
}

export class ComponentPage extends TablePage {
  constructor(app, name) {
    const found = app.component(name);
    super(app, found.title, found.in === "archetypes" ? "component in archetypes" : "component");
    this.name = name;
    const columns = [ownerColumn(found.owner, found.title), ...found.fields.map((field) => fieldColumn(field))];
    this.where = element("input", { type: "search", "aria-label": "Rows with values", placeholder: "mass>=2; label=rock",
      value: app.parameters.get("where") ?? "", spellcheck: "false", on: { change: () => this.#filter() } });
    this.asked = { where: conditions(this.where.value) };
    this.tools.append(this.where);
    this.addGrid(`rows of ${found.title}`, columns, `rows/${name}`, ({ n }) => {
      this.left = n;
      this.worldSeen();
    });
    const fields = found.fields.filter(hasHistogram);
    if (fields.length) this.#addHistogram(fields);
    if (found.tree) this.tools.append(element("a", { href: `#/tree/${name}` }, "Tree"));
    this.worldSeen();
  }

  worldSeen() {
    const { rows, capacity, nbytes, version, grid } = this.app.component(this.name);
    const cells = grid ? `cells of a grid of ${grid.join(" × ")}, ` : "";
    const left = this.where?.value && this.left !== undefined ? `${count(this.left)} of ` : "";
    say(this.facts, `${cells}${left}${plural(rows, "row")}, room for ${count(capacity)}, ${bytes(nbytes)}, version ${count(version)}`);
  }

  #filter() {
    this.app.keep({ where: this.where.value });
    this.asked = { where: conditions(this.where.value) };
    this.grid.renew();
  }

  #addHistogram(fields) {
    const options = fields.map((field) => element("option", {}, field.name));
    this.choice = element("select", { "aria-label": "Histogram of a field", on: { change: () => this.#chosen() } },
      element("option", { value: "" }, "Histogram …"), ...options);
    const chosen = this.app.parameters.get("histogram") ?? "";
    if (fields.some((field) => field.name === chosen)) this.choice.value = chosen;
    this.tools.append(this.choice);
    this.#drawHistogram();
  }

  #chosen() {
    this.app.keep({ histogram: this.choice.value });
    this.#drawHistogram();
  }

  async #drawHistogram() {
    const name = this.choice?.value;
    this.extra.hidden = !name;
    if (!name || this.drawing) return;
    this.drawing = true;
    try {
      const { type } = this.app.component(this.name).fields.find((field) => field.name === name);
      const answer = await ask(`histogram/${this.name}/${name}?bins=60`);
      if (this.choice.value === name) this.extra.replaceChildren(histogram(answer, type));
    } catch (error) {
      this.app.failed(error);
    }
    this.drawing = false;
    if (this.choice.value !== name) this.#drawHistogram();
  }

  refresh() {
    super.refresh();
    this.#drawHistogram();
  }
}

export class QueryPage extends TablePage {
  constructor(app, name) {
    const found = app.query(name);
    super(app, name, "query");
    const shown = [...found.all, ...found.optional];
    const asked = { all: found.all, any: found.any, none: found.none, optional: found.optional };
    this.words = Object.entries(asked).filter(([, names]) => names.length)
      .map(([how, names]) => `${how} ${names.join(", ")}`).join("; ");
    const columns = [ownerColumn()];
    for (const part of shown) {
      columns.push(...app.component(part).fields.map((field) => fieldColumn(field, `${part}.`)));
    }
    this.addGrid(`entities of ${name}`, columns, `query/${name}`, ({ n }) =>
      say(this.facts, `${plural(n, "entity", "entities")}: ${this.words}`));
  }
}

export class GroupPage extends TablePage {
  constructor(app, name) {
    const { members } = app.group(name);
    super(app, name, "group");
    const columns = [ownerColumn()];
    for (const part of members) {
      columns.push(...app.component(part).fields.map((field) => fieldColumn(field, `${part}.`)));
    }
    this.addGrid(`rows of ${name}`, columns, `group/${name}`, ({ n }) =>
      say(this.facts, `${plural(n, "row")} of ${members.join(", ")}, in the same order`));
  }
}

// `body -static a|b`: has body, has no static, has a or b. `wrong`: what no entity can have.
export function signature(text, components) {
  const found = { all: [], any: [], none: [], wrong: [] };
  const named = new Map(components.flatMap((one) => [[one.name.toLowerCase(), one], [one.title.toLowerCase(), one]]));
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const isNot = /^[-!]/.test(word);
    const parts = word.replace(/^[-!]/, "").toLowerCase().split("|").filter(Boolean);
    const part = isNot ? "none" : parts.length > 1 ? "any" : "all";
    for (const each of parts) {
      const one = named.get(each);
      if (!one) found.wrong.push(`no component is called ${each}`);
      else if (one.owner !== "entity") found.wrong.push(`rows of ${one.title} belong to no entities`);
      else found[part].push(one.name);
    }
  }
  return found;
}

export class EntitiesPage extends TablePage {
  constructor(app) {
    super(app, "Entities", "");
    this.asked = {};
    const columns = [ownerColumn(), { key: "components", title: "components", type: "list", width: 60 }];
    columns[0].sortable = false;
    this.addGrid("entities", columns, "entities", ({ n }) => this.#found(n));
    const { load } = this.grid;
    this.grid.load = async (...given) => {
      if (this.wrong.length) return { n: 0, start: 0, rows: [], columns: { entity: [], components: [] } };
      const { n, start, entities, components, label } = await load(...given);
      const rows = entities.map((_, k) => start + k);
      return { n, start, rows, label, columns: { entity: entities, components } };
    };
    this.search(app.parameters.get("q") ?? "");
  }

  search(text) {
    const { all, any, none, wrong } = signature(text, this.app.world.components);
    this.entity = entityNumber(text);
    this.wrong = this.entity === null ? wrong : [];
    this.text = text;
    this.asked = { all: all.join(","), any: any.join(","), none: none.join(",") };
    if (this.grid.isLaid) this.grid.renew();
    if (this.entity !== null) {
      this.extra.hidden = false;
      this.extra.replaceChildren(element("p", { class: "note" }, "Enter opens ", referenceLink(this.entity)));
    } else {
      this.extra.hidden = true;
    }
  }

  #found(n) {
    const counted = `${plural(n, "entity", "entities")}${this.text && !this.entity ? " found" : ""}`;
    say(this.facts, [counted, ...this.wrong].join("; "));
  }
}
