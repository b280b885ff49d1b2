// Is B better? Each finding as a sentence, its numbers and its place in a forest plot; of one run: how good it is.

import { recall, Refused } from "./api.js";
import { axis, range, strip } from "./charts.js";
import { command, el, field, fill, scroll, select } from "./dom.js";
import * as format from "./format.js";
import { heading } from "./heading.js";
import { about, address, go } from "./state.js";
import { name, spec } from "./text.js";

export default async function open(state, page) {
  const columns = await recall("columns", about(state)).catch((error) => error);
  const tools = el("div", { class: "tools" });
  const body = el("div", {});
  const one = page.picked.length === 1;
  const update = async (next) => {
    if (!one) fill(tools, settings(columns, next));
    fill(body, one ? await values(next, page) : await findings(next, page));
  };
  await update(state);
  return { title: el("p", {}, question(page.picked)).textContent, nodes: [heading(page, question(page.picked)), tools, body], update };
}

function question([first, second, third]) {
  if (!second) return ["How good is ", name(first.name), "?"];
  return [third ? "Are they" : ["Is ", name(second.name)], " better than ", name(first.name), "?"];
}

function settings(columns, state) {
  if (columns instanceof Error) return null;
  const slices = columns.columns.filter((column) => column.slice).map((column) => [column.name, column.name]);
  const change = (name) => (value) => go({ [name]: value }, { replace: true });
  const choice = (name, none) => select([["", none], ...slices], state[name], change(name), { "data-key": name });
  return [field("Slices by", choice("by", "none")), field("Rows that belong together", choice("cluster", "none"))];
}

async function findings(state, page) {
  const { by, cluster } = state;
  let answer;
  try {
    answer = await recall("compare", { ...about(state), by, cluster });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 400) throw error;
    return refusal(error, state);
  }
  const { compared, display } = answer;
  const found = compared.findings.map((finding, at) => ({ ...finding, ...display[at] }));
  const whole = found.filter((finding) => finding.slice === null);
  const sentence = (finding) => {
    const metric = el("strong", {}, name(finding.metric));
    return [metric, ": ", name(finding.sentence.replaceAll(" < ", "\u00a0<\u00a0")), "."];
  };
  const [first, ...rest] = whole;
  return [
    el("p", { class: "standfirst verdict-line" }, sentence(first)),
    rest.length ? el("ul", { class: "sentences" }, rest.map((finding) => el("li", {}, sentence(finding)))) : null,
    groups(found, by).map((group, at) => section(group, at, compared, by, state)),
    corrected(found),
    el("p", { class: "note" }, `${format.rows(compared.n)}, matched by ${compared.aligned_by}; intervals of ${Math.round(compared.confidence * 100)} %; `,
      `p is corrected for ${compared.family} ${compared.family === 1 ? "test" : "tests"} (Holm). Values and differences of metrics from 0 to 1 are in points of 100.`,
      compared.notes.map((note) => [" ", name(note), "."])),
    command(answer.command),
  ];
}

function refusal(error, state) {
  const allow = el("button", { type: "button", onclick: () => go({ different: "1" }, { replace: true }) }, "Compare all the same");
  return [el("p", { class: "standfirst", role: "alert" }, name(error.message)), state.different ? null : el("div", { class: "tools" }, allow)];
}

/** What shares an axis: a metric with its slices; without slices, all metrics of one scale. */
function groups(found, by) {
  const key = (finding) => (by ? finding.metric : `${finding.scale} ${finding.direction}`);
  return [...Map.groupBy(found, key).values()];
}

function section(group, at, compared, by, state) {
  const scale = range(group.flatMap(({ difference, low, high }) => [difference, low, high]), { zero: true });
  const several = compared.systems.length > 2;
  const first = compared.systems[0];
  const title = by ? [name(group[0].metric), " by ", name(by)] : "Differences";
  const id = `forest-${at}`;
  const heads = [by ? by : "metric", ...(several ? ["system"] : []), first, several ? "value" : compared.systems[1], "difference", "interval", "p", "verdict"];
  const numeric = new Set(heads.slice(several ? 2 : 1, -1));
  const table = el("table", { class: "data forest", "aria-labelledby": id },
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col", class: numeric.has(head) ? "num" : null }, name(head))),
      el("th", { scope: "col", class: "strip" }, ends(first, several ? "the other" : compared.systems[1], group[0].direction)))),
    el("tbody", {}, group.map((finding) => line(finding, scale, several, by, state))),
    el("tfoot", {}, el("tr", {}, el("td", { colspan: heads.length }), el("td", { class: "strip" }, axis(scale, group[0].scale, { zero: true })))));
  return el("section", {}, el("h2", { id }, title), scroll(by ? `Differences of ${group[0].metric}` : `Differences ${at + 1}`, table));
}

const ends = (first, second, direction) => {
  const [left, right] = direction === "minimize" ? [second, first] : [first, second];
  return el("span", { class: "ends-of-axis" }, el("span", {}, "← ", name(left), " better"), el("span", {}, name(right), " better →"));
};

function line(finding, scale, several, by, state) {
  const { a, b, difference, low, high, verdict } = finding;
  const head = by ? finding.slice ?? "all rows" : finding.metric;
  const number = (value, shown, label) => el("td", { class: "num", "data-label": label }, value === null ? "–" : el("data", { value }, shown));
  const figures = { point: difference, low, high, verdict };
  const filter = finding.slice === null || !by ? [] : [{ field: { kind: "column", name: by }, op: "in", values: [finding.slice] }];
  const rows = address({ ...state, screen: "rows", by: "", cluster: "", metric: finding.metric, filter });
  return el("tr", { class: by && finding.slice !== null ? "part" : null },
    el("th", { scope: "row" }, el("a", { href: rows, title: "See these rows" }, by ? name(head) : spec(head))),
    several ? el("td", {}, name(finding.system)) : null,
    number(a, format.value(a, finding.scale), "A"),
    number(b, format.value(b, finding.scale), "B"),
    number(difference, format.difference(difference, finding.scale), "difference"),
    el("td", { class: "num" }, format.interval(low, high, finding.scale, format.difference)),
    number(finding.p_adjusted, format.probability(finding.p_adjusted), "p"),
    el("td", {}, el("span", { class: `verdict ${verdict}`, title: name(finding.sentence).textContent }, verdict)),
    el("td", { class: "strip" }, strip(figures, scale, { zero: true })));
}

/** Differences as people would see them, where there are labels. */
function corrected(found) {
  const known = found.filter((finding) => finding.corrected?.value !== null && finding.corrected);
  if (!known.length) return null;
  const scale = range(known.flatMap(({ corrected: { value, low, high } }) => [value, low, high]), { zero: true });
  return el("section", {}, el("h2", {}, "As people would see it"),
    el("p", { class: "note" }, "Differences corrected by people's labels."),
    scroll("Corrected differences", el("table", { class: "data forest" },
      el("thead", {}, el("tr", {}, ["metric", "system", "difference", "interval", ""].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, known.map(({ heading, system, scale: factor, corrected: { value, low, high } }) => el("tr", {},
        el("th", { scope: "row" }, name(heading)), el("td", {}, name(system)),
        el("td", { class: "num" }, el("data", { value }, format.difference(value, factor))),
        el("td", { class: "num" }, format.interval(low, high, factor, format.difference)),
        el("td", { class: "strip" }, strip({ point: value, low, high }, scale, { zero: true }))))))));
}

/** One run: its values, with those of the groups it was scored with. */
async function values(state, page) {
  const answer = await recall("result", { run: state.runs[0] });
  const { metrics } = answer.values;
  const points = metrics.filter(({ spec: each }) => answer.display[each].scale === 100).flatMap((metric) => linesOf(metric).map(([, found]) => found));
  const shared = range(points.flatMap(({ value, low, high }) => [value, low, high]), { bounds: [0, 1] });
  return [
    metrics.map((metric) => valueSection(metric, answer.display[metric.spec], shared)),
    el("p", { class: "note" }, `${format.rows(answer.values.n)}. Values of metrics from 0 to 1 are in points of 100. Unscored rows count for nothing; “lowest and highest” is what the value could be had each been scored.`),
    command(answer.command),
  ];
}

const linesOf = (metric) => [["all rows", metric], ...Object.entries(metric.groups ?? {})];

/** The values of one metric; metrics from 0 to 1 share an axis. */
function valueSection(metric, display, shared) {
  const lines = linesOf(metric);
  const scale = display.scale === 100 ? shared : range(lines.flatMap(([, { value, low, high }]) => [value, low, high]));
  const heads = ["rows", "value", "interval", "rows scored", "unscored", "lowest and highest"];
  const row = ([head, found], at) => el("tr", { class: at ? "part" : null },
    el("th", { scope: "row" }, name(head)),
    el("td", { class: "num" }, found.value === null ? "–" : el("data", { value: found.value }, format.value(found.value, display.scale))),
    el("td", { class: "num" }, format.interval(found.low, found.high, display.scale)),
    el("td", { class: "num" }, format.count(found.scored)),
    el("td", { class: "num" }, found.failed ? format.count(found.failed) : ""),
    el("td", { class: "num" }, found.failed ? format.interval(found.worst, found.best, display.scale) : ""),
    el("td", { class: "strip" }, strip({ point: found.value, low: found.low, high: found.high }, scale)));
  return el("section", {}, el("h2", {}, name(metric.spec)),
    scroll(`Values of ${metric.spec}`, el("table", { class: "data forest" },
      el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", class: at ? "num" : null }, head)), el("th", { scope: "col", class: "strip" }, el("span", { class: "hidden-label" }, "plot")))),
      el("tbody", {}, lines.map(row)),
      el("tfoot", {}, el("tr", {}, el("td", { colspan: heads.length }), el("td", { class: "strip" }, axis(scale, display.scale)))))));
}
