// The report: the screens of the page about these runs, one below the other. What is chosen stands in the address, so that
// a link or a reload shows the same. It takes the place of main.js.

import { data } from "./api.js";
import { spread } from "./charts.js";
import { complain, el } from "./dom.js";
import * as format from "./format.js";
import { fieldTitle } from "./facets.js";
import { letter } from "./heading.js";
import { outcomeBar } from "./outcomes.js";
import { begin, current } from "./state.js";
import { name, sentence } from "./text.js";
import compare from "./compare.js";
import provenance from "./provenance.js";
import row from "./row.js";
import rows from "./rows.js";

const { systems, metrics } = data.columns;
const page = { picked: systems, report: true, undrawn: !data.curves };
const content = document.getElementById("content");
const FEW = 4; // systems whose scores are drawn at first
let shown = { of: null, screens: [] };

begin({ runs: systems.map(({ id }) => id), by: data.by });

const part = (id, { nodes }, ...before) => el("section.part", { id }, nodes[0], before, nodes.slice(1));

/** How many rows have which score, and which difference from the first system: of all rows of the runs. */
function distributions() {
  const drawn = metrics.map(({ spec, scale, direction }) => {
    const own = data.spread.filter(({ field }) => field.metric === spec);
    const figures = own.map((counts) => (counts.binary ? outcomesOf(counts) : spread(counts, { title: titleOf(counts), scale, sides: sidesOf(counts, direction) })));
    const there = figures.filter(Boolean);
    return there.length > 0 && [el("h3", name(spec)), el("div.columns.spread", there)];
  });
  if (!drawn.some(Boolean)) return null;
  return el(
    "section.part",
    { id: "spread" },
    el("details", { open: systems.length <= FEW }, el("summary", el("h2", "How scores are spread")), drawn),
  );
}

/** Of scores that are 0 or 1: the rows won, tied and lost; the scores themselves are the values above. */
function outcomesOf(counts) {
  const found = counts.field.kind === "difference" && findingOf(counts.field);
  if (!found) return null;
  return el("figure.figure", el("figcaption", titleOf(counts)), outcomeBar(found.wins, found.losses, found.ties));
}

const findingOf = ({ metric, system }) =>
  data.compare.compared.findings.find((each) => each.metric === metric && each.system === systems[system].name && each.slice === null);

function titleOf({ field, missing }) {
  const without = missing.all ? `; ${format.count(missing.all)} without` : "";
  if (field.kind === "score") return `${systems[field.system].name}: rows by score${without}`;
  const found = findingOf(field);
  const counts = found ? `: rows won ${found.wins}, lost ${found.losses}; tied ${found.ties}` : "";
  return `${fieldTitle(field, systems)}${counts}${without}`;
}

const sidesOf = ({ field }, direction) =>
  field.kind === "difference" && (direction === "minimize" ? ["better", "worse"] : ["worse", "better"]);

async function open(of, state) {
  if (of === "row") return { screens: [await row(state, page)], nodes: ({ screens: [{ nodes }] }) => nodes };
  const screens = await Promise.all([compare, rows, provenance].map((screen) => screen(state, page)));
  const notes = data.notes.map((note) => el("p.note", sentence(note)));
  const nodes = () => [
    systems.length > 1 && el("p.kicker", systems.map((system, at) => el("span.system", letter(at), " ", name(system.name)))),
    el("div", { id: "compare" }, screens[0].nodes.slice(1)),
    distributions(),
    part("rows", screens[1], notes),
    part("provenance", screens[2]),
  ];
  return { screens, nodes };
}

async function show() {
  const state = current();
  complain(state.unread);
  const of = state.screen === "row" ? "row" : "report";
  const before = document.getElementById(state.screen);
  if (of === shown.of) {
    for (const screen of shown.screens) await screen.update?.(state);
    if (state.screen !== last) before?.scrollIntoView();
  } else {
    const opened = await open(of, state);
    content.replaceChildren(...opened.nodes(opened).flat(Infinity).filter(Boolean));
    shown = { of, screens: opened.screens };
    document.getElementById(state.screen)?.scrollIntoView();
  }
  last = state.screen;
}

let last = "runs";
addEventListener("hashchange", show);
await show();
