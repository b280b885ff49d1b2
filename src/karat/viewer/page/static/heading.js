// The head of a screen about picked runs: which they are, and the question that the screen answers.

import { el } from "./dom.js";
import { current, go } from "./state.js";
import { name } from "./text.js";

/** What a system is called: A to Z, then AA, AB and so on. */
export const letterOf = (at) =>
  (at < 26 ? "" : letterOf(Math.floor(at / 26) - 1)) + String.fromCharCode(65 + (at % 26));

export const letter = (at) => el("span.letter", letterOf(at));

/** The runs with their letters, A first, and a button that swaps two; in a report, where screens are parts, the title. */
export function heading(page, title, ...more) {
  if (page.report) return el("header", el("h2.part", title), more);
  const swap = () => {
    const { runs, filter } = current(); // what is said of one system would be of the other
    go({
      runs: runs.toReversed(),
      filter: filter.filter(({ field }) => field.system === undefined),
      sort: undefined,
      from: 0,
    });
  };
  const runs = page.picked.map((run, at) => el("span.system", letter(at), " ", name(run.name)));
  return el(
    "header.masthead",
    el(
      "div.kicker",
      page.picked.length > 1 ? runs : null,
      page.picked.length === 2 ? el("button.chip", { onclick: swap, "data-key": "swap" }, "Swap A and B") : null,
    ),
    el("h1", title),
    more,
  );
}
