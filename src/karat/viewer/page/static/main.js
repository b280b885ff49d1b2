// The page: one screen at a time, which the address names. Each screen is a module of its own: a function of the state that
// resolves to its nodes, and, where it has them, `update` (a new state of the same screen and runs), `keys`, `ready` (it is in
// the document) and `close`.

import { allRuns, Refused, unlock } from "./api.js";
import { announce, complain, el, visible } from "./dom.js";
import { address, current, go } from "./state.js";
import { sentence } from "./text.js";
import agreement from "./agreement.js";
import compare from "./compare.js";
import label from "./label.js";
import provenance from "./provenance.js";
import row from "./row.js";
import rows from "./rows.js";
import runs from "./runs.js";

const SCREENS = { runs, compare, rows, row, label, agreement, provenance };
const TABS = { runs: "Runs", compare: "Compare", rows: "Rows", label: "Label", agreement: "Agreement", provenance: "Provenance" };
const UNPICKED = "Pick a run to open the others.";
const KEYS = {
  "?": "these keys",
  g: "all runs",
  "j k": "next and previous row",
  Enter: "open the row that has the focus",
  "] [": "next and previous page of rows",
  "1 2 3 …": "give the row this label",
  "u s n": "label: undo, skip, note",
  a: "label doubtful gold: another gold",
};

const main = document.getElementById("main");
let shown = { key: null };
let turn = 0;
let own = false; // whether the rows to label come from a file, not from a run

async function show() {
  const mine = ++turn;
  const state = current();
  const key = JSON.stringify(state.screen === "runs" ? "runs" : [state.screen, state.runs, state.on, state.different]);
  main.setAttribute("aria-busy", "true");
  complain(state.unread);
  try {
    if (key === shown.key && shown.update) await shown.update(state);
    else {
      const page = await allRuns();
      own = Boolean(page.labels?.rows);
      checkRuns(state, page);
      const screen = await SCREENS[state.screen](state, page);
      if (mine !== turn) return screen.close?.();
      put({ key, ...screen });
    }
  } catch (error) {
    if (mine === turn && error.name !== "AbortError") fail(error);
  }
  if (mine !== turn) return;
  navigate(state);
  main.removeAttribute("aria-busy");
}

/** Put a screen in the place of the last one; the focus goes to its heading, from where a screen reader reads on. */
function put(screen) {
  shown.close?.();
  const first = shown.key === null;
  shown = screen;
  document.title = visible(`${screen.title} – karat`);
  main.replaceChildren(...screen.nodes.flat(Infinity).filter(Boolean));
  scrollTo(0, 0);
  if (!first) main.focus({ preventScroll: true });
  screen.ready?.();
}

function checkRuns(state, page) {
  const known = new Map(page.runs.map((run) => [run.id, run]));
  if (state.runs.some((id) => !known.has(id)))
    throw new Error("The address names a run that is not in this folder any more.");
  if (!opens(state.screen, state.runs)) throw new Error("Pick a run first.");
  page.picked = state.runs.map((id) => known.get(id));
}

/** Whether a screen can be opened with these runs. */
const opens = (screen, runs) => screen === "runs" || runs.length > 0 || (own && screen === "label");

/** The screens by name; without a picked run the others are named too, with what opens them. */
function navigate(state) {
  const { runs, on, different, filter, metric } = state;
  const tab = ([screen, text]) => {
    if (!opens(screen, runs)) return el("span.dim", { "aria-disabled": "true", title: UNPICKED }, text);
    const here = state.screen === screen || (screen === "rows" && state.screen === "row");
    const kept = screen === "runs" ? { runs } : { runs, on, different, filter, metric };
    return el("a", { href: address({ screen, ...kept }), "aria-current": here ? "page" : null }, text);
  };
  const tabs = Object.entries(TABS).map((each) => el("li", tab(each)));
  const why = runs.length ? null : el("li.note", UNPICKED);
  document.getElementById("nav").replaceChildren(el("ul", tabs, why));
}

function fail(error) {
  const locked = error instanceof Refused && error.status === 401;
  const title = locked ? "This tab has no key" : "This cannot be shown";
  const advice = locked
    ? "Open the address that karat view printed: what follows “#token=” in it is the key to this page. It is valid until karat view ends."
    : error.message;
  const again = el("button", { onclick: () => ((shown = { key: null }), show()) }, "Try again");
  const all = el("a", { href: "#/runs", class: "button" }, "All runs");
  const allow = () => go({ different: "1" });
  const incomparable = error.status === 200 && error.message.includes("--allow-different");
  put({
    key: null,
    title,
    nodes: [
      el("header.masthead", el("h1", title), el("p.standfirst", { role: "alert" }, sentence(advice))),
      el("div.tools", again, all, incomparable && el("button", { onclick: allow }, "Compare all the same")),
    ],
  });
  shown.key = "failed";
}

const MOVES = new Set(["j", "k", "[", "]"]); // that a key which is held does again and again; any other acts once

/** One key does one thing, unless it is typed into a field or goes to the browser. */
function press(event) {
  const typed = event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog");
  if (typed || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const act = shown.keys?.[event.key] ?? { "?": help, g: () => go({ screen: "runs" }) }[event.key];
  if (!act) return;
  event.preventDefault();
  if (!event.repeat || MOVES.has(event.key)) act();
}

function help() {
  const dialog = document.getElementById("keys");
  const list = Object.entries(KEYS).map(([keys, text]) => [
    el(
      "dt",
      keys.split(" ").map((key) => [el("kbd", key), " "]),
    ),
    el("dd", text),
  ]);
  dialog.querySelector("dl").replaceChildren(...list.flat());
  dialog.showModal();
}

await unlock();
addEventListener("hashchange", async () => {
  if (/(?:^#|&)token=/.test(location.hash)) await unlock();
  show();
});
addEventListener("keydown", press);
document.getElementById("help").addEventListener("click", help);
announce("");
show();
