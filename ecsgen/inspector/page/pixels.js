// Draws points and the cells of a grid without a graphics card: pixel by pixel, onto a plain canvas.
// What a browser does in its place (WebGL in software) takes fifty times as long.

import { hexagonAt, pixelOf } from "./layer.js";

const ANGLES = 32;
export const LINE = [128, 128, 128, 120]; // colour of links, with its opacity

// The pixels of a dot or of an arrow head: [row, first, last] around its middle.
function stamp(size, angle) {
  const half = size / 2;
  const reach = Math.ceil(half);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const isInside = (x, y) => {
    if (Number.isNaN(angle)) return x * x + y * y <= 1;
    const [along, across] = [x * cos + y * sin, y * cos - x * sin];
    return along >= -0.75 && Math.abs(across) <= (0.9 - along) * 0.38;
  };
  const runs = [];
  for (let y = -reach; y <= reach; y += 1) {
    let [first, last] = [reach + 1, -reach - 1];
    for (let x = -reach; x <= reach; x += 1) {
      if (isInside(x / half, -y / half)) [first, last] = [Math.min(first, x), Math.max(last, x)];
    }
    if (first <= last) runs.push(y, first, last);
  }
  return { reach, runs: Int32Array.from(runs.length ? runs : [0, 0, 0]) };
}

export class PixelRenderer {
  constructor(context) {
    this.context = context;
    this.isPlain = true;
    this.stamps = new Map();
  }

  draw(picture, view) {
    const { width, height } = this.context.canvas;
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0);
    if (picture.cells?.column("color")) this.#drawCells(picture, view);
    if (picture.lines) this.#drawLines(picture.lines, view);
    if (picture.points?.head.n) this.#drawPoints(picture, view);
    this.context.putImageData(this.image, 0, 0);
  }

  #drawCells({ cells }, view) {
    const { width, height } = this.image;
    const [across, up = 1] = cells.head.grid;
    const { inks } = cells;
    if (cells.isHexagonal) return this.#drawHexagons(cells, view);
    const cellAt = (k, count) => (pixel) => {
      const place = Math.floor((pixel + 0.5 - view.shift[k]) / view.scale[k]);
      return place >= 0 && place < count ? place : -1;
    };
    const columns = Int32Array.from({ length: width }, (_, x) => cellAt(0, across)(x));
    const rowOf = cellAt(1, up);
    for (let y = 0; y < height; y += 1) {
      const row = rowOf(height - 1 - y);
      if (row < 0) continue;
      for (let x = 0; x < width; x += 1) {
        if (columns[x] >= 0) this.pixels[y * width + x] = inks[columns[x] * up + row];
      }
    }
  }

  #drawHexagons({ head, inks }, view) {
    const { width, height } = this.image;
    const [across, up] = head.grid;
    const placeOf = (k, pixel) => (pixel + 0.5 - view.shift[k]) / view.scale[k];
    for (let y = 0; y < height; y += 1) {
      const place = placeOf(1, height - 1 - y);
      for (let x = 0; x < width; x += 1) {
        const [q, r] = hexagonAt(placeOf(0, x), place);
        if (q >= 0 && q < across && r >= 0 && r < up) this.pixels[y * width + x] = inks[q * up + r];
      }
    }
  }

  // Lines, a pixel wide: faint on paper, mixed with the colours of cells.
  #drawLines([xs, ys], view) {
    const { pixels } = this;
    const { width, height } = this.image;
    const [sx, sy] = view.scale;
    const [tx, ty] = [view.shift[0], height - view.shift[1]];
    const faint = pixelOf(LINE, LINE[3]);
    for (let k = 0; k < xs.length; k += 2) {
      const [x, y] = [xs[k] * sx + tx, ty - ys[k] * sy];
      const [dx, dy] = [xs[k + 1] * sx + tx - x, ty - ys[k + 1] * sy - y];
      const [ax, bx] = [-x / dx, (width - 1 - x) / dx]; // where it meets the picture's sides
      const [ay, by] = [-y / dy, (height - 1 - y) / dy];
      const from = Math.max(0, dx ? Math.min(ax, bx) : 0, dy ? Math.min(ay, by) : 0);
      const to = Math.min(1, dx ? Math.max(ax, bx) : 1, dy ? Math.max(ay, by) : 1);
      const count = Math.ceil(Math.max(Math.abs(dx), Math.abs(dy)) * (to - from));
      if (!(count > 0)) continue; // nothing of it is to be seen, or an end is nowhere
      for (let step = 0; step <= count; step += 1) {
        const part = from + ((to - from) * step) / count;
        const [across, down] = [Math.round(x + part * dx), Math.round(y + part * dy)];
        if (across < 0 || across >= width || down < 0 || down >= height) continue;
        const at = down * width + across;
        if (pixels[at] === 0) pixels[at] = faint;
        else if (pixels[at] !== faint) pixels[at] = (0xff404040 + ((pixels[at] & 0xfefefe) >>> 1)) >>> 0;
      }
    }
  }

  #drawPoints({ points, size, isArrow }, view) {
    const { pixels } = this;
    const { width, height } = this.image;
    const { n } = points.head;
    const [xs, ys] = view.axes.map((axis) => points.axis(axis));
    const [inks, bigs] = [points.inks, points.column("size")];
    const [dxs, dys] = isArrow && points.column("direction")
      ? view.axes.map((axis) => points.column("direction").subarray(axis * n, (axis + 1) * n)) : [];
    const [low, high] = points.head.size_range ?? [0, 1];
    const [sx, sy] = view.scale;
    const [tx, ty] = [view.shift[0], height - view.shift[1]];
    const same = bigs || dxs ? null : this.#stamp(size, NaN);
    if (same?.reach === 1 && same.runs.length === 3 && same.runs[1] === same.runs[2]) {
      for (let k = 0; k < n; k += 1) {
        const across = xs[k] * sx + tx;
        const down = ys ? ty - ys[k] * sy : ty;
        if (across >= 0 && across < width && down >= 0 && down < height) { // NaN is nowhere
          pixels[(down | 0) * width + (across | 0)] = inks[k];
        }
      }
      return;
    }
    for (let k = 0; k < n; k += 1) {
      const [across, down] = [xs[k] * sx + tx, ys ? ty - ys[k] * sy : ty];
      if (!(across > -99 && across < width + 99 && down > -99 && down < height + 99)) continue; // NaN is nowhere
      const [x, y] = [Math.floor(across), Math.floor(down)];
      const found = same ?? this.#stamp(
        size * (0.4 + 1.2 * (bigs ? (bigs[k] - low) / (high - low || 1) : 0.5)), dxs ? Math.atan2(dys[k], dxs[k]) : NaN);
      this.#print(found, x, y, inks[k]);
    }
  }

  #print({ reach, runs }, x, y, ink) {
    const { pixels } = this;
    const { width, height } = this.image;
    const isWhole = x >= reach && y >= reach && x + reach < width && y + reach < height;
    for (let run = 0; run < runs.length; run += 3) {
      const row = y + runs[run];
      let first = x + runs[run + 1];
      let last = x + runs[run + 2];
      if (!isWhole) {
        if (row < 0 || row >= height) continue;
        if (first < 0) first = 0;
        if (last >= width) last = width - 1;
      }
      const end = row * width + last;
      for (let at = row * width + first; at <= end; at += 1) pixels[at] = ink;
    }
  }

  // Dots and arrow heads that look alike are made once.
  #stamp(size, angle) {
    const part = Number.isNaN(angle) ? ANGLES : Math.round(((angle + Math.PI) / (2 * Math.PI)) * ANGLES) % ANGLES;
    const key = Math.round(size * 2) * (ANGLES + 1) + part;
    let known = this.stamps.get(key);
    if (!known) this.stamps.set(key, known = stamp(Math.max(1, Math.round(size * 2) / 2), part === ANGLES ? NaN : (part / ANGLES) * 2 * Math.PI - Math.PI));
    return known;
  }
}
