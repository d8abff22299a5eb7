// Draws points and the cells of a grid: on the graphics card, or on a plain canvas where there is none.
// A picture is {points, cells, lines, size, isArrow}; points and cells have {head, column(role), inks}, lines the
// places of their ends on both axes, two to a line.

import { element } from "./dom.js";
import { SLANT } from "./layer.js";
import { LINE, PixelRenderer } from "./pixels.js";

const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i;
const POINTS = `#version 300 es
uniform vec2 scale, shift; uniform float size, isArrow;
in vec4 tint; in float x, y, big, dx, dy; out vec4 ink; out float angle;
void main() {
  bool isNowhere = isnan(x) || isnan(y) || isinf(x) || isinf(y);
  gl_Position = isNowhere ? vec4(9.0, 9.0, 9.0, 1.0) : vec4(vec2(x, y) * scale + shift, 0.0, 1.0);
  gl_PointSize = size * (0.4 + 1.2 * big); ink = tint; angle = isArrow > 0.5 ? atan(dy, dx) : 9.0;
}`;
const ROUND = `#version 300 es
precision mediump float; in vec4 ink; in float angle; out vec4 pixel;
void main() {
  vec2 p = (gl_PointCoord - 0.5) * vec2(2.0, -2.0);
  if (angle < 4.0) { // an arrow head: a triangle that points to the angle
    vec2 q = vec2(p.x * cos(angle) + p.y * sin(angle), p.y * cos(angle) - p.x * sin(angle));
    if (abs(q.y) > (0.9 - q.x) * 0.38 || q.x < -0.75) discard;
  } else if (dot(p, p) > 1.0) discard;
  pixel = ink;
}`;
const CORNERS = `#version 300 es
uniform vec2 scale, shift, low, high; out vec2 at;
void main() {
  at = mix(low, high, vec2(gl_VertexID & 1, gl_VertexID >> 1));
  gl_Position = vec4(at * scale + shift, 0.0, 1.0);
}`;
const CELLS = `#version 300 es
precision highp float;
uniform sampler2D inks; uniform vec2 cells; uniform float slant; in vec2 at; out vec4 pixel;
void main() {
  ivec2 cell = ivec2(min(at, cells - 1.0));
  if (slant > 0.0) { // hexagons: as hexagonAt has them
    float up = (at.y - 0.5) / slant, across = at.x - 0.5 - up / 2.0;
    vec3 exact = vec3(across, up, -across - up), whole = round(exact), off = abs(whole - exact);
    if (off.x >= off.y && off.x >= off.z) whole.x = -whole.y - whole.z;
    else if (off.y >= off.z) whole.y = -whole.x - whole.z;
    if (any(lessThan(whole.xy, vec2(0.0))) || any(greaterThanEqual(whole.xy, cells))) discard;
    cell = ivec2(whole.xy);
  }
  pixel = texelFetch(inks, ivec2(cell.y, cell.x), 0);
}`;

const LINES = `#version 300 es
uniform vec2 scale, shift; in float x, y;
void main() { gl_Position = vec4(vec2(x, y) * scale + shift, 0.0, 1.0); }`;
const INK = `#version 300 es
precision mediump float; uniform vec4 ink; out vec4 pixel;
void main() { pixel = ink; }`;

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) ?? "shader");
  const uniforms = new Map();
  return { made, at: (name) => uniforms.get(name) ?? uniforms.set(name, gl.getUniformLocation(made, name)).get(name) };
}

// Canvases in a box: one for what is drawn, and one over it for borders and marks.
export class Surface {
  constructor(properties) {
    [this.canvas, this.over] = [element("canvas"), element("canvas", { role: "img", "aria-label": "map", ...properties })];
    this.box = element("div", { class: "map", data: { map: "" } }, this.canvas, this.over);
    // a canvas that stays in memory takes pixels without a detour by the software that stands for a card
    this.renderer = hasCard() ? new CardRenderer(this.canvas.getContext("webgl2", { antialias: false }))
      : new PixelRenderer(this.canvas.getContext("2d", { willReadFrequently: true }));
  }

  // Gives the canvases the size of the box; returns whether they had another.
  resize() {
    this.ratio = devicePixelRatio || 1;
    const [width, height] = [this.box.clientWidth, this.box.clientHeight].map((size) => Math.max(1, Math.round(size * this.ratio)));
    if (this.canvas.width === width && this.canvas.height === height) return false;
    for (const canvas of [this.canvas, this.over]) Object.assign(canvas, { width, height });
    return true;
  }

  // Draws {points, cells, lines}; points with a direction are arrow heads, and many are small.
  draw(picture, view) {
    const { points } = picture;
    if (points && picture.cells?.column("color")) points.isBeforeCells = true;
    const isArrow = Boolean(points?.column("direction"));
    const room = Math.sqrt((this.canvas.width * this.canvas.height) / Math.max(points?.head.n ?? 0, 1));
    const size = (isArrow ? 1.8 : 1) * this.ratio * Math.max(1.5, Math.min(10, room / 3));
    this.renderer.draw({ ...picture, size, isArrow }, view);
  }
}

// Whether WebGL2 runs on a graphics card, not in software.
function hasCard() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const told = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return gl !== null && !SOFTWARE.test(name);
}

class CardRenderer {
  constructor(gl) {
    this.gl = gl;
    this.isPlain = false;
    this.points = program(gl, POINTS, ROUND);
    this.cells = program(gl, CORNERS, CELLS);
    this.lines = program(gl, LINES, INK);
    this.buffers = new Map();
    this.texture = gl.createTexture();
  }

  // `view` maps places to the picture: pixels = place * [sx, sy] + [tx, ty], from the lower left.
  draw(picture, view) {
    const { gl } = this;
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const scale = [(2 * view.scale[0]) / width, (2 * view.scale[1]) / height];
    const shift = [(2 * view.shift[0]) / width - 1, (2 * view.shift[1]) / height - 1];
    if (picture.cells?.column("color")) this.#drawCells(picture, scale, shift);
    if (picture.lines) this.#drawLines(picture, scale, shift);
    if (picture.points?.head.n) this.#drawPoints(picture, scale, shift, view.axes);
  }

  #drawLines({ lines, points }, scale, shift) {
    const { gl } = this;
    this.#use(this.lines, scale, shift);
    const opacity = LINE[3] / 255; // the canvas takes colours that are multiplied by it
    gl.uniform4fv(this.lines.at("ink"), LINE.map((part, k) => (part / 255) * (k < 3 ? opacity : 1)));
    ["x", "y"].forEach((name, k) => this.#fill(name, lines[k], points.stamp, 0, this.lines.made));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.drawArrays(gl.LINES, 0, lines[0].length);
    gl.disable(gl.BLEND);
  }

  #use({ made, at }, scale, shift) {
    const { gl } = this;
    gl.useProgram(made);
    gl.uniform2fv(at("scale"), scale);
    gl.uniform2fv(at("shift"), shift);
  }

  #drawPoints({ points, size, isArrow }, scale, shift, axes) {
    const { gl } = this;
    this.#use(this.points, scale, shift);
    const direction = isArrow ? points.column("direction") : null;
    gl.uniform1f(this.points.at("size"), size);
    gl.uniform1f(this.points.at("isArrow"), direction ? 1 : 0);
    const [low, high] = points.head.size_range ?? [0, 1];
    const big = points.column("size")?.map((value) => (value - low) / (high - low || 1));
    this.#fill("x", points.axis(axes[0]), points.stamp);
    this.#fill("y", points.axis(axes[1]), points.stamp);
    this.#fill("tint", points.inks, points.stamp);
    this.#fill("big", big, points.stamp, 0.5);
    const n = points.head.n;
    this.#fill("dx", direction?.subarray(axes[0] * n, (axes[0] + 1) * n), points.stamp);
    this.#fill("dy", direction?.subarray(axes[1] * n, (axes[1] + 1) * n), points.stamp);
    gl.drawArrays(gl.POINTS, 0, n);
  }

  #fill(name, values, stamp, otherwise = 0, made = this.points.made) {
    const { gl } = this;
    const place = gl.getAttribLocation(made, name);
    if (place < 0) return;
    if (!values?.length) {
      gl.disableVertexAttribArray(place);
      gl.vertexAttrib1f(place, otherwise);
      return;
    }
    const key = made === this.points.made ? name : `${name} of lines`;
    let known = this.buffers.get(key);
    if (!known) this.buffers.set(key, known = { buffer: gl.createBuffer() });
    gl.bindBuffer(gl.ARRAY_BUFFER, known.buffer);
    if (known.stamp !== stamp) gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    known.stamp = stamp;
    gl.enableVertexAttribArray(place);
    if (values instanceof Uint32Array) gl.vertexAttribPointer(place, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    else gl.vertexAttribPointer(place, 1, gl.FLOAT, false, 0, 0);
  }

  #drawCells({ cells }, scale, shift) {
    const { gl } = this;
    const [width, height = 1] = cells.head.grid;
    this.#use(this.cells, scale, shift);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    if (this.drawn !== cells.stamp) {
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, height, width, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(cells.inks.buffer));
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      this.drawn = cells.stamp;
    }
    const [x, y] = cells.isHexagonal ? cells.bounds : [[0, width], [0, height]];
    gl.uniform2f(this.cells.at("cells"), width, height);
    gl.uniform2f(this.cells.at("low"), x[0], y[0]);
    gl.uniform2f(this.cells.at("high"), x[1], y[1]);
    gl.uniform1f(this.cells.at("slant"), cells.isHexagonal ? SLANT : 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }
}
