// Charts as SVG with lengths in per cent: they fit every width, and their text keeps its size. Every figure of a chart is
// also in a table or in its title.

import { el, svg } from "./dom.js";
import * as format from "./format.js";

/** Round numbers from low to high, about `most` of them. */
export function ticks(low, high, most = 5) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, at) => (first + at) * step);
}

/** The range of numbers, with a little room; `zero`: it holds 0. Numbers that are missing do not count. */
export function range(numbers, { zero = false, bounds = [null, null] } = {}) {
  const known = numbers.filter((number) => Number.isFinite(number));
  let low = Math.min(...known, ...(zero || !known.length ? [0] : []));
  let high = Math.max(...known, ...(zero || !known.length ? [0] : []));
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  low = bounds[0] === null ? low - room : Math.max(low - room, bounds[0]);
  high = bounds[1] === null ? high + room : Math.min(high + room, bounds[1]);
  return { low, high, at: (number) => `${(100 * (Math.min(Math.max(number, low), high) - low)) / (high - low)}%` };
}

/** One line of a forest plot: an interval and its point. The numbers stand beside it in the table, and in its tooltip. */
export function strip({ point, low, high, verdict = "" }, scale, { zero = false, factor = 1 } = {}) {
  const drawing = svg("svg.plot", { "aria-hidden": "true", height: 24 });
  for (const tick of zero ? [0] : []) drawing.append(line("zero", scale.at(tick), 0, 24));
  if (point === null || point === undefined) return drawing;
  const print = zero ? format.difference : format.value;
  const ends = format.interval(low, high, factor, print);
  const group = svg("g", { class: verdict.replace(" ", "-") }, svg("title", `${print(point, factor)}${ends && `, ${ends}`}`));
  group.append(svg("rect.bin", { width: "100%", height: 24 }));
  if (low !== null || high !== null) {
    const span = { x1: scale.at(low ?? -Infinity), x2: scale.at(high ?? Infinity) };
    group.append(svg("line.interval", { ...span, y1: 12, y2: 12 }));
  }
  const square = { x: scale.at(point), y: 8, width: 8, height: 8, transform: "translate(-4 0)" };
  group.append(zero ? svg("rect.point", { ...square }) : svg("circle.point", { cx: scale.at(point), cy: 12, r: 4 }));
  drawing.append(group);
  return drawing;
}

/** The axis below a column of strips. */
export function axis(scale, factor, { zero = false } = {}) {
  const drawing = svg("svg.plot", { "aria-hidden": "true", height: 28 });
  drawing.append(svg("line.axis", { x1: 0, x2: "100%", y1: 0.5, y2: 0.5 }));
  const print = zero ? format.difference : format.value;
  for (const tick of ticks(scale.low, scale.high)) {
    drawing.append(line("axis", scale.at(tick), 0, 5));
    const shown = print(tick, factor).replace(/\.0$/, "");
    const anchor = parseFloat(scale.at(tick)) > 95 ? "end" : "middle";
    drawing.append(svg("text", { x: scale.at(tick), y: 18, "text-anchor": anchor }, shown));
  }
  return drawing;
}

const line = (kind, x, y1, y2) => svg("line", { class: kind, x1: x, x2: x, y1, y2 });

const HEIGHT = 72;

/**
 * A histogram of all rows, without `pick`; its bars above 0 and below have the classes `sides`, where there are any.
 */
export function spread({ edges, all, missing }, { title, scale, sides }) {
  const drawing = plot({ edges, all, kept: all, missing }, { title, scale, sides });
  return el("figure.figure", el("figcaption", title), drawing);
}

/**
 * A histogram of all rows, and before it one of the rows of the filter. Dragging over it calls `pick([low, high], op)`,
 * with null for an open end, and `pick(null)` frees it; so do the two fields below it, for the keyboard. A bin does not
 * hold its upper end (the condition "range"), what is typed does ("between").
 */
export function histogram(counts, { title, scale, picked, pick, key }) {
  const drawing = plot(counts, { title, scale });
  brush(drawing, counts.edges, picked, pick);
  return el("figure.figure", el("figcaption", title), drawing, ends(picked, scale, pick, title, key));
}

function plot({ edges, all, kept, missing }, { title, scale, sides }) {
  const low = edges[0];
  const high = edges.at(-1);
  const place = (edge) => `${(100 * (edge - low)) / (high - low)}%`;
  const top = Math.max(...all, 1);
  const tall = (number) => (number ? Math.max(1.5, (number / top) * HEIGHT) : 0);
  const whole = all === kept;
  const drawing = svg(whole ? "svg.plot" : "svg.plot.histogram", {
    height: HEIGHT + 22,
    role: "img",
    "aria-label": describe(title, kept, missing),
  });
  all.forEach((number, bin) => {
    const shape = { x: place(edges[bin]), width: `${(100 * (edges[bin + 1] - edges[bin])) / (high - low)}%` };
    const share = whole ? "" : `${format.count(kept[bin])} of `;
    const label = `${format.value(edges[bin], scale)} to ${format.value(edges[bin + 1], scale)}: ${share}${format.rows(number)}`;
    const side = sides && edges[bin] + edges[bin + 1] !== 0 && sides[edges[bin] + edges[bin + 1] > 0 ? 1 : 0];
    const bar = (kind, height) => height > 0 && svg("rect", { ...shape, class: kind, y: HEIGHT - height, height });
    drawing.append(
      svg(
        "g",
        { class: side || null },
        svg("title", label),
        svg("rect", { ...shape, class: "bin", y: 0, height: HEIGHT }),
        ...[bar("bar", tall(number)), !whole && bar("bar-part", tall(kept[bin]))].filter(Boolean),
      ),
    );
  });
  drawing.append(svg("line.axis", { x1: 0, x2: "100%", y1: HEIGHT + 0.5, y2: HEIGHT + 0.5 }));
  for (const [number, anchor] of [
    [low, "start"],
    [(low + high) / 2, "middle"],
    [high, "end"],
  ]) {
    drawing.append(
      svg(
        "text",
        { x: place(number), y: HEIGHT + 16, "text-anchor": anchor },
        format.value(number, scale).replace(/\.0$/, ""),
      ),
    );
  }
  return drawing;
}

function describe(title, kept, missing) {
  const total = kept.reduce((one, other) => one + other, 0);
  return `${title}: ${format.rows(total)} with a value, ${format.count(missing.kept)} without`;
}

/** Dragging picks whole bins; a click picks one, a click on what is picked frees it. */
function brush(drawing, edges, picked, pick) {
  const [low, high] = [edges[0], edges.at(-1)];
  const shown = svg("rect.brush", { y: 0, height: HEIGHT });
  const show = (from, to) => {
    shown.setAttribute("x", `${(100 * (from - low)) / (high - low)}%`);
    shown.setAttribute("width", `${(100 * (to - from)) / (high - low)}%`);
    drawing.append(shown);
  };
  if (picked) show(Math.max(picked[0] ?? low, low), Math.min(picked[1] ?? high, high));
  const bin = (event) => {
    const box = drawing.getBoundingClientRect();
    const value = low + ((event.clientX - box.left) / box.width) * (high - low);
    return Math.min(
      Math.max(
        edges.findLastIndex((edge) => edge <= value),
        0,
      ),
      edges.length - 2,
    );
  };
  let start = null;
  const span = (event) => [start, bin(event)].sort((one, other) => one - other);
  drawing.addEventListener("pointerdown", (event) => {
    start = bin(event);
    drawing.setPointerCapture(event.pointerId);
    show(edges[start], edges[start + 1]);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const [from, to] = span(event);
    show(edges[from], edges[to + 1]);
  });
  drawing.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const [from, to] = span(event);
    start = null;
    const range = [edges[from], to + 2 === edges.length ? null : edges[to + 1]]; // the last bin holds its end
    pick(String(picked) === String(range) ? null : range, "range");
  });
}

/** The two ends of what is picked, in points, as fields. */
function ends(picked, scale, pick, title, key) {
  const fields = ["from", "to"].map((label, at) => {
    const value = picked?.[at] ?? null;
    const shown = value === null ? "" : Number((value * scale).toPrecision(6));
    const names = { placeholder: label, "aria-label": `${title}, ${label}`, "data-key": `${key} ${at}` };
    return el("input", { type: "number", step: "any", value: shown, onchange: () => change(), ...names });
  });
  /** What was not typed stays as exact as it was picked. */
  const end = ({ value, defaultValue }, at) =>
    value === defaultValue ? (picked?.[at] ?? null) : value === "" ? null : Number(value) / scale;
  const change = () => {
    const next = fields.map(end);
    pick(next.every((each) => each === null) ? null : next, "between");
  };
  const free = el("button.chip", { onclick: () => pick(null), "data-key": `${key} all`, disabled: !picked }, "All");
  return el("div.ends", fields, free);
}

/** A value over time, one point a run, with its interval; each point is a link. */
export function trend(points, { title, scale, bounds }) {
  const height = 132;
  const span = range(
    points.flatMap(({ value, low, high }) => [value, low, high]),
    { bounds },
  );
  const y = (number) => height - ((number - span.low) / (span.high - span.low)) * (height - 12);
  const x = (at) => `${10 + (84 * at) / (points.length - 1)}%`;
  const drawing = svg("svg.plot.trend", { height: height + 24, role: "group", "aria-label": title });
  for (const tick of ticks(span.low, span.high, 4)) {
    drawing.append(svg("line.grid", { x1: 0, x2: "100%", y1: y(tick), y2: y(tick) }));
    drawing.append(svg("text", { x: 0, y: y(tick) - 3 }, format.value(tick, scale).replace(/\.0$/, "")));
  }
  points
    .slice(1)
    .forEach((point, at) =>
      drawing.append(svg("line.path", { x1: x(at), x2: x(at + 1), y1: y(points[at].value), y2: y(point.value) })),
    );
  points.forEach(({ value, low, high, label, short, href }, at) => {
    const text = `${label}: ${format.value(value, scale)}, ${format.interval(low, high, scale)}`;
    const mark = svg("a", { href, "aria-label": text }, svg("title", text));
    if (low !== null && high !== null)
      mark.append(svg("line.interval", { x1: x(at), x2: x(at), y1: y(low), y2: y(high) }));
    mark.append(svg("circle.point", { cx: x(at), cy: y(value), r: 4 }));
    drawing.append(mark);
    const every = Math.ceil(points.length / 6);
    const end = at === 0 || at + every >= points.length;
    const name = { x: x(at), y: height + 18, "text-anchor": "middle", class: end ? null : "between" };
    if (at % every === 0) drawing.append(svg("text", name, short));
  });
  return el("figure.figure", el("figcaption", title), drawing);
}
