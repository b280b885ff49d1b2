// Which rows: what rows have in common: counts of values to pick from, and histograms of scores and differences to brush.

import { histogram } from "./charts.js";
import { command, delayed, el, field, fill, svg } from "./dom.js";
import * as format from "./format.js";
import { letterOf } from "./heading.js";
import { outcomeBar, scoreBar } from "./outcomes.js";
import { conditionOn, current, go, withCondition } from "./state.js";
import { name, sentence } from "./text.js";

const FEW = 7; // values of a facet that are shown at first
const unfolded = new Set();

/** Replace the condition on a field; the list starts again at its first row. Back undoes it, but not letter by letter. */
const filterBy = (changed, condition) => {
  const { filter } = current();
  const typed = condition?.op === "contains" && conditionOn(filter, changed);
  go({ filter: withCondition(filter, changed, condition), from: 0 }, { replace: Boolean(typed) });
};

/** The histograms of a metric: a score for each of these systems, and a difference for each but the first. */
export const histogramFields = (metric, [first, ...others]) => [
  ...[first, ...others].map((system) => ({ kind: "score", metric, system })),
  ...others.map((system) => ({ kind: "difference", metric, system })),
];

const ORDER = ["column", "outcome", "label", "reason"];

/** The facets of these systems to count, columns first; outcomes are of one metric. */
export const facetFields = (facets, metric, shown) =>
  facets
    .filter((each) => each.kind !== "outcome" || each.metric === metric)
    .filter(({ system }) => system === undefined || shown.includes(system))
    .sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind));

/** What a field is called. */
export function fieldTitle({ kind, name: column, system, metric }, systems) {
  const own = system === undefined ? "" : letterOf(system);
  const who = own && systems.length > 1 ? ` of ${own}` : "";
  const pair = `${own} − A`;
  const titles = {
    column,
    id: "id",
    text: "text",
    score: `score${who}`,
    difference: `difference, ${pair}`,
    size: `size of the difference, ${pair}`,
    outcome: `${own} against A`,
    reason: `unscored because${who}`,
    label: `label by ${metric}${who}`,
  };
  return titles[kind];
}

/** A condition in words. */
export function describe({ field: on, op, values }, systems, scale) {
  const title = fieldTitle(on, systems);
  const spell = (value) => (value === null ? "no value" : value);
  if (op === "in") return `${title}: ${values.map(spell).join(" or ")}`;
  if (op === "contains") return `${title} contains “${values[0]}”`;
  if (op === "missing") return `${title}: none`;
  const ends = values.map((value) => (value === null ? null : Number((value * scale).toPrecision(4))));
  if (ends[0] === null) return `${title} ${op === "range" ? "below" : "at most"} ${ends[1]}`;
  return ends[1] === null
    ? `${title} at least ${ends[0]}`
    : `${title} ${ends[0]} to ${op === "range" ? "below " : ""}${ends[1]}`;
}

/** The panel; `draw(answer, state)` fills it, `fail(message)` says why it cannot be filled. */
export function panel(columns) {
  const search = el("input", {
    type: "search",
    "data-key": "contains",
    oninput: delayed(() =>
      filterBy({ kind: "text" }, search.value ? { op: "contains", values: [search.value] } : null),
    ),
  });
  const charts = el("div.charts");
  const lists = el("div.facets");
  const box = el(
    "details.where",
    { open: matchMedia("(min-width: 60rem)").matches },
    el("summary", el("h2", { id: "where" }, "Which rows?")),
    field("Question, gold or answer contains", search),
    charts,
    lists,
  );
  const draw = (answer, state) => {
    const wanted = conditionOn(state.filter, { kind: "text" })?.values[0] ?? "";
    if (document.activeElement !== search) search.value = wanted;
    const typed = charts.querySelector("input:focus"); // what is half typed is left alone
    if (!typed || typed.value === typed.defaultValue)
      fill(
        charts,
        answer.histograms.map((each) => chart(each, columns, state)),
      );
    fill(
      lists,
      answer.facets
        .filter((each) => each.values.length > 1 || conditionOn(state.filter, each.field))
        .map((each) => facet(each, columns, state, () => draw(answer, current()))),
      command(answer.command, "The same counts in a terminal"),
    );
  };
  const fail = (message) => {
    fill(charts, el("p.note", { role: "alert" }, sentence(message)));
    fill(lists);
  };
  return { box, draw, fail };
}

function chart(counts, { systems, metrics }, state) {
  const { scale } = metrics.find((metric) => metric.spec === counts.field.metric);
  const condition = conditionOn(state.filter, counts.field);
  const pick = (ends, op) => filterBy(counts.field, ends && { op, values: ends });
  if (counts.binary && counts.field.kind === "difference") return null; // the outcomes below say it
  const draw = counts.binary ? scoreBar : histogram;
  return draw(counts, {
    title: fieldTitle(counts.field, systems),
    scale,
    picked: condition?.values.length ? condition.values : null,
    pick,
    key: JSON.stringify(counts.field),
  });
}

function facet({ field: on, values, more }, { systems }, state, again) {
  const key = JSON.stringify(on);
  const picked = conditionOn(state.filter, on)?.values ?? [];
  const most = Math.max(...values.map((value) => value.all), 1);
  const toggle = (value) => {
    const now = conditionOn(current().filter, on)?.values ?? []; // a quick hand is ahead of what is drawn
    const next = now.includes(value) ? now.filter((each) => each !== value) : [...now, value];
    filterBy(on, next.length ? { op: "in", values: next } : null);
  };
  const shown = unfolded.has(key) ? values : values.filter((value, at) => at < FEW || picked.includes(value.value));
  const lines = shown.map(({ value, all, kept }) => {
    const box = el("input", {
      type: "checkbox",
      checked: picked.includes(value),
      onchange: () => toggle(value),
      "data-key": `${key} ${value}`,
    });
    const bars = svg(
      "svg.plot.share",
      { height: 4, "aria-hidden": "true" },
      svg("rect.bar", { width: `${(100 * all) / most}%`, height: 4 }),
      svg("rect.bar-part", { width: `${(100 * kept) / most}%`, height: 4 }),
    );
    const shownValue =
      value === null ? el("span.dim", "no value") : value === "" ? el("span.dim", "empty") : name(value);
    return el(
      "li",
      el(
        "label",
        box,
        el("span.value", shownValue),
        el("span.num", format.count(kept), el("span.dim", ` of ${format.count(all)}`)),
      ),
      bars,
    );
  });
  const keptOf = (outcome) => values.find(({ value }) => value === outcome)?.kept ?? 0;
  const rest = values.length - shown.length;
  const unfold = () => (unfolded.add(key), again());
  return el(
    "fieldset",
    el("legend", name(fieldTitle(on, systems))),
    on.kind === "outcome" && outcomeBar(...["better", "worse", "same"].map(keptOf)),
    el("ul", { "data-scroll": key }, lines),
    rest > 0 ? el("button.chip", { onclick: unfold, "data-key": `${key} more` }, `${format.count(rest)} more`) : null,
    more && !rest ? el("p.note", `and ${format.count(more)} rarer values`) : null,
  );
}
