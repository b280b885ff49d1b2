// Text that others wrote. It is hostile by assumption: it becomes text nodes and nothing else, it is isolated from the
// direction of what surrounds it, and characters that hide, reorder or break text are shown by their names.

import { el, HIDDEN, numberOf } from "./dom.js";
import * as format from "./format.js";

const NAMES = {
  0x00ad: "SHY",
  0x061c: "ALM",
  0x200b: "ZWSP",
  0x200e: "LRM",
  0x200f: "RLM",
  0x2028: "LS",
  0x2029: "PS",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfeff: "BOM",
};
const MARKED = { differs: (mark) => mark, matches: () => "mark.matches" };
const LONG = 4000; // characters of one answer that are shown at first

/** A piece of text as nodes: hidden characters stand as boxed names instead of themselves. */
export function plain(text) {
  const nodes = [];
  const whole = text.replaceAll("\r\n", "\n");
  let end = 0;
  for (const match of whole.matchAll(HIDDEN)) {
    if (nodes.length > 2000) break;
    const point = numberOf(match[0]);
    nodes.push(whole.slice(end, match.index));
    nodes.push(el("span.control", { title: `the character ${point}` }, NAMES[match[0].codePointAt(0)] ?? point));
    end = match.index + match[0].length;
  }
  return [...nodes, whole.slice(end).replace(HIDDEN, "\ufffd")];
}

/**
 * A `Text` of the server. `mark`: the element of words that differ (mark, ins or del), null for none. `all`: called for
 * the whole text where the server cut it, or "shown" for all that is there.
 */
export function words(text, mark = "mark", all = null) {
  if (text === null || text === undefined) return el("p.text.dim", "no value");
  if (!text.length) return el("p.text.dim", "empty");
  const box = el("p.text", { dir: "auto" });
  const shown = (limit) => {
    let left = limit;
    return text.pieces.flatMap(([piece, kind]) => {
      const part = piece.slice(0, Math.max(left, 0));
      left -= piece.length;
      return !part ? [] : MARKED[kind] && mark ? [el(MARKED[kind](mark), {}, plain(part))] : plain(part);
    });
  };
  const whole = all === "shown";
  const held = text.pieces.reduce((total, [piece]) => total + piece.length, 0);
  box.append(...shown(whole ? Infinity : LONG));
  if (text.cut && typeof all !== "function") {
    return el(
      "div",
      box,
      el("p.note", `cut here, after ${format.count(held)} of ${format.count(text.length)} characters`),
    );
  }
  if (whole || (held <= LONG && !text.cut)) return box;
  const show = () => {
    if (text.cut) return all();
    box.replaceChildren(...shown(Infinity));
    more.remove();
    box.tabIndex = -1;
    return box.focus();
  };
  const more = el("button.chip", { onclick: show }, `Show all ${format.count(text.length)} characters`);
  return el("div", box, more);
}

/** A list of texts: one as it is, several as a numbered list, of which the first few are shown. */
export function texts(list, mark, all) {
  if (!list?.length) return words(null);
  if (list.length === 1) return words(list[0], mark, all);
  const few = all ? 10 : 3;
  const items = list.map((each) => el("li", words(each, mark, all)));
  const box = el("ol.several", items.slice(0, few));
  if (list.length <= few || all === "shown") return el("ol.several", items);
  if (!all) return el("div", box, el("p.note", `and ${format.count(list.length - few)} more`));
  const show = () => {
    box.append(...items.slice(few));
    more.remove();
  };
  const more = el("button.chip", { onclick: show }, `Show all ${format.count(list.length)}`);
  return el("div", box, more);
}

/** A short text in a line or a table, isolated. */
export const name = (text) => el("bdi", plain(String(text)));

/** A metric's spec, which may break before its settings. */
export const spec = (text) =>
  el(
    "bdi",
    plain(text).flatMap((part) =>
      typeof part === "string"
        ? part.split(/(?=[(])/).flatMap((each, at) => (at ? [el("wbr"), each] : [each]))
        : [part],
    ),
  );

/** What the server says, with its full stop. */
export const sentence = (message) => name(/[.?!]$/.test(message) ? message : `${message}.`);
