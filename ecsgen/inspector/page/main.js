// The page: what the world has at the left, what is looked at to its right; asked again and again.

import { ask } from "./api.js";
import { element, say } from "./dom.js";
import { EntityPage } from "./entity.js";
import { count, entityNumber, milliseconds, plural, setComponents, setEntityBits } from "./format.js";
import { MapPage } from "./map.js";
import { ChunksPage, FramesPage, MemoryPage, TimesPage } from "./memory_pages.js";
import { RunBar } from "./run.js";
import { SeriesPage } from "./series_page.js";
import { ComponentPage, EntitiesPage, GroupPage, QueryPage } from "./tables.js";
import { TreePage } from "./tree.js";

const EVERY = 500; // milliseconds between two looks
const at = (id) => document.getElementById(id);
const runBar = new RunBar(at("run"));

const app = {
  world: null,
  page: null,
  parameters: new URLSearchParams(),
  component: (name) => app.world.components.find((one) => one.name === name),
  query: (name) => app.world.queries.find((one) => one.name === name),
  group: (name) => app.world.groups.find((one) => one.name === name),
  steps: () => runBar.state?.steps ?? 0,
  isPaused: () => isPaused(),
  go: (path) => { location.hash = `#/${path}`; },
  // Remembers in the address how a page is looked at, without leaving it.
  keep(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") app.parameters.delete(name);
      else app.parameters.set(name, value);
    }
    const path = location.hash.split("?")[0] || "#/entities";
    remember(path);
    history.replaceState(null, "", `${path}${app.parameters.size ? `?${app.parameters}` : ""}`);
  },
  failed(error) {
    say(at("status"), error.message);
    at("status").classList.add("error");
  },
};

// What a person has chosen is kept for the next time, for each world and page; not whom it marked.
const PASSING = ["entity", "q"];
const keyOf = (path) => `ecsgen ${app.world.world} ${path}`;

function remember(path) {
  const kept = new URLSearchParams([...app.parameters].filter(([name]) => !PASSING.includes(name)));
  try {
    localStorage.setItem(keyOf(path), kept.toString());
  } catch {
    // a browser may refuse to keep anything
  }
}

function remembered(path) {
  try {
    return localStorage.getItem(keyOf(path)) ?? "";
  } catch {
    return "";
  }
}

// Where a page without an address opens: what the view shows.
function firstPage() {
  const { map, color, size, direction, links, layer, charts } = app.world.view;
  if (app.world.maps.length && (layer || (map ?? color ?? size ?? direction ?? links))) return "#/map";
  return charts.length ? "#/charts" : "#/entities";
}

const PAGES = {
  entities: () => new EntitiesPage(app),
  rows: (name) => app.component(name) && new ComponentPage(app, name),
  query: (name) => app.query(name) && new QueryPage(app, name),
  group: (name) => app.group(name) && new GroupPage(app, name),
  tree: (name) => app.component(name)?.tree && new TreePage(app, name),
  entity: (name) => entityNumber(name) && new EntityPage(app, entityNumber(name)),
  row: (name, number) => app.component(name) && /^\d{1,20}$/.test(number) && new EntityPage(app, number, name),
  map: () => app.world.maps.length && new MapPage(app),
  charts: () => new SeriesPage(app),
  memory: () => new MemoryPage(app),
  chunks: () => new ChunksPage(app),
  frames: () => new FramesPage(app),
  times: () => new TimesPage(app),
};

function show() {
  if (!location.hash) history.replaceState(null, "", firstPage());
  const [path, parameters] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, name, number] = path.split("/").map(decodeURIComponent);
  app.parameters = new URLSearchParams(parameters ?? remembered(`#/${path}`));
  app.page?.close();
  const isInside = at("main").contains(document.activeElement);
  const make = Object.hasOwn(PAGES, kind) ? PAGES[kind] : PAGES.entities;
  app.page = make(name ?? "", number ?? "") || PAGES.entities();
  at("main").replaceChildren(app.page.node);
  if (isInside) (at("main").querySelector(".grid") ?? at("main")).focus({ preventScroll: true });
  const isTyping = document.activeElement === at("search");
  if (app.page instanceof EntitiesPage && !isTyping) at("search").value = app.page.text;
  for (const link of at("nav").querySelectorAll("a")) {
    const isHere = link.hash === `#/${path}` || (link.hash === "#/entities" && path === "");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function section(title, links) {
  if (!links.length) return null;
  const id = `nav-${title.toLowerCase()}`;
  return element("section", { "aria-labelledby": id }, element("h2", { id }, title),
    element("ul", {}, ...links.map((link) => element("li", {}, link))));
}

function drawNav() {
  const { components, queries, groups } = app.world;
  const link = (path, text, data) => element("a", { href: `#/${path}`, data }, text);
  app.rows = new Map();
  const listed = components.map(({ name, title }) => {
    const rows = element("span", { class: "rows" });
    app.rows.set(name, rows);
    const made = element("a", { href: `#/rows/${name}`, data: { component: name } }, element("span", {}, title), rows);
    return made;
  });
  const views = [...(app.world.maps.length ? [link("map", "Map")] : []), link("charts", "Charts"), link("entities", "Entities"), link("frames", "Frames"), link("times", "Times"), link("memory", "Memory")];
  if (components.some((one) => one.in === "archetypes")) views.push(link("chunks", "Archetypes"));
  const trees = components.filter(({ tree }) => tree).map(({ name, title }) => link(`tree/${name}`, title));
  at("nav").replaceChildren(...[
    section("Views", views), section("Components", listed),
    section("Queries", queries.map(({ name }) => link(`query/${name}`, name))),
    section("Groups", groups.map(({ name }) => link(`group/${name}`, name))),
    section("Trees", trees),
  ].filter(Boolean));
}

function worldSeen(before) {
  const { world, alive, frames, components } = app.world;
  say(at("world"), world);
  document.title = `${world} – ecsgen inspector`;
  const passed = before && frames > before.frames ? (performance.now() - before.at) / (frames - before.frames) : 0;
  say(at("facts"), `${plural(alive, "entity", "entities")}, frame ${count(frames)}${passed ? `, ${milliseconds(passed)}` : ""}`);
  for (const { name, rows } of components) {
    const node = app.rows.get(name);
    say(node, count(rows));
    node.parentElement.classList.toggle("empty", rows === 0);
  }
  app.page?.worldSeen?.();
}

async function look() {
  const before = app.world && { frames: app.world.frames, at: app.seen };
  try {
    app.world = await ask("world");
    if (!before) {
      setEntityBits(app.world.index_bits, app.world.shard_bits);
      setComponents(app.world.components);
      runBar.addSettings(app.world);
      at("save").hidden = !app.world.saves;
      drawNav();
    }
    worldSeen(before);
    app.seen = performance.now();
    if (before) app.page.refresh();
    else {
      show();
      if (at("search").value) search(); // typed before there was a world
    }
    at("status").classList.remove("error");
    say(at("status"), "");
  } catch (error) {
    app.failed(error);
  }
}

async function run() {
  while (true) {
    if (!app.world || !(document.hidden || isPaused())) await look();
    await new Promise((wake) => setTimeout(wake, EVERY));
  }
}

function isPaused() {
  return at("pause").getAttribute("aria-pressed") === "true";
}

function pause() {
  at("pause").setAttribute("aria-pressed", !isPaused());
  say(at("pause"), isPaused() ? "Go on (the program runs on)" : "Pause this page");
}

let typed = 0;

function search() {
  clearTimeout(typed);
  typed = setTimeout(() => {
    if (!app.world) return;
    const text = at("search").value;
    if (!(app.page instanceof EntitiesPage)) location.hash = `#/entities?${new URLSearchParams({ q: text })}`;
    else {
      app.keep({ q: text });
      app.page.search(text);
    }
  }, 150);
}

function openFound(event) {
  const entity = entityNumber(at("search").value);
  if (event.key === "Enter" && entity !== null) {
    clearTimeout(typed);
    at("main").focus();
    app.go(`entity/${entity}`);
  }
  else if (event.key === "Enter" || event.key === "ArrowDown") document.querySelector(".grid")?.focus();
  else if (event.key === "Escape") at("search").blur();
  else return;
  event.preventDefault();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]), select")) return;
  if (event.key === " " && event.target.matches("button, a, input")) return; // presses that one
  if (event.key === "/") {
    at("search").focus();
    at("search").select();
  } else if (event.key === "p") pause();
  else if (!runBar.key(event.key)) return;
  event.preventDefault();
});
at("search").addEventListener("input", search);
at("search").addEventListener("keydown", openFound);
at("pause").addEventListener("click", pause);
at("save").addEventListener("click", async () => {
  const name = prompt("Save as a new file beside the one that is shown:", "new.snap");
  if (name === null) return;
  try {
    say(at("status"), `saved as ${(await ask("save", { method: "POST", body: { name } })).name}`);
  } catch (error) {
    app.failed(error);
  }
});
at("skip").addEventListener("click", () => (document.querySelector(".grid") ?? at("main")).focus());
addEventListener("hashchange", () => app.world && show());
run();
