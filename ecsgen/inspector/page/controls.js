// Fields to change a value with: lists for enums, switches for bools, sliders between bounds, else text.

import { element, say } from "./dom.js";
import { cellText, entityName, entityNumber } from "./format.js";

// `field`: {name, type, shape, members, flags, min, max}; `commit` gets a new value, and returns what
// is wrong with it, or ""; `undone` is told that it is left as it was.
export class Control {
  constructor(field, { label, data, commit, undone }) {
    Object.assign(this, { field, commit, undone });
    this.input = this.#makeInput({ "aria-label": label, data, spellcheck: "false", autocomplete: "off", on: {
      change: () => this.#changed(), input: () => this.#slid(),
      keydown: (event) => { if (event.key === "Escape") this.#escape(); } } });
    this.output = this.isSlider ? element("output") : null;
    this.node = element("span", { class: "control" }, this.input, this.output);
  }

  get isSlider() {
    const { min, max } = this.field;
    return this.isNumber && Number.isFinite(min) && Number.isFinite(max);
  }

  get isNumber() {
    const { type, shape, members } = this.field;
    return !members && !shape.length && /^[fiu]\d+$/.test(type);
  }

  get isWrong() {
    return this.input.classList.contains("wrong");
  }

  set isWrong(isWrong) {
    this.input.classList.toggle("wrong", isWrong);
  }

  #makeInput(properties) {
    const { type, shape, members, flags, min, max } = this.field;
    if (members && !flags && !shape.length) {
      return element("select", properties, ...members.map((name) => element("option", { value: name }, name)));
    }
    if (type === "bool" && !shape.length) return element("input", { ...properties, type: "checkbox", role: "switch" });
    if (!this.isSlider) return element("input", properties);
    const step = type.startsWith("f") ? "any" : "1";
    return element("input", { ...properties, type: "range", min: String(min), max: String(max), step });
  }

  // Shows a value, but not over what somebody is writing.
  show(value) {
    this.value = value;
    if (this.isBusy) return; // what was asked before the change is answered behind it
    if (document.activeElement === this.input && !this.isSlider && this.input.type !== "checkbox" && this.input.tagName !== "SELECT") return;
    if (!this.isWrong && !this.isSliding) this.#write();
  }

  #escape() {
    this.undo();
    this.undone?.();
    this.input.blur();
  }

  // Writes the present value again.
  undo() {
    this.isWrong = false;
    this.#write();
  }

  #write() {
    const { input, field, value } = this;
    if (input.type === "checkbox") input.checked = value === true;
    else {
      if (input.tagName === "SELECT" && ![...input.options].some((option) => option.value === String(value))) {
        input.append(element("option", { value: String(value) }, String(value))); // a number that is no member's
      }
      const text = written(value, field);
      if (input.value !== text) input.value = text;
    }
    if (this.output) say(this.output, cellText(value, field.type));
  }

  get given() {
    const { input, field } = this;
    if (input.type === "checkbox") return input.checked;
    return input.type === "range" ? Number(input.value) : read(input.value, field);
  }

  #slid() {
    if (!this.output) return;
    this.isSliding = true;
    say(this.output, cellText(this.given, this.field.type));
  }

  async #changed() {
    this.isBusy = true;
    this.isWrong = await this.commit(this.given) !== "";
    this.isBusy = this.isSliding = false;
    if (!this.isWrong && document.activeElement !== this.input) this.#write();
  }
}

// A value as it is written into a field's input, and back.
function written(value, field) {
  if (field.shape.length) return JSON.stringify(value, (_, part) => (typeof part === "number" && field.type.startsWith("f32") ? Number(cellText(part, "f32")) : part));
  if (field.type.startsWith("entity") && value !== "0") return entityName(value);
  if (/^(entity|id<)/.test(field.type)) return value;
  return cellText(value, field.type);
}

function read(text, field) {
  if (field.shape.length) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  if (/^(str|bytes)/.test(field.type) || field.members) return text;
  if (field.type.startsWith("entity")) return entityNumber(text) ?? text;
  const number = Number(text);
  const isSafe = text.trim() !== "" && Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isSafe ? number : text.trim();
}
