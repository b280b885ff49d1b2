// Bars of a metric that is 0 or 1 on every row: how many rows a system won, tied and lost, and how many have which score.

import { el, svg } from "./dom.js";
import * as format from "./format.js";

const HEIGHT = 10;

/** Rows won to the right, lost to the left, and half of the ties on each side of the middle. */
export function outcomeBar(won, lost, tied) {
  const half = tied / 2 + Math.max(won, lost) || 1;
  const parts = [
    ["worse", "lost", lost, -tied / 2 - lost],
    ["same", "tied", tied, -tied / 2],
    ["better", "won", won, tied / 2],
  ];
  const described = parts.map(([, text, count]) => `${text} ${format.count(count)}`).join(", ");
  const drawn = parts.map(([kind, text, count, start]) =>
    part(kind, `${text}: ${format.rows(count)}`, 50 + (50 * start) / half, (50 * count) / half),
  );
  return svg("svg.plot.outcomes", { height: HEIGHT, role: "img", "aria-label": described }, drawn);
}

const part = (kind, title, start, size) =>
  svg("g", { class: kind }, svg("title", title), svg("rect.bar", { x: `${start}%`, width: `${size}%`, height: HEIGHT }));

/** How many rows have the score 1 and how many 0, each to pick: `pick([score, score], "between")`, `pick(null)` for all. */
export function scoreBar({ all, kept, missing }, { title, scale, picked, pick, key }) {
  const ends = [1, 0].map((score) => ({ score, all: all.at(-score), kept: kept.at(-score) }));
  const total = ends[0].all + ends[1].all || 1;
  const share = (100 * ends[0].all) / total;
  const label = ({ score, kept: some, all: every }) =>
    `${format.value(score, scale)}: ${format.count(some)} of ${format.count(every)}`;
  const bar = svg(
    "svg.plot.outcomes",
    { height: HEIGHT, role: "img", "aria-label": `${title}: ${ends.map(label).join(", ")}` },
    part("full", label(ends[0]), 0, share),
    part("same", label(ends[1]), share, 100 - share),
  );
  const chips = ends.map((end) => {
    const chosen = picked?.[0] === end.score && picked?.[1] === end.score;
    const choose = () => pick(chosen ? null : [end.score, end.score], "between");
    const names = { "aria-pressed": String(chosen), "data-key": `${key} ${end.score}` };
    return el("button.chip", { onclick: choose, ...names }, label(end));
  });
  const without = missing.all > 0 && el("p.note", `${format.count(missing.all)} unscored`);
  return el("figure.figure", el("figcaption", title), bar, el("div.chips", chips), without);
}
