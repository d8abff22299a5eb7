// The map: rows where they are, with the cells of a grid behind them. Pan, zoom, and open by a click.

import { askBytes, query } from "./api.js";
import { colour, element, savePicture, say } from "./dom.js";
import { EntityPage } from "./entity.js";
import { count, entityName, referencePath } from "./format.js";
import { drawBorder, fitted, Layer, legendItems, pixel } from "./layer.js";
import { Surface } from "./renderer.js";

const NEAR = 14; // pixels from a click to a point
const AXES = ["right", "up"]; // in the picture
const REST = 400; // milliseconds between two looks at what does not move

export class MapPage {
  constructor(app) {
    this.app = app;
    this.facts = element("p", { class: "facts", role: "status" });
    this.tools = element("div", { class: "tools maptools" });
    this.legend = element("ul", { class: "legend", "aria-label": "colours" });
    this.surface = new Surface({ tabindex: 0, on: {
      pointerdown: (event) => this.#grab(event), pointermove: (event) => this.#drag(event),
      pointerup: (event) => this.#release(event), wheel: (event) => this.#wheel(event),
      dblclick: () => this.#fit(), keydown: (event) => this.#key(event) } });
    ({ canvas: this.canvas, over: this.over, box: this.box } = this.surface);
    this.beside = element("aside", { class: "beside", "aria-label": "what is marked", hidden: true });
    this.node = element("section", { class: "page" },
      element("div", { class: "top" }, element("h2", {}, "Map"), this.facts, this.tools), this.legend,
      element("div", { class: "split" }, this.box, this.beside));
    this.marked = app.parameters.get("entity") ?? "";
    const maps = app.world.maps;
    this.map = maps.find(({ name }) => name === (app.parameters.get("map") ?? app.world.view.map)) ?? maps[0];
    const told = (name, first, count) => Math.max(0, Math.min(Number(app.parameters.get(name) ?? first) || 0, count - 1));
    this.layer = told("layer", this.#isViewed ? app.world.view.layer : 0, this.map.layers); // of a grid's third axis
    this.axes = this.#hasAxes ? AXES.map((name, k) => told(name, k, this.map.axes)) : [0, 1];
    this.#choose();
    this.#open();
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(this.box);
    this.#look();
  }

  close() {
    this.isClosed = true;
    this.observer.disconnect();
  }

  refresh() {
    this.panel?.refresh();
  }

  // Whether the map is that of the view.
  get #isViewed() {
    const { view, maps } = this.app.world;
    return this.map.name === (view.map ?? maps[0].name);
  }

  // Whether there are axes to choose from: a grid with three has layers instead.
  get #hasAxes() {
    return this.map.axes > 2 && !this.map.layers;
  }

  // Fields of the component with the places, then of the others of a query, with their names before.
  get #fields() {
    const fields = (name) => this.app.component(name).fields;
    const others = this.map.others.flatMap((name) => fields(name).map((field) => ({ ...field, name: `${name}.${field.name}` })));
    return [...fields(this.map.component), ...others];
  }

  // What is shown as what: the page's choice, that of the view, or for colours what tells most.
  #choose() {
    const { parameters } = this.app;
    const single = this.#fields.filter(({ shape, type }) => !shape.length && /^(bool|[iuf]\d+)$|^[A-Z]/.test(type));
    const { view } = this.app.world;
    const chosen = (role) => (parameters.get(role) === "-" ? "" : parameters.get(role) ?? (this.#isViewed ? view[role] : null));
    const vectors = this.#fields.filter(({ shape, type }) => shape.length === 1 && shape[0] === this.map.axes && /^f/.test(type));
    this.chosen = {
      color: chosen("color") ?? this.map.color ?? "",
      size: chosen("size") ?? "",
      direction: chosen("direction") ?? "",
      links: chosen("links") ?? this.map.networks[0] ?? "",
    };
    const isNumber = single.some(({ name, type }) => name === this.chosen.color && /^[iuf]\d/.test(type));
    const isViewed = this.#isViewed && this.chosen.color === (view.color ?? this.map.color);
    const ends = String(parameters.get("ends") ?? ((isViewed && view.color_range) || "")).split(",").map(Number);
    this.ends = isNumber && ends.length === 2 && ends.every(Number.isFinite) ? ends : null; // null: of the moment
    const list = (role, fields) => this.#select(role, this.chosen[role], ["", ...fields.map(({ name }) => name)],
      (value) => this.#keep({ [role]: value || "-", ...(role === "color" && { ends: "" }) }));
    const fixed = element("input", { type: "checkbox", checked: this.ends !== null, data: { choice: "fixed" }, title: "Keep the ends of the scale", on: {
      change: () => this.#keep({ ends: (fixed.checked && (this.points ?? this.cells)?.span.join()) || "-" }) } });
    const layers = this.map.layers < 2 ? [] : [this.#select("layer", String(this.layer), Array.from({ length: this.map.layers }, (_, k) => String(k)),
      (value) => { this.layer = Number(value); this.app.keep({ layer: value }); this.wake?.(); })];
    const axes = !this.#hasAxes ? layers : AXES.map((name, k) => this.#select(name, String(this.axes[k]),
      Array.from({ length: this.map.axes }, (_, axis) => String(axis)),
      (value) => { this.axes[k] = Number(value); this.app.keep({ [name]: value }); this.view = null; this.#draw(); }));
    this.tools.replaceChildren(
      this.#select("map", this.map.name, this.app.world.maps.map(({ name }) => name), (value) => {
        this.map = this.app.world.maps.find(({ name }) => name === value);
        this.app.keep({ color: "", ends: "", size: "", direction: "", links: "", layer: "", right: "", up: "", entity: "" });
        this.view = null;
        this.axes = [0, 1];
        this.layer = 0;
        this.marked = "";
        this.#open();
        this.#keep({ map: value });
      }),
      list("color", single), ...(isNumber ? [element("label", {}, fixed, " fixed")] : []), ...(this.map.is_grid ? [] : [list("size", single), list("direction", vectors)]),
      ...(this.map.networks.length ? [list("links", this.map.networks.map((name) => ({ name })))] : []), ...axes,
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
    let asked = null;
    while (!this.isClosed) {
      let isMoving = false;
      if (!document.hidden && !this.app.isPaused()) {
        const before = this.points?.head.step ?? this.cells?.head.step;
        const { layers, error } = await (asked ?? this.#ask());
        asked = null;
        if (error) this.app.failed(error);
        else if (layers && !this.isClosed) {
          isMoving = before !== layers[0].head.step;
          if (isMoving) asked = this.#ask(); // the next picture comes while this one is drawn
          this.#show(layers);
        }
      }
      await new Promise((wake) => { this.wake = wake; isMoving ? requestAnimationFrame(wake) : setTimeout(wake, REST); });
    }
  }

  // Returns the layers of a picture, or the error; none if something else is to be seen meanwhile.
  async #ask(withIds = this.marked !== "") {
    const { map, chosen, layer } = this;
    try {
      const layers = await this.#layers(map, { ...chosen, ids: withIds ? "" : "0" }, map.layers < 2 ? "" : String(layer));
      return map === this.map && chosen === this.chosen && layer === this.layer ? { layers } : {};
    } catch (error) {
      return { error };
    }
  }

  // The layer of points or cells, and the cells behind points.
  async #layers(map, wanted, layer) {
    const read = async (name, parts) => Layer.read(await askBytes(`points/${encodeURIComponent(name)}${query({ ...parts, layer })}`));
    const first = await read(map.name, wanted);
    first.span = this.ends ?? first.span;
    return [first, map.grid_color ? await read(map.grid, { color: map.grid_color }) : null];
  }

  #show(layers) {
    const { map } = this;
    const [layer, behind] = layers;
    this.points = map.is_grid ? null : layer;
    this.cells = map.is_grid ? layer : behind;
    const { n, step, tick, links_of } = layer.head;
    const links = links_of === undefined ? "" : `, ${count(links_of)} links`;
    say(this.facts, `${map.is_grid ? this.app.component(map.component).grid.join(" × ") : count(n)} ${map.is_grid ? "cells" : "points"}${links}, ${!tick ? `step ${count(step)}` : `tick ${count(tick)}`}${this.surface.renderer.isPlain ? "; drawn without a graphics card" : ""}`);
    this.#drawLegend(layer);
    this.#draw();
  }

  #drawLegend(layer) {
    const { members } = layer.head;
    const text = JSON.stringify([members, layer.span, this.chosen.color]);
    if (this.described === text) return;
    this.described = text;
    this.legend.replaceChildren(...legendItems(layer, this.chosen.color));
  }

  #bounds() {
    const { bounds } = this.points ?? this.cells;
    return this.axes.map((axis) => bounds[axis] ?? [-0.5, 0.5]);
  }

  #fit() {
    this.view = fitted(this.canvas, this.#bounds(), this.axes);
    this.#draw();
  }

  #draw() {
    if (this.surface.resize()) this.view = null;
    if (!this.points && !this.cells) return;
    if (!this.view) return this.#fit();
    this.surface.draw({ points: this.points, cells: this.cells, lines: this.points?.lines(this.axes) }, this.view);
    this.#drawOver();
    this.box.dataset.map = String(this.points?.head.n || this.cells?.head.n);
  }

  // Borders, and the entity that is marked; left as they are while nothing of it changes.
  #drawOver() {
    const row = this.marked && this.points?.owners ? this.points.rowOf(this.marked) : -1;
    const first = this.points ?? this.cells;
    const [border, ink] = [first.border(this.axes), colour("dim")];
    const { width, height } = this.over;
    const drawn = row < 0 ? JSON.stringify([this.view, border, ink, width, height]) : "";
    if (drawn && drawn === this.drawnOver) return;
    this.drawnOver = drawn;
    const context = this.over.getContext("2d");
    drawBorder(context, this.view, border, first.head.wrap, ink);
    if (row < 0) return;
    const [x, y] = this.axes.map((axis, k) => pixel(this.canvas, this.view, k, this.points.axis(axis)?.[row] ?? 0));
    context.strokeStyle = colour("ink");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 11, 0, 7);
    context.stroke();
    context.fillStyle = colour("ink");
    context.font = "13px system-ui";
    context.fillText(this.#markedName, x + 14, y + 4);
  }

  #at(event) {
    const ratio = this.canvas.width / this.box.clientWidth;
    return [event.offsetX * ratio, this.canvas.height - event.offsetY * ratio];
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

  // Opens what is nearest to a click, and marks it. Who that is has to be asked for: rows that only
  // move keep their places meanwhile.
  async #pick(at) {
    const { map, points: seen } = this;
    let [points, row] = [seen, this.#nearest(seen, at)];
    if (row >= 0 && !seen.owners) {
      const { layers, error } = await this.#ask(true);
      if (error) this.app.failed(error);
      if (!layers || this.isClosed) return;
      [points] = layers;
      if (points.head.n !== seen.head.n) row = this.#nearest(points, at);
    }
    if (map !== this.map) return;
    this.marked = row < 0 ? "" : points.owner(row);
    this.points = points;
    this.app.keep({ entity: this.marked });
    this.#open();
    this.#draw();
    this.wake?.();
  }

  // The row of the point that is nearest to a place in the picture, -1 if none is near.
  #nearest(points, [x, y]) {
    const [xs, ys] = this.axes.map((axis) => points.axis(axis));
    const { scale, shift } = this.view;
    let [best, nearest] = [-1, (NEAR * (devicePixelRatio || 1)) ** 2];
    for (let row = 0; row < points.head.n; row += 1) {
      const dx = xs[row] * scale[0] + shift[0] - x;
      const dy = (ys ? ys[row] : 0) * scale[1] + shift[1] - y;
      if (dx * dx + dy * dy < nearest) [best, nearest] = [row, dx * dx + dy * dy];
    }
    return best;
  }

  get #markedType() {
    const { owner, title } = this.app.component(this.map.component);
    return owner === "entity" ? "entity" : `id<${title}>`;
  }

  get #markedName() {
    return this.panel?.label.textContent || (this.#markedType === "entity" ? entityName(this.marked) : this.marked);
  }

  // Opens what is marked beside the map.
  #open() {
    this.panel?.close();
    this.panel = null;
    this.link?.remove();
    this.beside.hidden = !this.marked;
    if (!this.marked) return;
    const isEntity = this.#markedType === "entity";
    this.panel = new EntityPage(this.app, this.marked, isEntity ? "" : this.map.component);
    this.beside.replaceChildren(this.panel.node);
    this.link = element("a", { href: `#/${referencePath(this.#markedType, this.marked)}`, class: "picked",
      data: isEntity ? { entity: this.marked } : { id: this.marked } }, `open ${this.#markedName}`);
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
    const middle = [this.canvas.width / 2, this.canvas.height / 2];
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
    savePicture(this.map.name, this.canvas, this.over);
  }
}
