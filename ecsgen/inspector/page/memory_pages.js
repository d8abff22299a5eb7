// Memory, chunks, frames, and times of kernels.

import { ask } from "./api.js";
import { Lines, meter } from "./charts.js";
import { element, say } from "./dom.js";
import { bytes, count, milliseconds, plural } from "./format.js";

const DRAWN = 400; // chunks of an archetype

class PicturePage {
  constructor(app, title) {
    this.app = app;
    this.facts = element("p", { class: "facts" });
    this.body = element("div", { class: "picture" });
    this.node = element("section", { class: "page scrolls" },
      element("div", { class: "top" }, element("h2", {}, title), this.facts), this.body);
  }

  close() {}

  async refresh() {
    if (this.busy) return;
    this.busy = true;
    try {
      await this.draw();
    } catch (error) {
      this.app.failed(error);
    }
    this.busy = false;
  }
}

export class MemoryPage extends PicturePage {
  constructor(app) {
    super(app, "Memory");
    this.chosen = app.parameters.get("component") ?? "";
    this.strip = element("div", { class: "strip" });
    this.list = element("ul", { class: "memory", data: { chart: "memory" }, "aria-label": "bytes of each component" });
    this.body.append(element("p", { class: "note" }, "How long a bar is says how much a component holds; the full part is rows in use."), this.list, this.strip);
    this.worldSeen();
  }

  refresh() {}

  worldSeen() {
    const components = [...this.app.world.components].sort((one, other) => other.nbytes - one.nbytes);
    const most = Math.max(1, components[0]?.nbytes ?? 1);
    const whole = components.reduce((sum, { nbytes }) => sum + nbytes, 0);
    say(this.facts, `${bytes(whole)} in ${plural(components.length, "component")}`);
    const focused = document.activeElement?.closest?.(".memory li")?.dataset.name;
    this.list.replaceChildren(...components.map((one) => this.#line(one, most)));
    if (focused) this.list.querySelector(`[data-name="${CSS.escape(focused)}"] button`)?.focus();
    this.#drawColumns(components.find(({ name }) => name === this.chosen) ?? components[0]);
  }

  #line(one, most) {
    const { name, title, rows, capacity, nbytes } = one;
    const button = element("button", { type: "button", "aria-pressed": name === this.chosen, on: { click: () => {
      this.chosen = name;
      this.app.keep({ component: name });
      this.worldSeen();
    } } }, title);
    const about = capacity ? `${Math.round((100 * rows) / capacity)} % full` : "empty";
    return element("li", { data: { name } }, button, element("span", { class: "track" }, nbytes === 0 ? null : meter(rows, capacity, most * (capacity / Math.max(1, nbytes)))),
      element("span", { class: "size" }, bytes(nbytes)), element("span", { class: "full" }, about));
  }

  #drawColumns(one) {
    if (!one) return;
    const whole = one.layout.reduce((sum, { nbytes }) => sum + nbytes, 0);
    const parts = one.layout.filter(({ nbytes }) => nbytes).map(({ column, dtype, shape, nbytes, tags, buffer }) =>
      element("li", { class: tags.includes("cold") ? "cold" : "hot", style: { "flex-grow": nbytes },
        title: `${column}: ${dtype}${shape.length ? `[${shape}]` : ""}, ${plural(nbytes, "byte")} per row, ${buffer === "cold" ? "in the second buffer" : tags.join(" ")}` },
      element("span", {}, column), element("small", {}, String(nbytes))));
    this.strip.replaceChildren(
      element("h3", {}, `${one.title}: ${plural(whole, "byte")} per row, column after column`),
      element("ul", { "aria-label": `columns of ${one.title}` }, ...parts),
      element("p", { class: "note" }, element("span", { class: "key hot" }), " hot ", element("span", { class: "key cold" }), " cold"));
  }
}

export class ChunksPage extends PicturePage {
  constructor(app) {
    super(app, "Archetypes");
    this.list = element("ul", { class: "archetypes", data: { chart: "chunks" }, "aria-label": "chunks of each archetype" });
    this.body.append(this.list);
    this.refresh();
  }

  async draw() {
    const found = await ask("archetypes");
    const entities = found.reduce((sum, one) => sum + one.entities, 0);
    const chunks = found.reduce((sum, one) => sum + one.chunks.length, 0);
    say(this.facts, found.length ? `${plural(found.length, "archetype")}, ${plural(chunks, "chunk")}, ${plural(entities, "entity", "entities")}` : "this world has none");
    this.list.replaceChildren(...found.map((one) => this.#archetype(one)));
  }

  #archetype({ components, entities, chunks }) {
    const cells = chunks.slice(0, DRAWN).map(({ rows, capacity }) =>
      element("span", { class: "chunk", title: `${count(rows)} of ${count(capacity)} rows` }, meter(rows, capacity, capacity)));
    const left = chunks.length - cells.length;
    const names = components.map((name) => element("a", { href: `#/rows/${name}` }, this.app.component(name).title));
    return element("li", {}, element("h3", {}, ...names.flatMap((name, k) => (k ? [" + ", name] : [name]))),
      element("p", { class: "note" }, `${plural(entities, "entity", "entities")}, ${plural(chunks.length, "chunk")}${chunks.length ? ` of ${count(chunks[0].capacity)} rows` : ""}`),
      element("div", { class: "chunks" }, ...cells, left > 0 ? ` and ${count(left)} more` : null));
  }
}

export class FramesPage extends PicturePage {
  constructor(app) {
    super(app, "Frames");
    this.times = new Lines("frames", ["ms"], 260, "frame", (value) => `${Number(value.toPrecision(4))}`);
    this.numbers = new Lines("numbers", ["entities", "rows"], 220, "frame", (value) => count(Math.round(value)));
    this.body.append(element("h3", {}, "Milliseconds between two ticks"), this.times.node,
      element("h3", {}, "Entities, and rows of all components"), this.numbers.node);
    this.refresh();
  }

  close() {
    this.times.close();
    this.numbers.close();
  }

  async draw() {
    const { ms, entities, rows } = await ask("frames");
    const last = this.app.world.frames;
    const places = ms.map((_, k) => last - ms.length + k);
    this.times.update(places, [ms]);
    this.numbers.update(places, [entities, rows]);
    const sorted = [...ms].sort((one, other) => one - other);
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
    say(this.facts, ms.length ? `the last ${plural(ms.length, "frame")}: median ${milliseconds(at(0.5))}, 99 % below ${milliseconds(at(0.99))}, longest ${milliseconds(at(1))}` : "no frames yet");
  }
}

export class TimesPage extends PicturePage {
  constructor(app) {
    super(app, "Times");
    const names = ["kernel", "within", "calls", "time", "share", "longest call", "rows", "ns per row", ""];
    this.lines = element("tbody");
    this.body.append(element("p", { class: "note" }, "What ran in the last second; it is measured while this page is open."),
      element("table", { class: "times", data: { chart: "times" }, "aria-label": "times of kernels" },
        element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)))), this.lines));
    this.refresh();
  }

  async draw() {
    const { times } = await ask("times");
    say(this.facts, times.length ? plural(times.length, "line") : "nothing has run in the last second");
    this.lines.replaceChildren(...times.map((time) => {
      const cells = [time.name, time.within, count(time.calls), milliseconds(1000 * time.seconds), `${(100 * time.share).toFixed(1)} %`,
        milliseconds(1000 * time.longest), count(time.rows), time.rows ? time.ns_per_row.toFixed(1) : ""];
      const bar = element("span", { class: "track" }, meter(time.share, 1, 1));
      return element("tr", {}, ...cells.map((text) => element("td", {}, text)), element("td", {}, bar));
    }));
  }
}
