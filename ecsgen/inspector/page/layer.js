// What is drawn on a map, its colours, and where it is in the picture; the page and films share it.

import { element } from "./dom.js";

// Twelve colours that the colour-blind can tell apart, and grey for others; a scale from dark to light.
const NAMED = [[0, 114, 178], [230, 159, 0], [0, 158, 115], [213, 94, 0], [204, 121, 167], [86, 180, 233],
  [170, 150, 20], [120, 94, 240], [140, 86, 75], [30, 140, 140], [190, 60, 90], [90, 110, 40], [128, 128, 128]];
const SCALE = [[68, 1, 84], [72, 26, 108], [71, 47, 125], [65, 68, 135], [57, 86, 140], [49, 104, 142],
  [42, 120, 142], [35, 136, 142], [31, 152, 139], [34, 168, 132], [53, 183, 121], [84, 197, 104],
  [122, 209, 81], [165, 219, 54], [210, 226, 27], [253, 231, 37]];
const BEFORE_CELLS = [0, 0, 0]; // points without a colour before cells that have some
const MEMBERS = 12;

const LEVELS = 256; // colours of a scale

// Hexagons, a unit across, stand upright: a step up leads half a unit to the right.
export const SLANT = Math.sqrt(3) / 2; // how far one line of them is above the other
const CORNER = Math.sqrt(1 / 3); // how far their uppermost corners are above their middle

// Where a place on a grid of hexagons is in the picture's plane.
function leaned([across, up]) {
  return [across + (up - 0.5) / 2, 0.5 + (up - 0.5) * SLANT];
}

// The cell of a grid of hexagons in which a place of the plane is.
export function hexagonAt(x, y) {
  const up = (y - 0.5) / SLANT;
  const across = x - 0.5 - up / 2;
  const [q, r, s] = [Math.round(across), Math.round(up), Math.round(-across - up)];
  const [dq, dr, ds] = [Math.abs(q - across), Math.abs(r - up), Math.abs(s + across + up)];
  if (dq >= dr && dq >= ds) return [-r - s, r];
  return [q, dr >= ds ? -q - s : r];
}

// A colour as one number, in the order of the bytes of a picture.
export function pixelOf([red, green, blue], opacity = 255) {
  return ((opacity << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// Columns of points or of the cells of a grid, by role, with the colours of their values.
export class Layer {
  constructor(head, columns, owners = null) {
    Object.assign(this, { head, columns, owners, span: head.color_range ?? [0, 1] });
    this.stamp = Layer.made = (Layer.made ?? 0) + 1;
  }

  // Reads an answer: the length of the head, the head, and the columns.
  static read(bytes) {
    const length = new DataView(bytes).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
    const columns = new Map();
    let [start, owners] = [4 + length, null];
    for (const { name, role, type, shape, n = head.n } of head.columns) {
      const cells = n * shape.reduce((product, size) => product * size, 1);
      if (type === "u64") owners = new DataView(bytes, start, 8 * cells);
      else columns.set(role ?? name, new Float32Array(bytes, start, cells));
      start += (type === "u64" ? 8 : 4) * cells;
    }
    return new Layer(head, columns, owners);
  }

  // The colour of each point or cell as a pixel.
  get inks() {
    return this.painted ??= this.#paint();
  }

  // Members have a colour each, past the twelfth the last one's; numbers that of their level on the scale.
  #paint() {
    const [values, { n, members }] = [this.columns.get("color"), this.head];
    const count = members ? Math.min(members.length, MEMBERS) : LEVELS;
    const table = Uint32Array.from({ length: count }, (_, k) => pixelOf(members ? NAMED[k] : onScale((15 * k) / (LEVELS - 1))));
    if (!values) return new Uint32Array(n).fill(pixelOf(this.isBeforeCells ? BEFORE_CELLS : NAMED[0]));
    const [low, high] = members ? [0, count] : this.span;
    const factor = members ? 1 : (LEVELS - 1) / (high - low || 1);
    const [half, others] = [members ? 0 : 0.5, pixelOf(NAMED[MEMBERS])];
    const [below, above] = members ? [others, others] : [table[0], table[count - 1]];
    const inks = new Uint32Array(values.length);
    for (let k = 0; k < inks.length; k += 1) {
      const place = (values[k] - low) * factor + half;
      if (place >= 0) inks[k] = place < count ? table[place | 0] : above;
      else inks[k] = place < 0 ? below : others; // NaN
    }
    return inks;
  }

  column(role) {
    return this.columns.get(role);
  }

  get isHexagonal() {
    return this.head.hood === "hex";
  }

  // The ends of each axis in the picture.
  get bounds() {
    if (!this.isHexagonal) return this.head.bounds;
    const [[, right], [, high]] = this.head.bounds;
    return [[-0.5, right + high / 2], [0.5 - CORNER, 0.5 + (high - 1) * SLANT + CORNER]];
  }

  // The corners between which places are, or around those of hexagons.
  border(axes) {
    const more = this.isHexagonal ? 1 / 6 : 0;
    const [[left, right], [low, high]] = axes.map((axis) => this.head.bounds[axis] ?? [-0.5, 0.5]).map(([from, to]) => [from - more, to + more]);
    const corners = [[left, low], [right, low], [right, high], [left, high]];
    return this.isHexagonal ? corners.map(leaned) : corners;
  }

  // Where points are along an axis of the picture; undefined without that axis.
  axis(number) {
    return this.#along("place", number);
  }

  // The ends of links along two axes, two to a line; null without.
  lines(axes) {
    const ends = this.columns.get("links");
    if (!ends?.length) return null;
    return axes.map((axis) => this.#along("links", axis) ?? new Float32Array(ends.length / this.head.wrap.length));
  }

  // The part of a column of places that is about one axis.
  #along(role, number) {
    const column = this.#inPlane(role);
    const n = column && column.length / this.head.wrap.length;
    return number < this.head.wrap.length ? column?.subarray(number * n, (number + 1) * n) : undefined;
  }

  #inPlane(role) {
    const column = this.columns.get(role);
    if (!column || !this.isHexagonal) return column;
    const known = (this.planes ??= new Map()).get(role);
    if (known) return known;
    const n = column.length / 2;
    const plane = new Float32Array(2 * n);
    for (let k = 0; k < n; k += 1) [plane[k], plane[n + k]] = leaned([column[k], column[n + k]]);
    this.planes.set(role, plane);
    return plane;
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

// A colour of the scale, between its sixteen.
function onScale(place) {
  const k = Math.min(Math.trunc(place), SCALE.length - 2);
  return SCALE[k].map((from, part) => Math.round(from + (SCALE[k + 1][part] - from) * (place - k)));
}

// A legend's items: a colour for each member, or the scale of a number called `name`.
export function legendItems(layer, name) {
  const { members } = layer.head;
  const key = (ink, text) => element("li", {}, element("span", { class: "key", style: { background: `rgb(${ink})` } }), ` ${text}`);
  if (members) {
    const named = members.slice(0, MEMBERS).map((text, k) => key(NAMED[k], text));
    return [...named, ...(members.length > MEMBERS ? [key(NAMED[12], "others")] : [])];
  }
  if (!layer.column("color")) return [];
  const shown = (value) => String(Number(value.toPrecision(4)));
  const ramp = element("span", { class: "ramp", style: { background: `linear-gradient(to right, ${SCALE.map((ink) => `rgb(${ink})`).join(",")})` } });
  return [element("li", {}, `${name}: ${shown(layer.span[0])} `, ramp, ` ${shown(layer.span[1])}`)];
}

// The view that fits bounds into a canvas, with the same scale on both axes.
export function fitted({ width, height }, bounds, axes) {
  const size = [width, height];
  const spans = bounds.map(([low, high]) => high - low || 1);
  const scale = 0.94 * Math.min(size[0] / spans[0], size[1] / spans[1]);
  return { scale: [scale, scale], shift: bounds.map(([low], k) => size[k] / 2 - scale * (low + spans[k] / 2)), axes };
}

// Where a place on axis `k` is, from the upper left.
export function pixel({ height }, view, k, value) {
  const from = value * view.scale[k] + view.shift[k];
  return k ? height - from : from;
}

// Draws borders between corners, dashed where the world wraps.
export function drawBorder(context, view, corners, wrap, ink) {
  const { canvas } = context;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.setLineDash(wrap.some((size) => size) ? [6, 4] : []);
  context.beginPath();
  for (const corner of corners) context.lineTo(...corner.map((place, k) => pixel(canvas, view, k, place)));
  context.closePath();
  context.stroke();
  context.setLineDash([]);
}
