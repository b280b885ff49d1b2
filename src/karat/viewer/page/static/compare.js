// Is B better? Each finding as a sentence, its numbers and its place in a forest plot; of one run: how good it is.

import { recall } from "./api.js";
import { command, el, field, fill, select } from "./dom.js";
import * as format from "./format.js";
import { heading } from "./heading.js";
import { about, address, go } from "./state.js";
import { cell, figures, forest, number, spanOf } from "./tables.js";
import { name, sentence, spec } from "./text.js";

const POINTS = "Values and differences of metrics from 0 to 1 are in points of 100.";

export default async function open(state, page) {
  const columns = await recall("columns", about(state)).catch(() => null);
  const tools = el("div.tools");
  const body = el("div");
  const one = page.picked.length === 1;
  const update = async (next) => {
    if (columns && !one) fill(tools, settings(columns, next));
    fill(body, one ? await values(next) : await findings(next));
  };
  await update(state);
  const head = heading(page, question(page.picked));
  return { title: head.querySelector("h1").textContent, nodes: [head, tools, body], update };
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
  return [field("Slices by", choice("by")), field("Rows that belong together", choice("cluster"))];
}

async function findings(state) {
  const { by, cluster } = state;
  const answer = await recall("compare", { ...about(state), by, cluster });
  const { compared, display } = answer;
  const all = compared.findings.map((finding, at) => ({ ...finding, ...display[at] }));
  const [first, ...rest] = all.filter((finding) => finding.slice === null).map(inWords);
  const groups = Map.groupBy(all, ({ metric, scale, direction }) => (by ? metric : `${scale} ${direction}`));
  const tests = `${compared.family} ${compared.family === 1 ? "test" : "tests"}`;
  return [
    el("p.standfirst.verdict-line", first),
    rest.length > 0 && el("ul.sentences", ...rest.map((each) => el("li", each))),
    [...groups.values()].map((group) => section(group, compared.systems, state)),
    corrected(all),
    el(
      "p.note",
      `${format.rows(compared.n)}, matched by ${compared.aligned_by}; intervals of ${format.percent(compared.confidence)}; `,
      `p is corrected for ${tests} (Holm). ${POINTS}`,
    ),
    [...compared.notes, answer.labels_note].filter(Boolean).map((note) => el("p.note", sentence(note))),
    command(answer.command),
  ];
}

const inWords = (finding) => [
  el("strong", name(finding.metric)),
  ": ",
  name(finding.sentence.replaceAll(" < ", "\u00a0<\u00a0")),
  ".",
];

/** The findings that share an axis: those of a metric and its slices; without slices, of all metrics of one scale. */
function section(group, [first, second, ...more], state) {
  const { by } = state;
  const several = more.length > 0;
  const [{ metric, direction, scale: factor }] = group;
  const systems = several ? ["system", name(first), "value"] : [name(first), name(second)];
  const heads = [by ? name(by) : "metric", ...systems, "difference", "interval", "p", "verdict"];
  const lines = group.map((finding) => findingLine(finding, several, state));
  const ends = endsOfAxis(first, several ? "the other" : second, direction);
  return el(
    "section",
    el("h2", by ? [name(metric), " by ", name(by)] : "Differences"),
    forest(`Differences of ${by ? metric : `scale ${factor}, ${direction}`}`, heads, lines, {
      zero: true,
      factor,
      ends,
    }),
  );
}

function endsOfAxis(first, second, direction) {
  const [left, right] = direction === "minimize" ? [second, first] : [first, second];
  const ends = [el("span", "← ", name(left), " better"), el("span", name(right), " better →")];
  return el("span.ends-of-axis", ends);
}

function findingLine({ a, b, difference, low, high, verdict, scale, ...finding }, several, state) {
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
    number(finding.p_adjusted, format.probability(finding.p_adjusted)),
    cell(el("span", { class: `verdict ${verdict}` }, verdict)),
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
function corrected(findings) {
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
  const heads = ["metric", "system", "difference", "interval"];
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

/** One run: its values, with those of the groups it was scored with. */
async function values(state) {
  const { values: result, display, command: text } = await recall("result", { run: state.runs[0] });
  const parts = result.metrics.map((metric) => {
    const { scale } = display[metric.spec];
    const groups = [["all rows", metric], ...Object.entries(metric.groups ?? {})];
    return { metric, scale, lines: groups.map(([head, value], at) => valueLine(head, value, scale, at > 0)) };
  });
  const inPoints = parts.filter(({ scale }) => scale === 100).flatMap(({ lines }) => lines);
  const shared = spanOf(inPoints, { bounds: [0, 1] });
  const heads = ["rows", "value", "interval", "rows scored", "unscored", "lowest and highest"];
  const unscored = "“Lowest and highest” is what the value could be had each unscored row been scored.";
  return [
    parts.map(({ metric, scale, lines }) =>
      el(
        "section",
        el("h2", name(metric.spec)),
        forest(`Values of ${metric.spec}`, heads, lines, { factor: scale, span: scale === 100 ? shared : undefined }),
        metric.caution && el("p.note", sentence(`Caution: ${metric.caution}`)),
      ),
    ),
    el("p.note", `${format.rows(result.n)}. ${POINTS} ${unscored}`),
    command(text),
  ];
}

function valueLine(head, { value, low, high, scored, failed, worst, best }, scale, part) {
  const cells = [
    number(value, format.value(value, scale)),
    figures(format.interval(low, high, scale)),
    figures(format.count(scored)),
    figures(failed ? format.count(failed) : ""),
    figures(failed ? format.interval(worst, best, scale) : ""),
  ];
  return { head: name(head), cells, part, point: value, low, high };
}
