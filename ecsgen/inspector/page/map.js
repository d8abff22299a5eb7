// The map: rows where they are, with the cells of a grid behind them. Pan, zoom, and open by a click.

import { askBytes, query } from "./api.js";
import { colour, element, say } from "./dom.js";
import { count, entityName } from "./format.js";
import { makeRenderer } from "./renderer.js";

// Twelve colours that the colour-blind can tell apart, and grey for others; a scale from dark to light.
const NAMED = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [213, 94, 0], [204, 121, 167], [86, 180, 233],
  [170, 150, 20], [120, 94, 240], [140, 86, 75], [30, 140, 140], [190, 60, 90], [90, 110, 40], [128, 128, 128]];
const SCALE = [[68, 1, 84], [72, 26, 108], [71, 47, 125], [65, 68, 135], [57, 86, 140], [49, 104, 142],
  [42, 120, 142], [35, 136, 142], [31, 152, 139], [34, 168, 132], [53, 183, 121], [84, 197, 104],
  [122, 209, 81], [165, 219, 54], [210, 226, 27], [253, 231, 37]];
const MEMBERS = 12;
const NEAR = 14; // pixels from a click to a point
const REST = 400; // milliseconds between two looks at what does not move

// The columns of an answer.
class Layer {
  constructor(bytes) {
    const length = new DataView(bytes).getUint32(0, true);
    this.head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    this.stamp = Layer.made = (Layer.made ?? 0) + 1;
    this.columns = new Map();
    let start = 4 + length;
    for (const { name, role, type, shape } of this.head.columns) {
      const cells = this.head.n * shape.reduce((product, size) => product * size, 1);
      if (type === "u64") this.owners = new DataView(bytes, start, 8 * cells);
      else this.columns.set(role ?? name, new Float32Array(bytes, start, cells));
      start += (type === "u64" ? 8 : 4) * cells;
    }
    this.#colour();
  }

  // Colours of members, or of a scale; the last of the members' stands for all others.
  #colour() {
    const { members, color_range } = this.head;
    this.members = members ? Math.min(members.length, MEMBERS) + 1 : 0;
    this.span = color_range ?? [0, 1];
    this.colours = Array.from({ length: 16 }, (_, k) => NAMED[Math.min(k, 12)]);
    if (members) this.colours[this.members - 1] = NAMED[12];
    else if (this.columns.has("color")) this.colours = SCALE;
  }

  column(role) {
    return this.columns.get(role);
  }

  axis(number) {
    const { n, wrap } = this.head;
    return number < wrap.length ? this.columns.get("place")?.subarray(number * n, (number + 1) * n) : undefined;
  }

  owner(row) {
    return String(this.owners.getBigUint64(8 * row, true));
  }

  rowOf(owner) {
    const [low, high] = [Number(BigInt(owner) & 0xffffffffn), Number(BigInt(owner) >> 32n)];
    for (let row = 0; row < this.head.n; row += 1) {
      if (this.owners.getUint32(8 * row, true) === low && this.owners.getUint32(8 * row + 4, true) === high) return row;
    }
    return -1;
  }
}

export class MapPage {
  constructor(app) {
    this.app = app;
    this.facts = element("p", { class: "facts", role: "status" });
    this.tools = element("div", { class: "tools maptools" });
    this.legend = element("ul", { class: "legend", "aria-label": "colours" });
    this.surface = element("canvas");
    this.over = element("canvas", { tabindex: 0, role: "img", "aria-label": "map", on: {
      pointerdown: (event) => this.#grab(event), pointermove: (event) => this.#drag(event),
      pointerup: (event) => this.#release(event), wheel: (event) => this.#wheel(event),
      dblclick: () => this.#fit(), keydown: (event) => this.#key(event) } });
    this.box = element("div", { class: "map", data: { map: "" } }, this.surface, this.over);
    this.node = element("section", { class: "page" },
      element("div", { class: "top" }, element("h2", {}, "Map"), this.facts, this.tools), this.legend, this.box);
    this.renderer = makeRenderer(this.surface);
    this.axes = [0, 1];
    this.marked = app.parameters.get("entity") ?? "";
    const maps = app.world.maps;
    this.map = maps.find(({ name }) => name === app.parameters.get("map")) ?? maps[0];
    this.#choose();
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(this.box);
    this.#look();
  }

  close() {
    this.isClosed = true;
    this.observer.disconnect();
  }

  refresh() {}

  get #fields() {
    return this.app.component(this.map.component).fields;
  }

  // What is shown as what: the page's choice, or for colours the first enum or bool, or a grid's number.
  #choose() {
    const { parameters } = this.app;
    const single = this.#fields.filter(({ shape, type }) => !shape.length && /^(bool|[iuf]\d+)$|^[A-Z]/.test(type));
    const first = single.find(({ members, type }) => members || type === "bool");
    const fallback = first ?? (this.map.is_grid ? single[0] : null);
    const vectors = this.#fields.filter(({ shape, type }) => shape.length === 1 && shape[0] === this.map.axes && /^f/.test(type));
    this.chosen = {
      color: parameters.get("color") ?? fallback?.name ?? "",
      size: parameters.get("size") ?? "",
      direction: parameters.get("direction") ?? "",
    };
    const list = (role, fields) => this.#select(role, this.chosen[role], ["", ...fields.map(({ name }) => name)],
      (value) => this.#keep({ [role]: value }));
    const axes = this.map.axes < 3 ? [] : [0, 1].map((k) => this.#select(k ? "up" : "right", String(this.axes[k]),
      Array.from({ length: this.map.axes }, (_, axis) => String(axis)), (value) => { this.axes[k] = Number(value); this.view = null; this.#draw(); }));
    this.tools.replaceChildren(
      this.#select("map", this.map.name, this.app.world.maps.map(({ name }) => name), (value) => {
        this.map = this.app.world.maps.find(({ name }) => name === value);
        this.app.keep({ color: "", size: "", direction: "", entity: "" });
        this.view = null;
        this.marked = "";
        this.#keep({ map: value });
      }),
      list("color", single), ...(this.map.is_grid ? [] : [list("size", single), list("direction", vectors)]), ...axes,
      element("button", { type: "button", on: { click: () => this.#fit() } }, "Fit"),
      element("button", { type: "button", on: { click: () => this.#save() } }, "PNG"));
  }

  #select(label, value, values, change) {
    const options = values.map((each) => element("option", { value: each, selected: each === value }, each || "–"));
    return element("label", {}, `${label} `, element("select", { data: { choice: label }, on: { change: (event) => change(event.target.value) } }, ...options));
  }

  #keep(changes) {
    this.app.keep(changes);
    this.#choose();
    this.wake?.();
  }

  async #look() {
    while (!this.isClosed) {
      let isMoving = false;
      if (!document.hidden && !this.app.isPaused()) {
        const before = this.points?.head.step ?? this.cells?.head.step;
        try {
          await this.#load();
          this.#draw();
          isMoving = before !== (this.points ?? this.cells).head.step;
        } catch (error) {
          this.app.failed(error);
        }
      }
      await new Promise((wake) => { this.wake = wake; isMoving ? requestAnimationFrame(wake) : setTimeout(wake, REST); });
    }
  }

  async #load() {
    const { map, chosen } = this;
    const path = `points/${encodeURIComponent(map.name)}${query(chosen)}`;
    const layer = new Layer(await askBytes(path));
    const grid = map.grid && this.app.component(map.grid);
    const shown = grid?.fields.find(({ shape, type }) => !shape.length && /^(bool|[iuf]\d+)$|^[A-Z]/.test(type));
    const behind = shown ? new Layer(await askBytes(`points/${encodeURIComponent(map.grid)}${query({ color: shown.name })}`)) : null;
    if (map !== this.map) return;
    this.points = map.is_grid ? null : layer;
    this.cells = map.is_grid ? layer : behind;
    const { n, step, tick } = layer.head;
    say(this.facts, `${map.is_grid ? layer.head.grid.join(" × ") : count(n)} ${map.is_grid ? "cells" : "points"}, ${!tick ? `step ${count(step)}` : `tick ${count(tick)}`}${this.renderer.isPlain ? "; drawn without a graphics card (no WebGL2)" : ""}`);
    this.#drawLegend(layer);
  }

  #drawLegend(layer) {
    const { members } = layer.head;
    const text = JSON.stringify([members, layer.span, this.chosen.color]);
    if (this.described === text) return;
    this.described = text;
    const key = (ink, name) => element("li", {}, element("span", { class: "key", style: { background: `rgb(${ink})` } }), ` ${name}`);
    if (members) {
      const named = members.slice(0, MEMBERS).map((name, k) => key(NAMED[k], name));
      this.legend.replaceChildren(...named, ...(members.length > MEMBERS ? [key(NAMED[12], "others")] : []));
    } else if (layer.column("color")) {
      const shown = (value) => String(Number(value.toPrecision(4)));
      const ramp = element("span", { class: "ramp", style: { background: `linear-gradient(to right, ${SCALE.map((ink) => `rgb(${ink})`).join(",")})` } });
      this.legend.replaceChildren(element("li", {}, `${this.chosen.color}: ${shown(layer.span[0])} `, ramp, ` ${shown(layer.span[1])}`));
    } else this.legend.replaceChildren();
  }

  #bounds() {
    const { bounds } = (this.points ?? this.cells).head;
    return this.axes.map((axis) => bounds[axis] ?? [-0.5, 0.5]);
  }

  // Fits the bounds into the picture, with the same scale on both axes.
  #fit() {
    const size = [this.surface.width, this.surface.height];
    const bounds = this.#bounds();
    const spans = bounds.map(([low, high]) => high - low || 1);
    const scale = 0.94 * Math.min(size[0] / spans[0], size[1] / spans[1]);
    this.view = { scale: [scale, scale], shift: bounds.map(([low], k) => size[k] / 2 - scale * (low + spans[k] / 2)), axes: this.axes };
    this.#draw();
  }

  #draw() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.box.clientWidth, this.box.clientHeight].map((size) => Math.max(1, Math.round(size * ratio)));
    if (this.surface.width !== width || this.surface.height !== height) {
      for (const canvas of [this.surface, this.over]) [canvas.width, canvas.height] = [width, height];
      this.view = null;
    }
    if (!this.points && !this.cells) return;
    if (!this.view) return this.#fit();
    const n = this.points?.head.n ?? 0;
    const dot = Math.max(1.5, Math.min(10, Math.sqrt((width * height) / Math.max(n, 1)) / 3)) * ratio;
    const isArrow = this.chosen.direction !== "";
    this.renderer.draw({ points: this.points, cells: this.cells, size: isArrow ? 1.8 * dot : dot, isArrow, layer: 0 }, this.view);
    this.#drawOver(width, height);
    this.box.dataset.map = String(n || this.cells?.head.n);
  }

  #pixel(k, value) {
    return k ? this.surface.height - (value * this.view.scale[1] + this.view.shift[1]) : value * this.view.scale[0] + this.view.shift[0];
  }

  // Borders, and the entity that is marked.
  #drawOver(width, height) {
    const context = this.over.getContext("2d");
    context.clearRect(0, 0, width, height);
    const { wrap } = (this.points ?? this.cells).head;
    const [[left, right], [low, high]] = this.#bounds();
    context.strokeStyle = colour("dim");
    context.setLineDash(wrap.some((size) => size) ? [6, 4] : []);
    context.strokeRect(this.#pixel(0, left), this.#pixel(1, high), (right - left) * this.view.scale[0], (high - low) * this.view.scale[1]);
    const row = this.marked && this.points ? this.points.rowOf(this.marked) : -1;
    if (row < 0) return;
    const [x, y] = this.axes.map((axis, k) => this.#pixel(k, this.points.axis(axis)?.[row] ?? 0));
    context.setLineDash([]);
    context.strokeStyle = colour("ink");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 11, 0, 7);
    context.stroke();
    context.fillStyle = colour("ink");
    context.font = "13px system-ui";
    context.fillText(entityName(this.marked), x + 14, y + 4);
  }

  #at(event) {
    const ratio = this.surface.width / this.box.clientWidth;
    return [event.offsetX * ratio, this.surface.height - event.offsetY * ratio];
  }

  #grab(event) {
    this.grabbed = { from: this.#at(event), shift: this.view?.shift, moved: false };
    this.over.setPointerCapture(event.pointerId);
  }

  #drag(event) {
    if (!this.grabbed?.shift) return;
    const to = this.#at(event);
    const way = to.map((place, k) => place - this.grabbed.from[k]);
    this.grabbed.moved ||= Math.hypot(...way) > 4;
    if (!this.grabbed.moved) return;
    this.view.shift = way.map((part, k) => this.grabbed.shift[k] + part);
    this.#draw();
  }

  #release(event) {
    const grabbed = this.grabbed;
    this.grabbed = null;
    if (grabbed && !grabbed.moved && this.points) this.#pick(this.#at(event));
  }

  #pick([x, y]) {
    const [xs, ys] = this.axes.map((axis) => this.points.axis(axis));
    let [best, nearest] = [-1, (NEAR * (devicePixelRatio || 1)) ** 2];
    for (let row = 0; row < this.points.head.n; row += 1) {
      const dx = xs[row] * this.view.scale[0] + this.view.shift[0] - x;
      const dy = (ys ? ys[row] : 0) * this.view.scale[1] + this.view.shift[1] - y;
      if (dx * dx + dy * dy < nearest) [best, nearest] = [row, dx * dx + dy * dy];
    }
    this.marked = best < 0 || this.points.head.owner !== "entity" ? "" : this.points.owner(best);
    this.app.keep({ entity: this.marked });
    this.#showMarked();
    this.#draw();
  }

  #showMarked() {
    this.link?.remove();
    if (!this.marked) return;
    this.link = element("a", { href: `#/entity/${this.marked}`, class: "picked", data: { entity: this.marked } }, `open ${entityName(this.marked)}`);
    this.tools.append(this.link);
  }

  #zoom(factor, [x, y]) {
    if (!this.view) return;
    this.view.shift = [x, y].map((place, k) => place - factor * (place - this.view.shift[k]));
    this.view.scale = this.view.scale.map((scale) => scale * factor);
    this.#draw();
  }

  #wheel(event) {
    event.preventDefault();
    this.#zoom(Math.exp(-event.deltaY / 400), this.#at(event));
  }

  #key(event) {
    const middle = [this.surface.width / 2, this.surface.height / 2];
    const ways = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, -40], ArrowDown: [0, 40] };
    if (event.key === "+" || event.key === "=") this.#zoom(1.25, middle);
    else if (event.key === "-") this.#zoom(0.8, middle);
    else if (event.key === "0") this.#fit();
    else if (ways[event.key] && this.view) {
      this.view.shift = this.view.shift.map((part, k) => part + ways[event.key][k]);
      this.#draw();
    } else return;
    event.preventDefault();
  }

  #save() {
    this.#draw(); // the card keeps a picture until it is shown
    const both = element("canvas", { width: this.surface.width, height: this.surface.height });
    const context = both.getContext("2d");
    context.fillStyle = colour("paper");
    context.fillRect(0, 0, both.width, both.height);
    for (const canvas of [this.surface, this.over]) context.drawImage(canvas, 0, 0);
    both.toBlob((blob) => {
      const link = element("a", { href: URL.createObjectURL(blob), download: `${this.map.name}.png` });
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }
}
