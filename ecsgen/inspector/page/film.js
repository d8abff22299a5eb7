// A recorded run: its map and charts at one moment, a slider over time, and a button to play.

import { Lines } from "./charts.js";
import { colour, element, say } from "./dom.js";
import { count } from "./format.js";
import { drawBorder, fitted, Layer, legendItems } from "./layer.js";
import { Surface } from "./renderer.js";

const RATE = 30; // pictures a second
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
const AXES = [0, 1];

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The columns of points, or of cells, over all pictures.
class Recorded {
  constructor(facts, bytes, start) {
    this.facts = facts;
    this.starts = [0];
    for (const n of facts.n) this.starts.push(this.starts.at(-1) + n);
    const total = this.starts.at(-1);
    this.columns = new Map();
    this.end = start;
    for (const { role, bytes: width } of facts.columns) {
      const cells = width === 1 ? bytes.slice(this.end, this.end + total)
        : Uint16Array.from({ length: total }, (_, k) => bytes[this.end + k] | (bytes[this.end + total + k] << 8));
      this.#addUp(cells);
      this.columns.set(role, cells);
      this.end += width * total;
    }
  }

  // A picture with as many cells as the one before has the differences to it.
  #addUp(cells) {
    for (let picture = 1; picture < this.facts.n.length; picture += 1) {
      const n = this.facts.n[picture];
      if (n !== this.facts.n[picture - 1]) continue;
      const start = this.starts[picture];
      for (let k = start; k < start + n; k += 1) cells[k] += cells[k - n];
    }
  }

  layer(picture) {
    const { facts } = this;
    const n = facts.n[picture];
    const cells = (role) => this.columns.get(role)?.subarray(this.starts[picture], this.starts[picture + 1]);
    const columns = new Map();
    if (cells("place0")) {
      const places = new Float32Array(n * facts.wrap.length);
      facts.wrap.forEach((_, axis) => spread(cells(`place${axis}`), facts.bounds[axis], 65535, places.subarray(axis * n, (axis + 1) * n)));
      columns.set("place", places);
    }
    for (const role of ["color", "size"]) {
      const range = role === "color" && facts.members ? [0, 254] : facts[`${role}_range`];
      if (cells(role)) columns.set(role, spread(cells(role), range, 255, new Float32Array(n)));
    }
    if (cells("direction")) {
      const turns = Array.from(cells("direction"), (turn) => (turn * Math.PI) / 128);
      columns.set("direction", Float32Array.from([...turns.map(Math.cos), ...turns.map(Math.sin)]));
    }
    return new Layer({ ...facts, n, grid: facts.grid?.slice(0, 2) }, columns);
  }
}

// Steps between two ends to numbers; the last step stands for no number.
function spread(steps, [low, high], beyond, values) {
  const width = (high - low) / (beyond - 1);
  for (let k = 0; k < values.length; k += 1) values[k] = steps[k] === beyond ? NaN : low + steps[k] * width;
  return values;
}

class Film {
  constructor(facts, bytes) {
    this.facts = facts;
    let start = 0;
    for (const group of facts.groups) {
      this[group.part] = new Recorded(group, bytes, start);
      start = this[group.part].end;
    }
    this.first = this.points ?? this.cells;
    this.picture = 0;
    this.time = element("output");
    this.slider = element("input", { type: "range", min: 0, max: facts.pictures - 1, step: 1, "aria-label": "time",
      data: { time: "" }, on: { input: () => { this.#pause(); this.show(Number(this.slider.value)); } } });
    this.slider.value = "0";
    this.button = element("button", { type: "button", data: { play: "" }, title: "Space", on: { click: () => this.#toggle() } }, "Play");
    this.speed = element("select", { "aria-label": "speed", on: { change: () => this.since && this.#play() } },
      ...SPEEDS.map((speed) => element("option", { value: speed, selected: speed === 1 }, `${speed} ×`)));
    this.surface = new Surface();
    this.legend = element("ul", { class: "legend", "aria-label": "colours" });
    this.charts = facts.charts.map((names) => {
      const lines = new Lines(names.join(", "), names, 150, facts.time);
      lines.update(facts.times, names.map((name) => facts.lines[name]));
      return lines;
    });
    const { box } = this.surface;
    document.body.append(element("header", {}, element("h1", {}, facts.title), this.time),
      ...(this.first ? [this.legend, box] : []),
      element("section", { class: "charts", "aria-label": "charts" }, ...this.charts.map(({ node }) => node)),
      element("footer", {}, this.button, this.slider, this.speed));
    document.addEventListener("keydown", (event) => this.#key(event));
    if (!this.first) return this.show(0);
    this.legend.replaceChildren(...legendItems(this.first.layer(0), this.first.facts.color));
    new ResizeObserver(() => this.#fit()).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#fit());
  }

  #fit() {
    this.surface.resize();
    const first = this.first.layer(this.picture);
    this.view = fitted(this.surface.canvas, AXES.map((axis) => first.bounds[axis] ?? [-0.5, 0.5]), AXES);
    drawBorder(this.surface.over.getContext("2d"), this.view, first.border(AXES), first.head.wrap, colour("dim"));
    this.show(this.picture);
  }

  show(picture) {
    this.picture = picture;
    const time = this.facts.times[picture];
    say(this.time, `${this.facts.time} ${count(time)}`);
    this.slider.value = String(picture);
    for (const { plot } of this.charts) plot?.setCursor({ left: plot.valToPos(time, "x"), top: 0 });
    if (!this.view) return;
    const points = this.points?.layer(picture) ?? null;
    const ends = this.links?.layer(picture);
    const lines = ends && AXES.map((axis) => ends.axis(axis) ?? new Float32Array(ends.head.n));
    this.surface.draw({ points, lines, cells: this.cells?.layer(picture) ?? null }, this.view);
  }

  #toggle() {
    if (this.since) return this.#pause();
    if (this.picture === this.facts.pictures - 1) this.show(0);
    this.#play();
  }

  #play() {
    this.since = { at: performance.now(), picture: this.picture };
    say(this.button, "Pause");
    cancelAnimationFrame(this.next);
    this.next = requestAnimationFrame(() => this.#advance());
  }

  #pause() {
    this.since = null;
    cancelAnimationFrame(this.next);
    say(this.button, "Play");
  }

  #advance() {
    const seconds = (performance.now() - this.since.at) / 1000;
    const picture = Math.min(this.facts.pictures - 1, this.since.picture + Math.floor(seconds * RATE * Number(this.speed.value)));
    if (picture !== this.picture) this.show(picture);
    if (picture === this.facts.pictures - 1) this.#pause();
    else this.next = requestAnimationFrame(() => this.#advance());
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " ") this.#toggle();
    else if (way) {
      this.#pause();
      this.show(Math.min(this.facts.pictures - 1, Math.max(0, this.picture + way)));
    } else return;
    event.preventDefault();
  }
}

const facts = JSON.parse(document.getElementById("film-facts").textContent);
new Film(facts, await unpacked(document.getElementById("film-columns").textContent));
