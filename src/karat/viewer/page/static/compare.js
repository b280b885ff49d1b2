// Compare: each finding as a sentence, its numbers and its place in a forest plot; of one run: how good it is.

import { recall } from "./api.js";
import { plots } from "./curves.js";
import { command, el, field, fill, select } from "./dom.js";
import * as format from "./format.js";
import { heading } from "./heading.js";
import { outcomeBar } from "./outcomes.js";
import { leaderboard } from "./ranking.js";
import { about, address, go } from "./state.js";
import { cell, figures, forest, intervalOf, number, spanOf } from "./tables.js";
import { name, sentence, spec } from "./text.js";

const POINTS = "Values and differences of metrics from 0 to 1 are in points of 100.";
const MANY = 8; // sentences that are shown at first
const UNSCORED = "“Lowest and highest” is what the value could be had each unscored row been scored.";

export default async function open(state, page) {
  const columns = await recall("columns", about(state)).catch(() => null);
  const tools = el("div.tools");
  const body = el("div");
  const one = page.picked.length === 1;
  const update = async (next) => {
    if (columns && !one && !page.report) fill(tools, settings(columns, next));
    fill(body, one ? await values(next) : await comparison(next));
    await scores?.update(next);
  };
  const scores = columns?.metrics.length > 0 && !page.undrawn ? plots(columns, state) : null;
  await update(state);
  const head = heading(page, question(page.picked));
  return { title: head.querySelector("h1, h2").textContent, nodes: [head, tools, body, scores?.fold], update };
}

function question([first, second, third]) {
  if (!second) return ["How good is ", name(first.name), "?"];
  return [third ? "Are they" : ["Is ", name(second.name)], " better than ", name(first.name), "?"];
}

function settings({ columns }, state) {
  const slices = columns.filter((column) => column.slice).map((column) => [column.name, column.name]);
  const choice = (key) =>
    select([["", "none"], ...slices], state[key], (value) => go({ [key]: value }, { replace: true }), {
      "data-key": key,
    });
  const margin = el("input", {
    ...{ type: "number", min: 0, step: "any", value: state.margin, placeholder: "0.02", "data-key": "margin" },
    title: "Also test whether each system is no worse than the first by this much, in the unit of the metric: 0.02 is 2 points",
    onchange: ({ target }) => go({ margin: target.value }, { replace: true }),
  });
  return [field("Slices by", choice("by")), field("Rows that belong together", choice("cluster")), field("Margin", margin)];
}

async function comparison(state) {
  const { by, cluster } = state;
  const several = state.runs.length > 2;
  const ranking = several && recall("rank", { ...about(state), cluster });
  const [answer, ranked, ...stored] = await Promise.all([
    recall("compare", { ...about(state), by, cluster, ...(state.margin && { margin: Number(state.margin) }) }),
    ranking,
    ...state.runs.map((run) => recall("result", { runs: [run] })),
  ]);
  const { compared, display } = answer;
  const all = compared.findings.map((finding, at) => ({ ...finding, ...display[at] }));
  const findings = all.filter((finding) => finding.slice === null).map(inWords);
  const ranks = ranked && ranked.sentences.map(([metric, text]) => inWords({ metric, sentence: text }));
  const [first, ...rest] = ranks || findings;
  const groups = Map.groupBy(all, ({ metric, scale, direction }) => (by ? metric : `${scale} ${direction}`));
  const tests = `${compared.family} ${compared.family === 1 ? "test" : "tests"}`;
  const what = several ? `p is of each system against ${compared.systems[0]},` : "p is";
  const list = (all) => all.length > 0 && el("ul.sentences", ...all.map((each) => el("li", each)));
  const sentences = list(rest);
  return [
    el("p.standfirst.verdict-line", first),
    rest.length > MANY ? el("details", el("summary", `${rest.length} more findings`), sentences) : sentences,
    ranks && el("details", el("summary", "Each against ", name(compared.systems[0]), ", in words"), list(findings)),
    ranked && leaderboard(ranked, stored[0].display),
    !several && valuesOfSystems(stored, [...new Set(all.map(({ metric }) => metric))], compared.systems),
    [...groups.values()].map((group) => section(group, compared, state)),
    corrected(all, compared.confidence),
    el(
      "p.note",
      name(`${format.rows(compared.n)}, matched by ${compared.aligned_by}; ${what} corrected for ${tests} (Holm). ${POINTS}`),
    ),
    [...compared.notes, answer.labels_note].filter(Boolean).map((note) => el("p.note", sentence(note))),
    command(answer.command),
    ranked && command(ranked.command),
  ];
}

/** The value of each metric in each system. */
function valuesOfSystems(stored, metrics, systems) {
  const parts = metrics.map((metric) => {
    const { scale } = stored[0].display[metric] ?? { scale: 1 };
    const lines = stored.flatMap(({ values: { metrics: own } }, at) =>
      own.filter((each) => each.spec === metric).flatMap((each) => valueLines(systems[at], each, scale, false)),
    );
    const options = { factor: scale, bounds: scale === 100 ? [0, 1] : undefined };
    const cautions = new Set(stored.flatMap(({ values: { metrics: own } }) => own.filter((each) => each.spec === metric && each.caution).map(({ caution }) => caution)));
    return [
      el("h3", name(metric)),
      forest(`Values of ${metric}`, valueHeads("system", stored), lines, options),
      [...cautions].map((caution) => el("p.note", sentence(`Caution: ${caution}`))),
    ];
  });
  const isMissing = stored.some(({ values: { metrics: own } }) => own.some((each) => each.unscored > 0));
  return el("section", el("h2", "Values"), parts, isMissing && el("p.note", UNSCORED));
}

const valueHeads = (first, stored) => {
  const levels = [...new Set(stored.map(({ confidence }) => format.percent(confidence)))];
  return [first, "value", `${levels.join(" or ")} interval`, "rows scored", "unscored", "lowest and highest"];
};

const inWords = (finding) => [
  el("strong", name(finding.metric)),
  ": ",
  name(finding.sentence.replaceAll(" < ", "\u00a0<\u00a0")),
  ".",
];

/** The findings that share an axis: of a metric and its slices; without slices, of all metrics of one scale. */
function section(group, { systems: [first, second, ...more], ...compared }, state) {
  const { by } = state;
  const several = more.length > 0;
  const [{ metric, direction, scale: factor }] = group;
  const systems = several ? ["system", name(first), "value"] : [name(first), name(second)];
  const together = compared.family > 1; // p is corrected for all tests, and so is the second interval
  const level = intervalOf(compared.confidence);
  const interval = together ? [`${level} (each alone)`, `${level} (all together)`] : [level];
  const heads = [by ? name(by) : "metric", ...systems, "difference", ...interval, "p, Holm", "verdict", "won / lost / tied"];
  const lines = group.map((finding) => findingLine(finding, { several, together }, state));
  const ends = endsOfAxis(first, several ? "the other" : second, direction);
  return el(
    "section",
    el("h2", by ? [name(metric), " by ", name(by)] : several ? ["Differences from ", name(first)] : "Differences"),
    forest(`Differences of ${by ? metric : `scale ${factor}, ${direction}`}`, heads, lines, {
      zero: true,
      factor,
      ends,
      kind: "differences",
    }),
  );
}

function endsOfAxis(first, second, direction) {
  const [left, right] = direction === "minimize" ? [second, first] : [first, second];
  const ends = [el("span", "← ", name(left), " better"), el("span", name(right), " better →")];
  return el("span.ends-of-axis", ends);
}

function findingLine({ a, b, difference, low, high, verdict, scale, wins, losses, ties, ...finding }, { several, together }, state) {
  const { by } = state;
  const part = by && finding.slice !== null;
  const filter = part ? [{ field: { kind: "column", name: by }, op: "in", values: [finding.slice] }] : [];
  const rows = address({ ...state, screen: "rows", by: "", cluster: "", metric: finding.metric, filter });
  const head = by ? name(finding.slice ?? "all rows") : spec(finding.metric);
  const cells = [
    several && cell(name(finding.system)),
    number(a, format.value(a, scale)),
    number(b, format.value(b, scale)),
    number(difference, format.difference(difference, scale)),
    figures(format.interval(low, high, scale, format.difference)),
    together && figures(format.interval(finding.joint_low, finding.joint_high, scale, format.difference)),
    number(finding.p_adjusted, finding.p_shown),
    cell(el("span", { class: `verdict ${verdict.replace(" ", "-")}` }, verdict)),
    figures([wins, losses, ties].map(format.count).join(" / "), outcomeBar(wins, losses, ties)),
  ];
  return {
    head: el("a", { href: rows, title: "See these rows" }, head),
    cells,
    part,
    point: difference,
    low,
    high,
    verdict,
  };
}

/** Differences as people would see them, where there are labels. */
function corrected(findings, confidence) {
  const known = findings.filter((finding) => (finding.corrected?.value ?? null) !== null);
  const lines = known.map(({ heading: head, system, scale, corrected: { value, low, high } }) => ({
    head: name(head),
    cells: [
      cell(name(system)),
      number(value, format.difference(value, scale)),
      figures(format.interval(low, high, scale, format.difference)),
    ],
    ...{ point: value, low, high },
  }));
  const factor = known[0]?.scale;
  const heads = ["metric", "system", "difference", intervalOf(confidence)];
  return (
    lines.length > 0 &&
    el(
      "section",
      el("h2", "As people would see it"),
      el("p.note", "Differences corrected by people's labels."),
      forest("Corrected differences", heads, lines, { zero: true, factor }),
    )
  );
}

/** One run: its values, with the values of the groups it was scored with. */
async function values(state) {
  const answer = await recall("result", { runs: state.runs });
  const { values: result, display, command: text } = answer;
  const parts = result.metrics.map((metric) => {
    const { scale } = display[metric.spec];
    const groups = [["all rows", metric], ...Object.entries(metric.groups ?? {})];
    return { metric, scale, lines: groups.flatMap(([head, value], at) => valueLines(head, value, scale, at > 0)) };
  });
  const inPoints = parts.filter(({ scale }) => scale === 100).flatMap(({ lines }) => lines);
  const shared = spanOf(inPoints, { bounds: [0, 1] });
  const heads = valueHeads("rows", [answer]);
  return [
    result.metrics.map((metric) => el("p.standfirst", inOneLine(metric, display[metric.spec].scale))),
    parts.map(({ metric, scale, lines }) =>
      el(
        "section",
        el("h2", name(metric.spec)),
        forest(`Values of ${metric.spec}`, heads, lines, { factor: scale, span: scale === 100 ? shared : undefined }),
        metric.caution && el("p.note", sentence(`Caution: ${metric.caution}`)),
      ),
    ),
    el("p.note", `${format.rows(result.n)}. ${POINTS} ${result.metrics.some((each) => each.unscored > 0) ? UNSCORED : ""}`),
    (result.notes ?? []).map((note) => el("p.note", sentence(note))),
    command(text),
  ];
}

/** A value in a sentence. */
function inOneLine({ spec: metric, value, low, high, n }, scale) {
  const unit = scale === 100 ? " points" : "";
  const shown = value === null ? "no value" : `${format.value(value, scale)}${unit}`;
  return [el("strong", name(metric)), `: ${shown} [${format.interval(low, high, scale)}] on ${format.rows(n)}.`];
}

/** The line of a value, and one of what people would see, where they labelled rows. */
function valueLines(head, { value, low, high, scored, unscored, worst, best, corrected: people }, scale, part) {
  const cells = [
    number(value, format.value(value, scale)),
    figures(format.interval(low, high, scale)),
    figures(format.count(scored)),
    figures(unscored ? format.count(unscored) : ""),
    figures(unscored ? format.interval(worst, best, scale) : ""),
  ];
  const line = { head: name(head), cells, part, point: value, low, high };
  if ((people?.value ?? null) === null) return [line];
  const seen = [
    number(people.value, format.value(people.value, scale)),
    figures(format.interval(people.low, people.high, scale)),
    figures(""),
    figures(""),
    figures(""),
  ];
  const text = `↳ corrected by people (${format.count(people.labelled)} labels)`;
  return [line, { head: text, cells: seen, part: true, point: people.value, low: people.low, high: people.high }];
}
