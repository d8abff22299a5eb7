// The bar above the page: plays, pauses and resets the run, with its speed and its arguments.

import { ask, Refused } from "./api.js";
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
    node.append(this.play, this.step, this.reset, this.stop, this.tick,
      element("label", {}, this.speed, " steps/s"), this.fields, this.error);
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
    this.node.hidden = !state.controls;
    say(this.play, state.playing ? "Pause" : "Play");
    // a world whose step leaves the time alone shows its steps
    say(this.tick, !state.tick ? `step ${count(state.steps)}` : `tick ${count(state.tick)}`);
    say(this.error, state.error ?? this.refused ?? "");
    this.reset.hidden = !state.resets;
    if (document.activeElement !== this.speed) this.speed.value = state.speed ?? "";
    if (!this.controls) this.#makeFields();
    for (const { group, name, input } of this.controls) {
      if (group !== "args" || document.activeElement === input) continue;
      if (input.type === "checkbox") input.checked = state.args[name];
      else input.value = String(state.args[name]);
    }
  }

  // A field for each argument of the step, and of the function that makes a new world.
  #makeFields() {
    this.controls = [];
    for (const group of ["args", "make"]) {
      const wanted = Object.entries(this.state[group]).filter(([, value]) => value !== null);
      for (const [name, value] of wanted) this.fields.append(this.#field(group, name, value));
    }
  }

  #field(group, name, value) {
    const type = { boolean: "checkbox", number: "number" }[typeof value] ?? "text";
    const message = element("span", { class: "error" });
    const change = () => group === "args" && this.#send({ args: { [name]: valueOf(input, value) } }, message);
    const input = element("input", { type, step: "any", data: { setting: name }, on: { change } });
    if (type === "checkbox") input.checked = value;
    else input.value = String(value);
    this.controls.push({ group, name, input, value, message });
    return element("label", { title: group === "make" ? "for the next reset" : "" }, `${name} `, input, message);
  }

  #reset() {
    const made = this.controls.filter(({ group }) => group === "make");
    this.#send({ reset: Object.fromEntries(made.map(({ name, input, value }) => [name, valueOf(input, value)])) });
  }

  async #send(body, message) {
    this.refused = null;
    if (message) say(message, "");
    try {
      this.#show(await ask("run", { method: "POST", body }));
    } catch (error) {
      if (message) say(message, ` ${error.message}`);
      else {
        this.refused = error.message;
        say(this.error, error.message);
      }
    }
  }
}

function valueOf(input, value) {
  if (typeof value === "boolean") return input.checked;
  return typeof value === "number" ? Number(input.value) : input.value;
}
