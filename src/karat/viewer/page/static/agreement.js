// How far the scores of a run agree with people's labels, people with each other, and scores with other scores.

import { recall, Refused } from "./api.js";
import { axis, range, strip } from "./charts.js";
import { command, el, field, fill, scroll, select } from "./dom.js";
import * as format from "./format.js";
import { heading } from "./heading.js";
import { about, current, go } from "./state.js";
import { name, spec } from "./text.js";

const FIGURES = {
  accuracy: "accuracy", cohen_kappa: "Cohen's kappa", weighted_kappa: "weighted kappa", krippendorff_alpha: "Krippendorff's alpha",
  gwet_ac1: "Gwet's AC1", pearson: "Pearson's r", spearman: "Spearman's rho", kendall: "Kendall's tau-b", auroc: "AUROC",
};

export default async function open(state, page) {
  const tools = el("div", { class: "tools" });
  const body = el("div", {});
  const columns = await recall("columns", about(state)).catch(() => ({ columns: [] }));
  const update = async (next) => {
    const run = next.runs.includes(next.row) ? next.row : next.runs[0];
    const slices = columns.columns.filter((column) => column.slice).map((column) => [column.name, column.name]);
    fill(tools,
      next.runs.length > 1 ? field("Run", select(page.picked.map((each) => [each.id, each.name]), run, (id) => go({ row: id }, { replace: true }), { "data-key": "run" })) : null,
      slices.length ? field("Slices by", select([["", "none"], ...slices], next.by, (by) => go({ by }, { replace: true }), { "data-key": "by" })) : null);
    try {
      fill(body, whole(await recall("agreement", { run, by: next.by })));
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 400) throw error;
      fill(body, el("p", { class: "standfirst" }, name(error.message)));
    }
  };
  await update(current());
  return { title: "Agreement", nodes: [heading(page, "Do the scores agree with people?"), tools, body], update };
}

function whole({ agreement, corrected, command: text }) {
  const { pairs, verdicts, notes, labels, n, confidence } = agreement;
  return [
    verdicts.map(({ score, sentences }) => el("section", { class: "plain" }, el("h2", {}, name(score)), el("ul", { class: "sentences" }, sentences.map((each) => el("li", {}, name(each), "."))))),
    correctedValues(corrected),
    el("section", {}, el("h2", {}, "Coefficients"), coefficients(pairs)),
    confusions(pairs, labels),
    el("p", { class: "note" }, `${format.rows(n)} with labels, intervals of ${Math.round(confidence * 100)} %.`, notes.map((note) => [" ", name(note), "."])),
    command(text),
  ];
}

function coefficients(pairs) {
  const lines = pairs.flatMap((pair) => Object.entries(pair.figures).filter(([, figure]) => figure.value !== null).map(([key, figure], at) => ({ pair, key, figure, at })));
  if (!lines.length) return el("p", { class: "dim" }, "There are too few labels for any.");
  const scale = range(lines.flatMap(({ figure }) => [figure.value, figure.low, figure.high]), { zero: true, bounds: [-1, 1] });
  const heads = ["pair", "coefficient", "value", "interval", "rows"];
  return scroll("Coefficients", el("table", { class: "data forest coefficients" },
    el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", class: at > 1 ? "num" : null }, head)), el("th", { scope: "col", class: "strip" }, el("span", { class: "hidden-label" }, "plot")))),
    el("tbody", {}, lines.map(({ pair, key, figure, at }) => el("tr", {},
      el("th", { scope: "row" }, el("span", { class: at ? "hidden-label" : null }, spec(pair.first), " and ", spec(pair.second), pair.slice === null ? null : [", ", name(pair.slice)])),
      el("td", {}, FIGURES[key] ?? key),
      el("td", { class: "num" }, el("data", { value: figure.value }, figure.value.toFixed(3).replace("-", "−"))),
      el("td", { class: "num" }, format.interval(figure.low, figure.high, 1, (end) => (end === null ? "?" : end.toFixed(3).replace("-", "−")))),
      el("td", { class: "num" }, format.count(figure.n)),
      el("td", { class: "strip" }, strip({ point: figure.value, low: figure.low, high: figure.high }, scale, { zero: true }))))),
    el("tfoot", {}, el("tr", {}, el("td", { colspan: heads.length }), el("td", { class: "strip" }, axis(scale, 1))))));
}

/** How often each label met each other label. */
function confusions(pairs, labels) {
  const names = new Map(Object.entries(labels ?? {}).map(([label, score]) => [score, label]));
  const spell = (score) => names.get(score) ?? String(score);
  const known = pairs.filter((pair) => pair.confusion);
  if (!known.length) return null;
  return el("section", {}, el("h2", {}, "Who said what"), el("div", { class: "columns" }, known.map(({ first, second, slice, confusion }) => {
    const most = Math.max(...confusion.counts.flat(), 1);
    return el("figure", { class: "figure" }, el("figcaption", {}, name(first), " (down) by ", name(second), " (across)", slice === null ? null : [", ", name(slice)]),
      scroll(`Counts of ${first}, ${second}${slice === null ? "" : `, ${slice}`}`, el("table", { class: "data confusion" },
        el("thead", {}, el("tr", {}, el("td", {}), confusion.labels.map((each) => el("th", { scope: "col", class: "num" }, name(spell(each)))))),
        el("tbody", {}, confusion.counts.map((row, down) => el("tr", {}, el("th", { scope: "row" }, name(spell(confusion.labels[down]))),
          row.map((number, across) => el("td", { class: `num heat-${Math.ceil((4 * number) / most)}${down === across ? " same" : ""}` }, format.count(number)))))))));
  })));
}

function correctedValues(corrected) {
  const known = Object.entries(corrected ?? {}).filter(([, found]) => found && found.value !== null);
  if (!known.length) return null;
  return el("section", {}, el("h2", {}, "Values as people would give them"), scroll("Corrected values", el("table", { class: "data" },
    el("thead", {}, el("tr", {}, ["metric", "corrected by people", "interval"].map((head, at) => el("th", { scope: "col", class: at ? "num" : null }, head)))),
    el("tbody", {}, known.map(([spec, { value, low, high }]) => el("tr", {}, el("th", { scope: "row" }, name(spec)),
      el("td", { class: "num" }, el("data", { value }, format.value(value, 100))), el("td", { class: "num" }, format.interval(low, high, 100))))))));
}
