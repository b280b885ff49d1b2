// Three or more systems: a leaderboard of systems and metrics, the ranking of each metric, and all pairs.

import { el, scroll } from "./dom.js";
import * as format from "./format.js";
import { cell, figures, forest, intervalOf, line, number, table } from "./tables.js";
import { name, spec } from "./text.js";

const LETTERS = "Systems that share a letter do not differ significantly, with the tests of all pairs corrected together (Holm).";

/** The systems in the order of the first metric, with their value, interval and letters by each; behind it the details. */
export function leaderboard({ ranked: { rankings, confidence }, p_shown: shown }, display) {
  const scales = rankings.map(({ metric }) => display[metric]?.scale ?? 1);
  const lines = rankings[0].systems.map(({ system }) =>
    line(
      name(system),
      rankings.map(({ systems }, at) => standing(systems.find((each) => each.system === system), scales[at])),
    ),
  );
  const heads = ["system", ...rankings.map(({ metric }) => spec(metric))];
  return el(
    "section",
    el("h2", "Leaderboard"),
    scroll("Leaderboard", table("leaderboard", heads, lines)),
    el("p.note", `Each value with its ${intervalOf(confidence)} and letters. ${LETTERS}`),
    el("details", el("summary", "Ranks"), rankings.map((each, at) => ranks(each, scales[at], confidence))),
    shown.some((each) => each.length) &&
      el("details", el("summary", "All pairs"), rankings.map((each, at) => pairs(each, shown[at], scales[at], confidence))),
  );
}

function standing({ value, low, high, groups, rank }, scale) {
  const letters = el("span.groups", groups.join(""));
  const shown = value === null ? "–" : el("data", { value }, format.value(value, scale));
  return el(rank === 1 ? "td.num.best" : "td.num", shown, " ", letters, el("small.dim", format.interval(low, high, scale)));
}

/** The systems in the order of a metric. */
function ranks({ metric, systems }, factor, confidence) {
  const heads = ["system", "groups", "value", intervalOf(confidence), "rank", "possible ranks", "missing"];
  const lines = systems.map(({ system, groups, value, low, high, rank, rank_low: least, rank_high: most, missing }) => ({
    head: name(system),
    cells: [
      cell(groups.join("")),
      number(value, format.value(value, factor)),
      figures(format.interval(low, high, factor)),
      figures(String(rank)),
      figures(least === most ? String(least) : `${least} to ${most}`),
      figures(missing ? format.count(missing) : ""),
    ],
    ...{ point: value, low, high },
  }));
  return [
    el("h3", "Ranking by ", name(metric)),
    forest(`Ranking by ${metric}`, heads, lines, { factor, bounds: factor === 100 ? [0, 1] : undefined }),
  ];
}

/** Every pair, the better system first. */
function pairs({ metric, pairs: all }, shown, factor, confidence) {
  const heads = ["better", "worse", "difference", `single ${intervalOf(confidence)}`, "p, Holm"];
  const lines = all.map(({ system, other, difference, low, high, p_adjusted: p, separated }, at) => ({
    head: name(system),
    cells: [
      cell(name(other)),
      number(difference, format.difference(difference, factor)),
      figures(format.interval(low, high, factor, format.difference)),
      number(p, shown[at]),
    ],
    ...{ point: difference, low, high, verdict: separated ? "better" : "unclear" },
  }));
  return [el("h3", "Pairs by ", name(metric)), forest(`Pairs by ${metric}`, heads, lines, { zero: true, factor })];
}
