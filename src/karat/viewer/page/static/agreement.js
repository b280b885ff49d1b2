// How far the scores of a run agree with people's labels, people with each other, and scores with other scores.

import { recall, Refused } from "./api.js";
import { curves } from "./curves.js";
import { command, el, field, fill, scroll, select } from "./dom.js";
import * as format from "./format.js";
import { heading } from "./heading.js";
import { about, current, go } from "./state.js";
import { cell, figures, forest, line, number, table } from "./tables.js";
import { name, sentence, spec } from "./text.js";

const COEFFICIENTS = {
  accuracy: "accuracy",
  cohen_kappa: "Cohen's kappa",
  weighted_kappa: "weighted kappa",
  krippendorff_alpha: "Krippendorff's alpha",
  gwet_ac1: "Gwet's AC1",
  pearson: "Pearson's r",
  spearman: "Spearman's rho",
  kendall: "Kendall's tau-b",
  auroc: "AUROC",
};
const NO_LABELS =
  "There are no labels by people. karat view --labels FILE --label-map good=1,bad=0 reads a file of them, or starts one.";

export default async function open(state, page) {
  const tools = el("div.tools");
  const body = el("div");
  const columns = await recall("columns", about(state)).catch(() => ({ columns: [] }));
  const slices = columns.columns.filter((column) => column.slice).map((column) => [column.name, column.name]);
  const runs = page.picked.map((run) => [run.id, run.name]);
  const choice = (key, options, value) =>
    select(options, value, (picked) => go({ [key]: picked }, { replace: true }), { "data-key": key });
  const update = async (next) => {
    const run = next.runs.includes(next.row) ? next.row : next.runs[0];
    fill(
      tools,
      runs.length > 1 && field("Run", choice("row", runs, run)),
      slices.length > 0 && field("Slices by", choice("by", [["", "none"], ...slices], next.by)),
    );
    const answer = page.labels ? await recall("agreement", { runs: [run], by: next.by }).catch(reason) : { reason: NO_LABELS };
    fill(body, whole(answer));
  };
  await update(current());
  return { title: "Agreement", nodes: [heading(page, "Do the scores agree with people?"), tools, body], update };
}

/** Why there is nothing to show. */
function reason(error) {
  if (!(error instanceof Refused) || error.status !== 200) throw error;
  return { reason: error.message };
}

function whole({ agreement, corrected, display, command: text, reason: why }) {
  if (!agreement) return [el("p.standfirst", sentence(why)), command(text)];
  const { pairs, judges, notes, labels, n, confidence } = agreement;
  return [
    judges.map((judge) => headline(judge)),
    correctedValues(corrected, display),
    el("details.section", el("summary", el("h2", "All coefficients")), coefficients(pairs)),
    confusions(pairs, labels),
    el(
      "p.note",
      `${format.rows(n)} with labels, intervals of ${format.percent(confidence)}.`,
    ),
    notes.map((note) => el("p.note", sentence(note))),
    command(text),
  ];
}

/** A score's figure of agreement with people, large; what was found about it, and its reliability diagram, are folded. */
function headline({ score, sentences, people }) {
  const list = sentences.map((each) => el("li", name(each.startsWith(score) ? each : capital(each)), "."));
  const told = el("ul.sentences", list);
  if (!people) return el("section.plain", el("h2", name(score)), told);
  const { value, low, high } = people.value;
  const shown = value === null ? "–" : el("data", { value }, format.coefficient(value));
  return el(
    "section.plain",
    el("h2", name(score)),
    el(
      "p.standfirst",
      el("strong", shown),
      ` ${COEFFICIENTS[people.figure] ?? people.figure} with people`,
      value !== null && `, ${format.interval(low, high, 1, format.coefficient)}, on ${format.rows(people.labelled)}`,
    ),
    el("details", el("summary", "In words"), told),
    people.calibration && el("details", el("summary", "Reliability"), reliability(people.calibration)),
  );
}

/** The mean label that people gave to rows by their score: on the diagonal where the scores are calibrated. */
function reliability({ bins, ece }) {
  const points = bins.map(({ score, n, people: { value, low, high } }) => ({ x: score, y: value, low, high, n }));
  const error = ece.value !== null && ` The expected calibration error is ${format.coefficient(ece.value)}.`;
  return [
    curves([{ name: "people", points }], { title: "People's mean label by score", x: "score", y: "people", diagonal: true }),
    el("p.note", "A score is calibrated where its points lie on the line.", error),
  ];
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const pairName = ({ first, second, slice }) => [
  spec(first),
  " and ",
  spec(second),
  slice !== null && [", ", name(slice)],
];

function coefficients(pairs) {
  const lines = pairs.flatMap((pair) =>
    Object.entries(pair.figures)
      .filter(([, { value }]) => value !== null)
      .map(([key, { value, low, high, n }], at) => ({
        head: el("span", { class: at ? "hidden-label" : null }, pairName(pair)),
        cells: [
          cell(COEFFICIENTS[key] ?? key),
          number(value, format.coefficient(value)),
          figures(format.interval(low, high, 1, format.coefficient)),
          figures(format.count(n)),
        ],
        ...{ point: value, low, high },
      })),
  );
  if (!lines.length) return el("p.dim", "There are too few labels for any.");
  const heads = ["pair", "coefficient", "value", "interval", "rows"];
  return forest("Coefficients", heads, lines, { zero: true, bounds: [-1, 1], kind: "coefficients" });
}

/** How often each label met each other label. */
function confusions(pairs, labels) {
  const names = new Map(Object.entries(labels ?? {}).map(([label, score]) => [score, label]));
  const spell = (score) => name(names.get(score) ?? score);
  const known = pairs.filter((pair) => pair.confusion);
  const tables = known.map((pair) => {
    const { labels: own, counts } = pair.confusion;
    const most = Math.max(...counts.flat(), 1);
    const count = (each, same) =>
      el("td", { class: `num heat-${Math.ceil((4 * each) / most)} ${same ? "same" : ""}` }, format.count(each));
    const lines = counts.map((row, down) =>
      line(
        spell(own[down]),
        row.map((each, across) => count(each, down === across)),
      ),
    );
    const title = el("figcaption", pairName(pair), ": the first downwards, the second across");
    const heads = ["", ...own.map(spell)];
    return el("figure.figure", title, scroll(title.textContent, table("confusion", heads, lines)));
  });
  return known.length > 0 && el("section", el("h2", "Who said what"), el("div.columns", tables));
}

function correctedValues(found, display) {
  const known = (found?.values.metrics ?? []).filter(({ corrected }) => corrected.value !== null);
  const lines = known.map(({ spec: metric, value: own, corrected: { value, low, high } }) => {
    const { scale } = display[metric];
    const cells = [number(own, format.value(own, scale)), number(value, format.value(value, scale))];
    return line(spec(metric), [...cells, figures(format.interval(low, high, scale))]);
  });
  if (!known.length) return null;
  const shown = table("", ["metric", "value", "corrected by people", "interval"], lines);
  return el("section", el("h2", "Values as people would give them"), scroll("Corrected values", shown), command(found.command));
}
