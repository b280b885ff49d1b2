// All runs: a table to pick from, and how values went over time.

import { allRuns, recall } from "./api.js";
import { trend } from "./charts.js";
import { announce, command, delayed, el, field, fill, scroll, select } from "./dom.js";
import * as format from "./format.js";
import { letter } from "./heading.js";
import { about, address, current, go } from "./state.js";
import { name, spec } from "./text.js";

const OFTEN = 2000; // milliseconds between two looks while a run is written
const SELDOM = 10_000; // and while none is

export default async function open(state, page) {
  const table = el("div");
  const trends = el("div");
  const bar = el("div.tools.pick", { role: "group", "aria-label": "Picked runs" });
  const search = el("input", {
    type: "search",
    value: state.find,
    oninput: delayed(() => go({ find: search.value }, { replace: true })),
  });
  let last = page;
  let speed = {};
  let timer;
  let closed = false;
  const draw = (now) => {
    fill(table, runTable(last, now, speed));
    fill(trends, trendSection(last, now));
    fill(bar, picked(last, now));
  };
  const look = async () => {
    const next = document.hidden ? last : await allRuns().catch(() => last);
    if (closed) return;
    if (JSON.stringify(next) !== JSON.stringify(last)) {
      speed = rates(last, next, speed);
      last = next;
      draw(current());
    }
    wait();
  };
  const wait = () => (timer = setTimeout(look, last.runs.some((run) => run.state === "running") ? OFTEN : SELDOM));
  draw(state);
  wait();
  const finished = page.runs.filter((run) => run.state === "finished").length;
  return {
    title: "Runs",
    nodes: [
      el(
        "header.masthead",
        el("h1", "Runs"),
        el(
          "p.standfirst",
          page.runs.length
            ? `${format.count(finished)} finished ${finished === 1 ? "run" : "runs"} in this folder. Pick one to see how good it is, or several to see which is better: each is compared with the first that you pick.`
            : "There is no run in this folder yet. karat score with --run NAME keeps one.",
        ),
      ),
      el("div.tools", field("Find by name", search)),
      bar,
      table,
      trends,
      command(page.command),
    ],
    update: (next) => {
      draw(next);
      if (next.runs.length) recall("columns", about(next)).catch(() => {}); // large runs take a moment to match: begin now
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Rows a second of each run that is being written. */
function rates(before, after, known) {
  const rows = new Map(before.runs.map((run) => [run.id, run.n]));
  const speed = (run) => (run.n > rows.get(run.id) ? (run.n - rows.get(run.id)) / (OFTEN / 1000) : known[run.id]);
  return Object.fromEntries(after.runs.filter((run) => run.state === "running").map((run) => [run.id, speed(run)]));
}

function runTable(page, state, speed) {
  const counts = Map.groupBy(
    page.runs.flatMap((run) => run.metrics),
    (metric) => metric.spec,
  );
  const specs = [...counts].sort(([, one], [, other]) => other.length - one.length).map(([each]) => each);
  const missing = new Set([...counts].filter(([, all]) => all.some(({ unscored }) => unscored > 0)).map(([each]) => each));
  const wanted = state.find.toLowerCase();
  const { by = "created", descending = true } = state.sort ?? {};
  const kept = page.runs.filter((run) => run.name.toLowerCase().includes(wanted));
  kept.sort((one, other) => order(sortKey(one, by), sortKey(other, by)) * (descending ? -1 : 1));
  announce(`${kept.length} of ${page.runs.length} runs`);
  const heads = [
    ["name", "Run"],
    ["created", "Begun (UTC)"],
    ["n", "Rows"],
    ...specs.map((each) => [each, spec(each)]),
  ];
  const head = ([key, text]) => {
    const sorted = key !== by ? null : descending ? "descending" : "ascending";
    const flip = () =>
      go({ sort: { by: key, descending: key === by ? !descending : key !== "name" } }, { replace: true });
    const numeric = key !== "name" && key !== "created";
    return el(
      "th",
      { scope: "col", "aria-sort": sorted, class: numeric ? "num" : null },
      el("button", { onclick: flip, "data-key": `sort ${key}` }, text),
    );
  };
  if (!kept.length) return page.runs.length ? el("p.dim", "No run has this name.") : null;
  return scroll(
    "All runs",
    el(
      "table.data.runs",
      el("thead", el("tr", el("th", { scope: "col" }, el("span.hidden-label", "Pick")), heads.map(head))),
      el(
        "tbody",
        kept.map((run) => line(run, specs, missing, state, speed)),
      ),
    ),
  );
}

const order = (one, other) => (one === other ? 0 : one === null ? -1 : other === null ? 1 : one < other ? -1 : 1);

function sortKey(run, by) {
  if (by === "name" || by === "created" || by === "n") return run[by] ?? null;
  return run.metrics.find((metric) => metric.spec === by)?.value ?? null;
}

function line(run, specs, missing, state, speed) {
  const readable = run.state === "finished";
  const at = state.runs.indexOf(run.id);
  const toggle = () =>
    go({ runs: at < 0 ? [...state.runs, run.id] : state.runs.filter((id) => id !== run.id) }, { replace: true });
  const full = at < 0 && state.runs.length >= 8;
  const box = el("input", {
    type: "checkbox",
    checked: at >= 0,
    disabled: !readable || full,
    onchange: toggle,
    "data-key": `run ${run.id}`,
    "aria-label": `Pick ${run.name}`,
  });
  const cells = specs.map((spec) => valueCell(run.metrics.find((metric) => metric.spec === spec), missing.has(spec)));
  const link = readable
    ? el("a", { href: address({ screen: "compare", runs: [run.id] }), "data-key": `open ${run.id}` }, name(run.name))
    : name(run.name);
  return el(
    "tr",
    { class: at >= 0 ? "picked" : null },
    el("td", box, at >= 0 && letter(at)),
    el("th", { scope: "row" }, link, standing(run, speed[run.id])),
    el("td.when", format.time(run.created)),
    el("td.num", format.count(run.n)),
    cells,
  );
}

/** The value of a metric; `room`: beside it stands, in some runs, how many rows are unscored. */
function valueCell(metric, room) {
  if (!metric || metric.value === null) return el("td.num.dim", metric ? "–" : "");
  const { value, low, high, scale, scored, unscored, not_asked: left, n } = metric;
  const title = `${format.interval(low, high, scale)}; ${format.count(scored)} of ${format.rows(n)} scored${left ? `; a rule left out ${format.rows(left)}` : ""}`;
  const missing = room && el("small.dim", unscored > 0 && `${format.count(unscored)} unscored`);
  const out = left > 0 && el("small.dim", `${format.count(left)} not asked`);
  return el("td.num", { title }, el("data", { value }, format.value(value, scale)), " ", missing, out);
}

/** The state of a run that is not finished. */
function standing(run, rate) {
  if (run.state === "finished") return null;
  if (run.state !== "running") return el("p.reason", name([run.problem ?? run.state, run.asking].filter(Boolean).join("; ")));
  const parts = [run.asking || (run.n ? `being written: ${format.rows(run.n)}` : "begun")];
  if (rate) parts.push(`${format.count(Math.round(rate))} a second`);
  parts.push(...asked(run.models));
  return el("p.note", parts.join(", "));
}

/** What models were used for, so far. */
function asked(models) {
  if (!models) return [];
  const { calls, failed, cost } = models;
  return [`${format.count(calls)} calls`, `${format.count(failed)} failed`, ...(cost ? [`$${cost.toFixed(4)}`] : [])];
}

function picked(page, state) {
  const names = state.runs.map((id) => page.runs.find((run) => run.id === id)?.name).filter(Boolean);
  if (!names.length) return null;
  const text = names.length === 1 ? "How good is it?" : names.length === 2 ? "Is B better?" : "Are they better?";
  const shown = names.map((each, at) => [at ? " · " : "", letter(at), " ", name(each)]);
  const link = (kind, screen, label) =>
    el(kind, { href: address({ screen, runs: state.runs }), "data-key": screen }, label);
  const button = (label, runs) =>
    el("button", { "data-key": label, onclick: () => go({ runs }, { replace: true }) }, label);
  return [
    el("span", shown),
    link("a.button.first", "compare", text),
    link("a.button", "rows", "See the rows"),
    names.length === 2 && button("Swap", state.runs.toReversed()),
    button("Pick none", []),
  ];
}

/** The name of a run without the date or the time at its end, and that end; model-2 is another system than model-1. */
function splitName(text) {
  const end = /^(.*?\p{L}.*?)[-_. @+]*(\d{4}([-_.]?)\d{2}\3\d{2}(?:[-_.:T]?\d+)*Z?)$/u.exec(text);
  return end ? [end[1], end[2]] : [text, text];
}

function trendSection(page, state) {
  const series = Map.groupBy(
    page.runs.filter((run) => run.state === "finished"),
    (run) => splitName(run.name)[0],
  );
  const long = [...series].filter(([, runs]) => runs.length > 1);
  if (!long.length) return null;
  const stem = long.some(([each]) => each === state.series)
    ? state.series
    : long.toSorted((one, other) => other[1].length - one[1].length)[0][0];
  const runs = series
    .get(stem)
    .toSorted((one, other) => order(one.created, other.created) || order(one.name, other.name));
  const specs = [...new Set(runs.flatMap((run) => run.metrics.map((metric) => metric.spec)))];
  const charts = specs.map((spec) => {
    const points = runs.flatMap((run) => {
      const metric = run.metrics.find((each) => each.spec === spec);
      const [, short] = splitName(run.name);
      const href = address({ screen: "compare", runs: [run.id] });
      return metric && metric.value !== null ? [{ ...metric, label: run.name, short, href }] : [];
    });
    const scale = points[0]?.scale ?? 1;
    const bounds = scale === 100 ? [0, 1] : [null, null];
    return points.length > 1 ? trend(points, { title: spec, scale, bounds }) : null;
  });
  const choose = select(
    long.map(([each, { length }]) => [each, `${each} (${length} runs)`]),
    stem,
    (value) => go({ series: value }, { replace: true }),
    { "data-key": "series" },
  );
  return el(
    "section",
    { "aria-labelledby": "trend" },
    el("h2", { id: "trend" }, "Over time"),
    el(
      "p.note",
      "Runs of one system, whose names differ only in a date at the end, in the order in which they were begun, with their intervals.",
    ),
    long.length > 1 ? el("div.tools", field("Series", choose)) : null,
    el("div.columns", charts.filter(Boolean)),
  );
}
