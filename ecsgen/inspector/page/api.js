// Requests. The token came in the address, is taken out of it at once, and goes into a header.

const token = new URLSearchParams(location.search).get("token") ?? "";
sessionStorage.setItem("token", token); // for when the page is loaded again
history.replaceState(null, "", location.pathname + location.hash);

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Integers that a float can't hold stay text, where the browser tells how they were written.
function exact(key, value, context) {
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return context?.source ?? value;
  }
  return value;
}

async function send(path, { method = "GET", body, signal } = {}) {
  try {
    return await fetch(`/api/${path}`, {
      method,
      signal,
      headers: { "X-Ecsgen-Token": token },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Refused(0, "the program has ended, or was stopped");
  }
}

// Asks for columns; an answer that is refused has a message in JSON.
export async function askBytes(path) {
  const response = await send(path);
  if (response.ok) return response.arrayBuffer();
  throw new Refused(response.status, (await response.json().catch(() => ({}))).error ?? `refused (${response.status})`);
}

export async function ask(path, options) {
  const response = await send(path, options);
  let answer = {};
  try {
    answer = JSON.parse(await response.text(), exact);
  } catch {
    throw new Refused(response.status, `the answer cannot be read (${response.status})`);
  }
  if (!response.ok) { // the state of a run has an `error` of its own
    throw new Refused(response.status, answer.error ?? `refused (${response.status})`);
  }
  return answer;
}

export function query(parts) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(parts)) {
    if (Array.isArray(value)) for (const each of value) found.append(name, each);
    else if (value !== "" && value !== undefined && value !== null && value !== false) found.set(name, value);
  }
  return found.size ? `?${found}` : "";
}

// One request at a time; of the wishes that come meanwhile only the last one counts.
export class Latest {
  #wish = null;
  #running = false;

  wish(work) {
    this.#wish = work;
    if (!this.#running) this.#run();
  }

  get isBusy() {
    return this.#running;
  }

  async #run() {
    this.#running = true;
    while (this.#wish !== null) {
      const work = this.#wish;
      this.#wish = null;
      await work();
    }
    this.#running = false;
  }
}
