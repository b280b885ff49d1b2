// How each run was made: its call, settings, signatures and versions, side by side, with what differs marked.

import { recall } from "./api.js";
import { command, el, scroll } from "./dom.js";
import * as format from "./format.js";
import { heading, letter } from "./heading.js";
import { name } from "./text.js";

const TITLES = {
  "": "Run",
  metrics: "Metrics",
  mapping: "Columns",
  settings: "Settings",
  sources: "Sources",
  versions: "Versions",
  machine: "Machine",
  digests: "Digests",
  models: "Models",
};

export default async function open(state, page) {
  const answers = await Promise.all(state.runs.map((run) => recall("provenance", { runs: [run] })));
  const lists = answers.map(({ manifest }) => new Map(flatten(manifest)));
  const keys = [...new Set(lists.flatMap((list) => [...list.keys()]))];
  const parts = Map.groupBy(keys, (key) => key.split("\0")[0]);
  const sections = [...parts].map(([part, own]) =>
    el(
      "tbody",
      el("tr.head", el("th", { scope: "rowgroup", colspan: lists.length + 1 }, TITLES[part] ?? part)),
      own.map((key) =>
        line(
          key,
          lists.map((list) => list.get(key)),
        ),
      ),
    ),
  );
  const several = lists.length > 1;
  return {
    title: "Provenance",
    nodes: [
      heading(page, several ? "How were the runs made?" : "How was the run made?"),
      several ? el("p.note", "Lines that differ are marked with ≠.") : null,
      scroll(
        "Provenance",
        el(
          "table.data.provenance",
          el(
            "thead",
            { class: several ? null : "hidden-label" },
            el(
              "tr",
              el("td"),
              page.picked.map((run, at) =>
                el("th", { scope: "col" }, several ? [letter(at), " "] : null, name(run.name)),
              ),
            ),
          ),
          sections,
        ),
      ),
      answers.map((answer) => command(answer.command)),
    ],
  };
}

/** The manifest, but for the checksums of files, as pairs of a path and a text; facts that stand alone come first. */
function flatten({ files, ...manifest }) {
  const parts = Object.entries(manifest);
  const alone = parts.filter(([, value]) => typeof value !== "object" || value === null);
  const rest = parts.filter(([, value]) => typeof value === "object" && value !== null);
  return [
    ...alone.map(([key, value]) => [`\0${key}`, spell(key, value)]),
    ...rest.flatMap(([part, value]) =>
      Array.isArray(value)
        ? value.map((each, at) => [`${part}\0${each?.spec ?? at + 1}`, each?.signature ?? spell("", each)])
        : Object.entries(value).map(([key, each]) => [`${part}\0${key}`, spell(key, each)]),
    ),
  ].filter(([, text]) => text !== "");
}

function spell(key, value) {
  if (value === null || value === undefined) return "";
  if (key === "created") return value && `${format.time(value)} UTC`;
  if (key === "seconds" && typeof value === "number") return `${value.toFixed(1)}`;
  if (Array.isArray(value)) return value.map((each) => spell("", each)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function line(key, values) {
  const differs = key !== "\0name" && new Set(values).size > 1;
  return el(
    "tr",
    el(
      "th",
      { scope: "row" },
      name(key.split("\0")[1]),
      differs ? el("span.differs", { title: "differs" }, " ≠") : null,
    ),
    values.map((value) => el("td", value === undefined ? el("span.dim", "–") : name(value))),
  );
}
