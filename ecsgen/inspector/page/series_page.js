// Charts over the steps of a run: lines that are not chosen are not computed.

import { ask, query } from "./api.js";
import { Lines } from "./charts.js";
import { element, saveCsv, say } from "./dom.js";
import { count } from "./format.js";

const FIRST = 6; // lines that are shown at first
const EVERY = 300; // milliseconds between two looks
const MOST = 20000; // steps that the page keeps; then it asks for all again, which come thinned

export class SeriesPage {
  constructor(app) {
    this.app = app;
    this.facts = element("p", { class: "facts" });
    this.choices = element("fieldset", { class: "choices" }, element("legend", {}, "Lines"));
    this.body = element("div", { class: "picture" });
    this.recorded = element("section", { class: "picture", "aria-label": "records" });
    this.records = [];
    this.node = element("section", { class: "page scrolls" },
      element("div", { class: "top" }, element("h2", {}, "Charts"), this.facts,
        element("button", { type: "button", on: { click: () => this.#save() } }, "CSV")), this.choices, this.body, this.recorded);
    const told = app.parameters.get("lines");
    const viewed = app.world.view.charts.flat();
    this.names = new Set(told === null ? (viewed.length ? viewed : this.#first()) : told.split(",").filter((name) => app.world.series.includes(name)));
    for (const name of app.world.series) {
      const box = element("input", { type: "checkbox", checked: this.names.has(name), on: { change: () => this.#choose(name, box.checked) } });
      this.choices.append(element("label", {}, box, ` ${name}`));
    }
    this.#start();
    this.#look();
  }

  // Reductions and records first, then components with rows.
  #first() {
    const { series, components } = this.app.world;
    const used = new Set(components.filter(({ rows }) => rows).map(({ name }) => name));
    return [...used, ...series.filter((name) => name.includes(".") && used.has(name.split(".")[0]))].filter((name) => series.includes(name)).slice(0, FIRST);
  }

  #choose(name, isShown) {
    if (isShown) this.names.add(name);
    else this.names.delete(name);
    this.app.keep({ lines: [...this.names].join(",") });
    this.#start();
  }

  // The view's charts; of other lines a chart for all numbers of rows, and one for each component's reductions or table's columns.
  #start() {
    for (const { lines } of this.charts ?? []) lines.close();
    const viewed = (name) => this.app.world.view.charts.find((chart) => chart.includes(name))?.join(", ");
    const groups = Map.groupBy([...this.names], (name) => viewed(name) ?? (name.includes(".") ? name.split(".")[0] : "rows"));
    this.data = { steps: [] };
    this.charts = [...groups].map(([title, names]) => makeChart(title, names, "step"));
    this.body.replaceChildren(...this.charts.map(({ lines }) => lines.node));
  }

  close() {
    this.isClosed = true;
    for (const { lines } of [...this.charts, ...this.records]) lines.close();
  }

  refresh() {}

  async #look() {
    while (!this.isClosed) {
      try {
        if (!document.hidden && !this.app.isPaused()) {
          if (this.names.size) await this.#load();
          await this.#loadRecords();
        }
      } catch (error) {
        this.app.failed(error);
      }
      await new Promise((wake) => setTimeout(wake, EVERY));
    }
  }

  async #load() {
    const data = this.data;
    const last = data.steps.at(-1);
    const reset = this.done !== undefined && this.app.steps() < this.done;
    this.done = this.app.steps();
    const isWhole = last === undefined || reset || data.steps.length > MOST;
    const answer = await ask(`series${query({ names: [...this.names].join(","), since: isWhole ? "" : last })}`);
    if (data !== this.data) return;
    for (const name of ["steps", ...this.names]) data[name] = isWhole ? answer[name] : data[name].concat(answer[name]);
    say(this.facts, `${count(data.steps.length)} steps shown`);
    for (const { names, lines } of this.charts) lines.update(data.steps, names.map((name) => data[name]));
  }

  // The chosen lines over their steps; beside them the records over their ticks.
  #save() {
    const { steps: ticks, ...columns } = this.told ?? {};
    const shown = [
      ...(this.names.size ? ["steps", ...this.names] : []).map((name) => [name, this.data[name] ?? []]),
      ...(ticks?.length ? [["tick", ticks], ...Object.entries(columns)] : [])];
    const rows = Math.max(0, ...shown.map(([, cells]) => cells.length));
    saveCsv("series.csv", shown.map(([name]) => name), Array.from({ length: rows }, (_, k) => shown.map(([, cells]) => cells[k])));
  }

  // Records come without being asked for: a chart for each table, over the ticks.
  async #loadRecords() {
    const { steps, ...columns } = this.told = await ask("series");
    const tables = Map.groupBy(Object.keys(columns), (name) => name.split(".")[0]);
    const known = Object.keys(columns).join();
    if (known !== this.known) {
      this.known = known;
      for (const { lines } of this.records) lines.close();
      this.records = [...tables].map(([title, names]) => makeChart(title, names, "tick"));
      this.recorded.replaceChildren(...this.records.map(({ lines }) => lines.node));
    }
    for (const { names, lines } of this.records) lines.update(steps, names.map((name) => columns[name]));
  }
}

function makeChart(title, names, over) {
  const lines = new Lines(title, names, 220, over);
  lines.node.dataset.series = names.join(",");
  return { names, lines };
}
