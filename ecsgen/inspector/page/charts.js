// Lines over frames (uPlot), and bars (plain elements).

import { colour, element, savePicture } from "./dom.js";
import { cellText, count } from "./format.js";

const COLOURS = ["accent", "second", "third", "fourth", "fifth", "sixth"];

// A line for each of `names`; `update(x, lines)` draws them anew. `x` names what they are over.
export class Lines {
  constructor(label, names, height, x, format = (value) => count(Number(value.toPrecision(6)))) {
    Object.assign(this, { names, height, format, x });
    this.data = [[], ...names.map(() => [])];
    this.surface = element("div", { role: "img", "aria-label": label });
    this.node = element("div", { class: "chart", data: { chart: label } }, this.surface,
      element("button", { type: "button", class: "png", title: `Save ${label} as a picture`, on: { click: () => this.#save(label) } }, "PNG"));
    this.theme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.#draw();
    this.theme.addEventListener("change", this.redraw);
    this.observer = new ResizeObserver(() => this.#fit());
    this.observer.observe(this.node);
  }

  close() {
    this.theme.removeEventListener("change", this.redraw);
    this.observer.disconnect();
    this.plot?.destroy();
  }

  update(x, lines) {
    this.data = [x, ...lines];
    if (this.plot) this.plot.setData(this.data);
    else this.#draw();
  }

  #fit() {
    const width = Math.floor(this.node.clientWidth);
    if (this.plot && width > 0) this.plot.setSize({ width, height: this.height });
    else this.#draw();
  }

  #draw() {
    const width = Math.floor(this.node.clientWidth);
    if (width <= 0) return;
    this.plot?.destroy();
    const [ink, line] = [colour("dim"), colour("line")];
    const grid = { stroke: line, width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "11px system-ui", labelFont: "11px system-ui" };
    const series = this.names.map((name, place) => ({
      label: name,
      stroke: colour(COLOURS[place % COLOURS.length]),
      width: 1.5,
      points: { show: false },
      value: (_, value) => (value === null || value === undefined ? "–" : this.format(value)),
    }));
    const options = {
      width,
      height: this.height,
      cursor: { points: { size: 6 } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low * 1.1), Math.max(high * 1.1, 1e-3)] } },
      axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => this.format(tick)) }],
      series: [{ label: this.x, value: (_, value) => (value === null ? "–" : count(value)) }, ...series],
    };
    this.plot = new uPlot(options, this.data, this.surface);
  }

  #save(label) {
    const from = this.surface.querySelector("canvas");
    if (from) savePicture(label, from); // else nothing is drawn yet
  }
}

// Bars of a histogram: a bar for each count, named by its value or by the edges of its bin.
export function histogram(answer, type) {
  const { counts, edges } = answer;
  const most = Math.max(1, ...counts);
  const isBinned = edges.length === counts.length + 1;
  const name = (k) => (isBinned ? `${cellText(edges[k], type)} … ${cellText(edges[k + 1], type)}` : String(edges[k]));
  const bars = counts.map((number, k) =>
    element("li", { class: "bar", title: `${name(k)}: ${count(number)}`, tabindex: -1 },
      element("span", { class: "fill", style: { height: `${(100 * number) / most}%` } }),
      isBinned ? null : element("span", { class: "name" }, name(k))));
  const list = element("ol", { class: isBinned ? "bars" : "bars named", role: "img",
    "aria-label": `${counts.length} bars, the highest ${count(most)}`, data: { chart: "histogram" } }, ...bars);
  const ends = isBinned && counts.length
    ? element("p", { class: "ends" }, element("span", {}, cellText(edges[0], type)),
      element("span", {}, cellText(edges[edges.length - 1], type)))
    : null;
  return element("div", {}, list, ends, element("p", { class: "note" }, note(answer)));
}

function note({ counts, cells, counted, sampled, skipped }) {
  if (!counts.length) return "no values";
  const parts = [sampled ? `a sample: ${count(counted)} of ${count(cells)} values` : `${count(cells)} values`];
  if (skipped) parts.push(`${count(skipped)} not finite, left out`);
  return parts.join("; ");
}

// A bar in a row of its own: `part` of `whole` is filled, and it is as long as `whole` of `most`.
export function meter(part, whole, most, kind = "") {
  const inner = element("span", { class: "fill", style: { width: `${whole ? (100 * part) / whole : 0}%` } });
  return element("span", { class: `meter ${kind}`, style: { width: `${most ? Math.max(0.3, (100 * whole) / most) : 0}%` } }, inner);
}
