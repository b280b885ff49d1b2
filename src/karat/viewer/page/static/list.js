// The table of a page of rows: the question and the gold, what each system answered, its score, and the difference.

import { el } from "./dom.js";
import * as format from "./format.js";
import { letter, letterOf } from "./heading.js";
import { address, go, same } from "./state.js";
import { line, table } from "./tables.js";
import { name, texts, words } from "./text.js";

export const SIZE = 50; // rows on a page
const MARKS = () =>
  el("p.note", el("mark", "Marked"), " words are not in the gold; where most are not, those that ", el("mark.matches", "are"), " in it.");
const GOLDS = 5; // gold answers of a row that are shown

/**
 * The rows of an answer of the server, with what turns the page. `metric`: whose scores are shown; there may be none.
 * `shown`: the numbers of the systems whose answers are.
 */
export function rowList(answer, { systems, metrics }, metric, state, shown) {
  if (!answer.rows.length) return el("p.dim", "No row fits the filter.");
  const place = metrics.indexOf(metric);
  const pair = shown.length === 2 && Boolean(metric);
  const of = (kind, system) => ({ kind, metric: metric?.spec, system });
  const heads = shown.map((at) =>
    sortable(of("score", at), [systems.length > 1 && [letter(at), " "], name(systems[at].name)], state),
  );
  if (pair) heads.push(sortable(of("difference", shown[1]), `${letterOf(shown[1])} − A`, state));
  const lines = answer.rows.map((row, at) => {
    const cells = shown.map((system) =>
      el("td", { "data-label": systems[system].name }, answerCell(row.answers[system], metric, place, pair)),
    );
    if (pair) cells.push(el("td.num", change(row.answers[shown[1]].differences[place], metric)));
    return line(
      rowHead(row, address({ ...state, screen: "row", from: 0, row: row.id, at: answer.offset + at })),
      cells,
    );
  });
  return [MARKS(), table("rows", ["Question and gold", ...heads], lines), pager(answer)];
}

/** The head of a column by which the list can be sorted, where it has numbers. */
function sortable(on, text, { sort }) {
  if (!on.metric) return el("th", { scope: "col" }, text);
  const sorted = same(on, sort?.field) ? (sort.descending ? "descending" : "ascending") : null;
  const flip = () => go({ sort: { field: on, descending: sorted !== "descending" }, from: 0 }, { replace: true });
  const button = el("button", { onclick: flip, "data-key": `head ${on.kind} ${on.system}` }, text);
  return el(on.kind === "difference" ? "th.num" : "th", { scope: "col", "aria-sort": sorted }, button);
}

function rowHead({ id, question, reference }, href) {
  const title = question?.length ? words(question, null) : el("p.text", "row ", name(id));
  const golds = reference.slice(0, GOLDS).map((each, at) => [at > 0 && el("span.dim", " or "), words(each, null)]);
  const more = reference.length > GOLDS && el("span.dim", ` and ${format.count(reference.length - GOLDS)} more`);
  return [
    el("a.open", { href, "data-key": `row ${id}` }, title),
    golds.length > 0 && el("div.gold", el("span.dim", "gold "), golds, more),
  ];
}

/** A score with what a judge said, and the answer; the difference too where it has no column of its own. */
function answerCell({ answer, scores, differences, labels, reason }, metric, place, pair) {
  const score = scores[place] ?? null;
  const shown =
    score === null ? el("span.dim", "unscored") : el("data.score", { value: score }, format.value(score, metric.scale));
  const difference = differences[place] ?? null;
  const parts = [
    shown,
    !pair && difference !== null && change(difference, metric),
    labels[place] && name(labels[place]),
  ];
  return [metric && el("div.row-head", parts), texts(answer), score === null && reason && el("p.reason", name(reason))];
}

/** A difference with its sign and its colour; its title says which is better. */
export function change(difference, { direction, scale }) {
  if (difference === null || difference === undefined) return "–";
  const good = direction === "minimize" ? -difference : difference;
  const verdict = good > 0 ? "better" : good < 0 ? "worse" : "same";
  const shown = el("data", { value: difference }, format.difference(difference, scale));
  return el(`span.verdict.${verdict}`, { title: verdict }, shown);
}

function pager({ total, offset, rows }) {
  const to = (key, from, text) =>
    el("button", { "data-key": key, disabled: from < 0 || from >= total, onclick: () => go({ from }) }, text);
  const range = `rows ${format.count(offset + 1)} to ${format.count(offset + rows.length)} of ${format.count(total)}`;
  return el(
    "nav.tools",
    { "aria-label": "Pages" },
    to("previous", offset ? Math.max(0, offset - SIZE) : -1, "← Previous"),
    el("span.count", range),
    to("next", offset + SIZE, "Next →"),
  );
}
