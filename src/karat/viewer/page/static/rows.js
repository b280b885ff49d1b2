// The rows: question, gold and answers side by side, by a filter, in an order, a page at a time.

import { post, recall } from "./api.js";
import { announce, command, complain, el, field, fill, select } from "./dom.js";
import { describe, facetFields, fieldTitle, histogramFields, panel } from "./facets.js";
import * as format from "./format.js";
import { heading, letterOf } from "./heading.js";
import { rowList, SIZE } from "./list.js";
import { about, conditionOn, current, go, same, withCondition } from "./state.js";
import { name, sentence } from "./text.js";

const MANY = 4; // systems that stand side by side; of more, the first and another one do

/** The numbers of the systems that are shown. */
function shownOf({ systems }, { other }) {
  if (systems.length <= MANY) return systems.map((_, at) => at);
  return [0, Math.min(Math.max(Number(other), 1), systems.length - 1)];
}

export default async function open(state, page) {
  const columns = await recall("columns", about(state));
  const where = panel(columns);
  const tools = el("div.tools");
  const chips = el("div.chips", { role: "group", "aria-label": "Filter" });
  const list = el("section.list", { "aria-labelledby": "rows-title" });
  let pending = null;
  let facetsOf = null;
  let focus = null; // which row gets the focus after the next page is drawn

  const draw = (answer, next, metric) => {
    if (!answer.rows.length && answer.total) return go({ from: 0 }, { replace: true }); // a page beyond the last one
    fill(chips, filterChips(next, columns, answer));
    fill(list, rowList(answer, columns, metric, next, shownOf(columns, next)), command(answer.command));
    list.removeAttribute("aria-busy");
    announce(`${format.count(answer.total)} of ${format.rows(answer.n)}`);
    if (focus)
      links()
        .at(focus === "last" ? -1 : 0)
        ?.focus();
    focus = null;
    return null;
  };
  /** The counts beside the rows: the first ones after the rows, which people read first; later ones at the same time. */
  const count = async (request, metric, signal) => {
    const shown = shownOf(columns, current());
    const counted = JSON.stringify([request.filter, metric?.spec, shown]);
    where.box.ariaBusy = counted === facetsOf ? null : "true";
    if (counted === facetsOf) return;
    const fields = facetFields(columns.facets, metric?.spec, shown);
    const histograms = metric ? histogramFields(metric.spec, shown) : [];
    const answer = await post("facets", { ...request, fields, histograms }, signal).catch(
      (error) => signal.aborted || where.fail(error.message),
    );
    if (signal.aborted) return;
    where.box.ariaBusy = null;
    if (!answer) return;
    facetsOf = counted;
    where.draw(answer, current());
  };
  const update = async (asked) => {
    pending?.abort();
    pending = new AbortController();
    const { signal } = pending;
    const named = columns.metrics.find((each) => each.spec === asked.metric);
    const metric = named ?? columns.metrics[0];
    if (asked.metric && !named) complain([...asked.unread, `metric=${asked.metric}`]);
    const sort = asked.sort === undefined ? firstOrder(metric, shownOf(columns, asked)) : asked.sort;
    const next = { ...asked, sort };
    fill(tools, settings(columns, metric, next));
    const request = { ...about(next), filter: next.filter };
    list.setAttribute("aria-busy", "true");
    const page = { sort: next.sort, offset: next.from, limit: SIZE };
    const rows = post("rows", { ...request, ...page }, signal);
    if (facetsOf === null) await rows.catch(() => null);
    count(request, metric, signal);
    draw(await rows, next, metric);
  };
  const links = () => [...list.querySelectorAll("a.open")];
  const move = (step) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step;
    if (all[next]) all[next].focus();
    else turnPage(step);
  };
  const turnPage = (step) => {
    const button = list.querySelector(step > 0 ? "[data-key=next]" : "[data-key=previous]");
    if (!button || button.disabled) return;
    focus = step > 0 ? "first" : "last";
    button.click();
  };
  await update(state);
  return {
    title: "Rows",
    nodes: [
      heading(page, columns.systems.length > 1 ? "Where do the answers differ?" : "Where does it go wrong?"),
      columns.notes.map((note) => el("p.note", sentence(note))),
      el("div.split", where.box, el("div.results", tools, chips, list)),
    ],
    update,
    keys: { j: () => move(1), k: () => move(-1), "]": () => turnPage(1), "[": () => turnPage(-1) },
    close: () => pending?.abort(),
  };
}

/** The order at first: where systems differ most, or the worst scores of the only one. */
function firstOrder(metric, [, second]) {
  if (!metric) return null;
  const { spec, direction } = metric;
  if (second === undefined) return { field: { kind: "score", metric: spec, system: 0 }, descending: direction === "minimize" };
  return { field: { kind: "size", metric: spec, system: second }, descending: true };
}

/** Saved views: the rows that got worse or better than in A, and those without a score, in the first order. */
function views({ systems }, metric, { filter }, [first, second]) {
  const of = systems.length > 2 ? ` of ${letterOf(second)}` : "";
  const outcome = { kind: "outcome", metric: metric.spec, system: second };
  const several = [
    ["Regressions", outcome, { op: "in", values: ["worse"] }],
    ["Fixes", outcome, { op: "in", values: ["better"] }],
    ["Unscored", outcome, { op: "in", values: ["unscored"] }],
  ];
  const one = [["Unscored", { kind: "score", metric: metric.spec, system: first }, { op: "missing", values: [] }]];
  const chips = (second === undefined ? one : several).map(([text, on, condition]) => {
    const chosen = same(conditionOn(filter, on), { field: on, ...condition });
    const show = () =>
      go({ filter: withCondition(current().filter, on, chosen ? null : condition), sort: undefined, from: 0 });
    return el("button.chip", { onclick: show, "aria-pressed": String(chosen), "data-key": `view ${text}` }, text + of);
  });
  return el("div.chips", { role: "group", "aria-label": "Views" }, chips);
}

/** What the list may be ordered by. */
function orders({ columns }, metric, [first, ...others]) {
  const of = (kind) => (system) => ({ kind, metric: metric.spec, system });
  const scores = metric
    ? [others.map(of("difference")), others.map(of("size")), [first, ...others].map(of("score"))]
    : [];
  const sortable = columns.filter((column) => column.sort).map((column) => ({ kind: "column", name: column.name }));
  return [...scores.flat(), { kind: "id" }, ...sortable];
}

function settings(columns, metric, state) {
  const { systems, metrics } = columns;
  const shown = shownOf(columns, state);
  const fields = orders(columns, metric, shown);
  const at = fields.findIndex((each) => same(each, state.sort?.field));
  const { descending = false } = state.sort ?? {};
  const order = (on, down) => go({ sort: on && { field: on, descending: down }, from: 0 }, { replace: true });
  const names = fields.map((each, place) => [String(place), fieldTitle(each, systems)]);
  const pick = (place) => order(fields[place] ?? null, Boolean(fields[place]?.metric));
  const flip = () => order(fields[at], !descending);
  return [
    metrics.length > 0 && field("Metric", metricChoice(metrics, metric, state)),
    shown.length < systems.length && field("Beside A", otherChoice(systems, shown)),
    field(
      "Order",
      select([["-1", systems.length > 1 ? "as in A" : "as in the run"], ...names], String(at), pick, {
        "data-key": "order",
      }),
    ),
    at >= 0 && el("button", { "data-key": "flip", onclick: flip }, descending ? "Largest first ↓" : "Smallest first ↑"),
    metric && views(columns, metric, state, shown),
  ];
}

/** Which of many systems stands beside the first; what is said of the last one is left behind. */
function otherChoice(systems, [, shown]) {
  const names = systems.map(({ name: text }, at) => [String(at), `${letterOf(at)} ${text}`]).slice(1);
  const pick = (other) => {
    const filter = current().filter.filter(({ field: { system } }) => !system);
    go({ other, filter, sort: undefined, from: 0 }, { replace: true });
  };
  return select(names, String(shown), pick, { "data-key": "other" });
}

/** Another metric takes the order with it, and leaves behind the conditions on the scores of the last one. */
function metricChoice(metrics, metric, state) {
  const specs = metrics.map((each) => [each.spec, each.spec]);
  const pick = (spec) => {
    const kept = ({ field: { metric: own, kind } }) => !own || own === spec || kind === "label";
    const sort = state.sort?.field?.metric
      ? { ...state.sort, field: { ...state.sort.field, metric: spec } }
      : state.sort;
    go({ metric: spec, filter: state.filter.filter(kept), sort, from: 0 }, { replace: true });
  };
  return select(specs, metric.spec, pick, { "data-key": "metric" });
}

function filterChips({ filter }, { systems, metrics }, { total, n }) {
  const keep = (kept) => () => go({ filter: current().filter.filter(kept), from: 0 });
  const chips = filter.map((condition, at) => {
    const { scale = 1 } = metrics.find((each) => each.spec === condition.field.metric) ?? {};
    const other = (each) => !same(each.field, condition.field);
    const cross = [el("span", { "aria-hidden": "true" }, " ×"), el("span.hidden-label", ", remove")];
    const text = name(describe(condition, systems, scale));
    return el("button.chip", { onclick: keep(other), "data-key": `chip ${at}` }, text, cross);
  });
  const count = filter.length ? `${format.count(total)} of ${format.rows(n)}` : format.rows(n);
  const clear = el("button.chip", { onclick: keep(() => false), "data-key": "clear" }, "Show all rows");
  return [el("h2.count", { id: "rows-title" }, count), chips, chips.length > 0 && clear];
}
