// The bar above the page: plays, pauses and resets the run, with its speed, arguments and settings.

import { ask, Refused } from "./api.js";
import { Control } from "./controls.js";
import { element, say } from "./dom.js";
import { count } from "./format.js";

const EVERY = 200; // milliseconds between two looks

export class RunBar {
  constructor(node) {
    this.node = node;
    this.play = this.#button("Play", "play", () => this.#send(this.state.playing ? { pause: true } : { play: true }), "Space");
    this.step = this.#button("One step", "step", () => this.#send({ step: true }), ".");
    this.reset = this.#button("Reset", "reset", () => this.#reset());
    this.stop = this.#button("Stop", "stop", () => this.#send({ stop: true }));
    this.tick = element("output", { data: { tick: "" }, "aria-label": "time" });
    this.speed = element("input", { type: "number", min: "0.1", step: "any", placeholder: "all there are",
      "aria-label": "steps per second", data: { run: "speed" },
      on: { change: () => this.#send({ speed: this.speed.value === "" ? null : Number(this.speed.value) }) } });
    this.error = element("p", { class: "error", role: "alert" });
    this.fields = element("div", { class: "fields" });
    this.settings = []; // of the world; fields of the run are `controls`
    this.labels = new Map(); // elements of all fields by name
    this.buttons = [this.play, this.step, this.stop, this.tick, element("label", {}, this.speed, " steps/s")];
    node.append(...this.buttons.slice(0, 2), this.reset, ...this.buttons.slice(2), this.fields, this.error);
    this.#look();
  }

  get isShown() {
    return this.state?.controls === true;
  }

  key(key) {
    if (!this.isShown || ![" ", "."].includes(key)) return false;
    (key === " " ? this.play : this.step).click();
    return true;
  }

  #button(text, name, click, key) {
    return element("button", { type: "button", data: { run: name }, title: key ? `${text} (${key})` : text, on: { click } }, text);
  }

  async #look() {
    while (true) {
      if (!document.hidden) {
        try {
          this.#show(await ask("run"));
          if (this.settings.length && !this.node.hidden) this.#showSettings(await ask("settings"));
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          // the page's own look says that the program has ended
        }
      }
      await new Promise((wake) => setTimeout(wake, EVERY));
    }
  }

  #show(state) {
    this.state = state;
    this.node.hidden = !state.controls && !(this.mayEdit && this.settings.length);
    for (const part of this.buttons) part.hidden = !state.controls;
    say(this.play, state.playing ? "Pause" : "Play");
    // a world whose step leaves the time alone shows its steps
    say(this.tick, !state.tick ? `step ${count(state.steps)}` : `tick ${count(state.tick)}`);
    say(this.error, state.error ?? this.refused ?? "");
    this.reset.hidden = !state.controls || !state.resets;
    if (document.activeElement !== this.speed) this.speed.value = state.speed ?? "";
    if (!this.controls) this.#makeFields();
    for (const { group, name, control } of this.controls) if (group === "args") control.show(state.args[name]);
  }

  // Makes fields for the settings, once the world is known.
  addSettings({ settings, edit, view }) {
    this.mayEdit = edit;
    this.settings = settings.filter(({ type }) => type !== "object").map((field) => ({ name: field.name, control: this.#field(field, "",
      async (value) => this.#showSettings(await ask("settings", { method: "PATCH", body: { [field.name]: value } }))) }));
    this.chosen = view?.controls ?? [];
    this.#hideOthers();
  }

  // A view may name the fields that are of interest.
  #hideOthers() {
    for (const [name, label] of this.labels) label.hidden = Boolean(this.chosen?.length) && !this.chosen.includes(name);
  }

  #showSettings(values) {
    for (const { name, control } of this.settings) control.show(values[name]);
  }

  // A field for each argument of the step, and of the function that makes a new world.
  #makeFields() {
    this.controls = [];
    for (const group of ["args", "make"]) {
      const wanted = Object.entries(this.state[group]).filter(([, value]) => value !== null);
      for (const [name, value] of wanted) {
        const type = { boolean: "bool", number: "f64" }[typeof value] ?? "str";
        const field = { name, type, shape: [], members: Object.hasOwn(this.state.choices, name) ? this.state.choices[name] : null };
        const control = this.#field(field, group === "make" ? "for the next reset" : "", async (given) => {
          if (group === "args") this.#show(await ask("run", { method: "POST", body: { args: { [name]: given } } }));
          else control.show(given);
        });
        control.show(value);
        this.controls.push({ group, name, control });
      }
    }
    this.#hideOthers();
  }

  // A field, with what was refused beside it.
  #field(field, hint, change) {
    const message = element("span", { class: "error", role: "alert" });
    const commit = async (value) => {
      let text = "";
      await change(value).catch((error) => { text = error.message; });
      say(message, text && ` ${text}`);
      return text;
    };
    const control = new Control(field, { label: field.name, data: { setting: field.name }, commit, undone: () => say(message, "") });
    const label = element("label", { title: [hint, field.doc].filter(Boolean).join(": ") }, `${field.name} `, control.node,
      field.unit ? ` ${field.unit}` : "", message);
    this.labels.set(field.name, label);
    this.fields.append(label);
    return control;
  }

  #reset() {
    const made = this.controls.filter(({ group }) => group === "make");
    this.#send({ reset: Object.fromEntries(made.map(({ name, control }) => [name, control.given])) });
  }

  async #send(body) {
    this.refused = null;
    try {
      this.#show(await ask("run", { method: "POST", body }));
    } catch (error) {
      this.refused = error.message;
      say(this.error, error.message);
    }
  }
}
