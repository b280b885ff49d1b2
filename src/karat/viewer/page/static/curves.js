// One number by another: the mean of a score over parts of a range, one line a system, with intervals and tooltips.

import { recall } from "./api.js";
import { range, ticks } from "./charts.js";
import { el, field, fill, select, svg } from "./dom.js";
import * as format from "./format.js";
import { letterOf } from "./heading.js";
import { about, current, go } from "./state.js";
import { name } from "./text.js";

const HEIGHT = 220;
const DASHES = ["none", "6 3", "2 3", "8 3 2 3"]; // what tells lines apart without colours

/**
 * `series`: for each its `name` and its `points`, of which each has `x`, `y`, the ends `low` and `high`, and how many rows
 * (`n`) it stands for. `x` and `y` name the axes, `scale` is the unit of y; `lines`: whether points are joined;
 * `diagonal`: a line from 0 to 1.
 */
export function curves(series, { title, x, y, scale = 1, lines = true, diagonal = false }) {
  const all = series.flatMap(({ points }) => points).filter((point) => point.y !== null);
  if (!all.length) return el("p.dim", "No row has both.");
  const bounds = diagonal ? [0, 1] : [null, null];
  const across = diagonal ? range([0, 1], { bounds }) : range(all.map((point) => point.x));
  const up = diagonal ? across : range(all.flatMap((point) => [point.y, point.low, point.high]));
  const below = (number) => HEIGHT * (1 - parseFloat(up.at(number)) / 100);
  const drawing = svg("svg.plot.curves", { height: HEIGHT + 40, role: "group", "aria-label": title });
  for (const tick of ticks(up.low, up.high, 4)) {
    drawing.append(svg("line.grid", { x1: 0, x2: "100%", y1: below(tick), y2: below(tick) }));
    drawing.append(svg("text", { x: 0, y: below(tick) - 3 }, format.value(tick, scale).replace(/\.0$/, "")));
  }
  for (const tick of ticks(across.low, across.high)) {
    const place = { x: across.at(tick), y: HEIGHT + 16, "text-anchor": "middle" };
    drawing.append(svg("text", place, format.value(tick)));
  }
  drawing.append(svg("line.axis", { x1: 0, x2: "100%", y1: HEIGHT, y2: HEIGHT }));
  drawing.append(svg("text", { x: "100%", y: HEIGHT + 34, "text-anchor": "end" }, `${x} →`));
  if (diagonal) drawing.append(svg("line.grid", { x1: 0, x2: "100%", y1: HEIGHT, y2: 0 }));
  series.forEach(({ name: own, points }, at) => {
    const there = points.filter((point) => point.y !== null);
    const dash = { "stroke-dasharray": DASHES[at % DASHES.length] };
    const group = svg(`g.curve-${at % 4}`);
    const joined = lines ? there.slice(1) : [];
    joined.forEach((point, before) => {
      const ends = { x1: across.at(there[before].x), x2: across.at(point.x) };
      group.append(svg("line.path", { ...ends, y1: below(there[before].y), y2: below(point.y), ...dash }));
    });
    there.forEach((point) => group.append(mark(point, own, { across, below, scale, x, y })));
    const last = there.at(-1);
    if (series.length > 1 && last)
      group.append(svg("text", { x: across.at(last.x), dx: 7, y: below(last.y) + 4 }, letterOf(at)));
    drawing.append(group);
  });
  return el("figure.figure.wide", el("figcaption", name(title)), drawing);
}

function mark({ x: at, y: value, low, high, n }, own, { across, below, scale, x, y }) {
  const ends = format.interval(low, high, scale);
  const rows = n === undefined ? "" : `; ${format.rows(n)}`;
  const text = `${own}: ${y} ${format.value(value, scale)}${ends && `, ${ends}`}, ${x} ${format.value(at)}${rows}`;
  const place = { cx: across.at(at), cy: below(value) };
  const group = svg("g", { role: "img", "aria-label": text }, svg("title", text));
  if (low !== null && high !== null)
    group.append(svg("line.interval", { x1: place.cx, x2: place.cx, y1: below(low), y2: below(high) }));
  group.append(svg("circle.bin", { ...place, r: 10 }), svg("circle.point", { ...place, r: 4 }));
  return group;
}

const LENGTH = "length";

/** What a score goes with, folded until it is asked for: its mean by a number of the rows, and each system's two means. */
export function plots({ metrics, columns, systems }, state) {
  const box = el("div");
  const tools = el("div.tools");
  const toggle = () => {
    if (fold.open !== Boolean(current().plot)) go({ plot: fold.open ? LENGTH : "" }, { replace: true });
  };
  const summary = el("summary", el("h2", "What scores go with"));
  const fold = el("details.section", { open: Boolean(state.plot), ontoggle: toggle }, summary, tools, box);
  const numbers = columns.filter(({ type, role }) => type === "number" && !role).map((each) => [each.name, each.name]);
  const update = async (next) => {
    if (!next.plot) return;
    const metric = metrics.find(({ spec }) => spec === next.metric) ?? metrics[0];
    const specs = metrics.map(({ spec }) => [spec, spec]);
    const others = [[LENGTH, "length of the answer"], ...numbers, ...specs.filter(([spec]) => spec !== metric.spec)];
    const [across, x] = others.find(([key]) => key === next.plot) ?? others[0];
    const pick = (key) => (value) => go({ [key]: value }, { replace: true });
    fill(
      tools,
      field("Score", select(specs, metric.spec, pick("metric"), { "data-key": "plotted" })),
      field("By", select(others, across, pick("plot"), { "data-key": "plot" })),
    );
    const answer = await recall("curves", { ...about(next), metric: metric.spec, across });
    fill(box, el("div.columns", drawn(answer, metric, x, systems)));
  };
  return { fold, update };
}

function drawn(answer, { spec, scale }, x, systems) {
  const points = (parts) => parts.map(({ number, score: { value, low, high, n } }) => ({ x: number, y: value, low, high, n }));
  const of = (kind) => answer.systems.map((each) => ({ name: each.system, points: points(each[kind]) }));
  const axes = { x, y: spec, scale };
  return [
    curves(of("parts"), { ...axes, title: `${spec} by ${x}: the mean of rows in parts of equal size` }),
    systems.length > 1 && curves(of("whole"), { ...axes, title: `${spec} against ${x}: the mean of each system`, lines: false }),
  ].filter(Boolean);
}
