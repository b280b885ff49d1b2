// Tables, and the forest plot: a table whose last column draws the intervals that the others spell.

import { axis, range, strip } from "./charts.js";
import { el, scroll } from "./dom.js";
import * as format from "./format.js";

/** A cell of one number: what is shown of it, and the number itself for whoever reads the page by a program. */
export const number = (value, shown) =>
  el("td.num", value === null || value === undefined ? "–" : el("data", { value }, shown));

/** A cell of figures that are not a single number. */
export const figures = (...shown) => el("td.num", shown);

/** The head of a column of intervals. */
export const intervalOf = (confidence) => `${format.percent(confidence)} interval`;

export const cell = (...shown) => el("td", shown);

/** A line of a table, `kind` its class. */
export const line = (head, cells, kind = null) => el("tr", { class: kind }, el("th", { scope: "row" }, head), cells);

/** A table; a head that is not a cell yet is aligned like the cell below it. */
export function table(kind, heads, lines, foot = null) {
  const head = (each, at) =>
    each instanceof HTMLTableCellElement
      ? each
      : el("th", { scope: "col", class: lines[0]?.cells[at]?.className || null }, each);
  const top = el("thead", el("tr", heads.map(head)));
  return el("table", { class: `data ${kind}` }, top, el("tbody", lines), foot && el("tfoot", el("tr", foot)));
}

/**
 * A forest plot. `lines`: for each its `head`, its `cells`, the `point` with `low` and `high`, and, where there are, its
 * `verdict` and whether it is a `part` of the line above. `zero`: they are differences. `factor`: from the unit of the
 * numbers to the axis's. `span`: the range of the axis, by default the lines'; `bounds` the numbers that it
 * does not leave. `ends`: the head of the plot.
 */
export function forest(label, heads, lines, { zero = false, factor = 1, bounds, span, ends, kind = "" } = {}) {
  const scale = span ?? spanOf(lines, { zero, bounds });
  const plot = ends ?? el("span.hidden-label", "plot");
  const [first, ...others] = heads;
  const there = lines.map(({ cells }) => cells.filter(Boolean));
  const isShown = (at) => there.some((cells) => cells[at].textContent !== "");
  const shown = others.map((_, at) => at).filter(isShown); // a column without a figure takes room from the plot
  const named = (cells) => {
    // where the screen is too narrow for heads, each number has its name before it
    shown.forEach((at) => (cells[at].dataset.name = others[at].textContent ?? others[at]));
    return shown.map((at) => cells[at]);
  };
  const rows = lines.map(({ head, part, cells: _, ...drawn }, at) =>
    line(head, [named(there[at]), el("td.strip", strip(drawn, scale, { zero, factor }))], part ? "part" : null),
  );
  const foot = [el("td", { colspan: shown.length + 1 }), el("td.strip", axis(scale, factor, { zero }))];
  return scroll(label, table(`forest ${kind}`, [first, ...shown.map((at) => others[at]), plot], rows, foot));
}

/** The range of an axis on which all these points and intervals find room. */
export const spanOf = (lines, options) =>
  range(
    lines.flatMap(({ point, low, high }) => [point, low, high]),
    options,
  );
