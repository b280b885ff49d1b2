// The rows: question, gold and answers side by side, those of a filter, in an order, a page at a time.

import { post, recall } from "./api.js";
import { announce, command, el, field, fill, select } from "./dom.js";
import { describe, facetFields, fieldTitle, histogramFields, panel } from "./facets.js";
import * as format from "./format.js";
import { heading, letter } from "./heading.js";
import { about, address, current, go, same, sameRows } from "./state.js";
import { name, texts, words } from "./text.js";

const SIZE = 50;

export default async function open(state, page) {
  const columns = await recall("columns", about(state));
  const where = panel(columns);
  const tools = el("div.tools");
  const chips = el("div.chips", { role: "group", "aria-label": "Filter" });
  const list = el("section.list", { "aria-labelledby": "rows-title" });
  let pending = null;
  let facetsOf = null;
  let focus = null; // which row gets the focus after the next page is drawn

  const update = async (next) => {
    pending?.abort();
    pending = new AbortController();
    const { signal } = pending;
    const metric = columns.metrics.find((each) => each.spec === next.metric) ?? columns.metrics[0];
    fill(tools, settings(columns, metric, next));
    const request = { ...sameRows(next), filter: next.filter };
    list.setAttribute("aria-busy", "true");
    const rows = post("rows", { ...request, sort: next.sort, offset: next.from, limit: SIZE }, signal).then(
      (answer) => {
        fill(chips, filterChips(next, columns, metric, answer));
        fill(list, table(answer, columns, metric, next));
        list.removeAttribute("aria-busy");
        announce(`${format.count(answer.total)} of ${format.rows(answer.n)}`);
        if (focus)
          links()
            .at(focus === "last" ? -1 : 0)
            ?.focus();
        focus = null;
      },
    );
    const counted = JSON.stringify([next.filter, metric?.spec]);
    const facets =
      counted === facetsOf
        ? null
        : post(
            "facets",
            {
              ...request,
              fields: facetFields(columns.facets, metric?.spec),
              histograms: metric ? histogramFields(metric.spec, columns.systems) : [],
            },
            signal,
          ).then((answer) => {
            facetsOf = counted;
            where.draw(answer, current());
          });
    await Promise.all([rows, facets]);
  };
  const links = () => [...list.querySelectorAll("a.open")];
  const move = (step) => {
    const all = links();
    const at = all.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step;
    if (all[next]) all[next].focus();
    else turnPage(step);
  };
  const turnPage = (step) => {
    const button = list.querySelector(step > 0 ? "[data-key=next]" : "[data-key=previous]");
    if (!button || button.disabled) return;
    focus = step > 0 ? "first" : "last";
    button.click();
  };
  await update(state);
  return {
    title: "Rows",
    nodes: [
      heading(page, columns.systems.length > 1 ? "Where do the answers differ?" : "Where does it go wrong?"),
      el("div.split", where.box, el("div.results", tools, chips, list)),
    ],
    update,
    keys: { j: () => move(1), k: () => move(-1), "]": () => turnPage(1), "[": () => turnPage(-1) },
    close: () => pending?.abort(),
  };
}

/** What the list may be ordered by. */
function orders({ systems, columns }, metric) {
  const others = systems.slice(1).map((_, at) => at + 1);
  const of = (kind, system) => ({ kind, metric: metric.spec, system });
  const fields = metric
    ? [
        ...others.map((at) => of("difference", at)),
        ...others.map((at) => of("size", at)),
        ...systems.map((_, at) => of("score", at)),
      ]
    : [];
  fields.push(
    { kind: "id" },
    ...columns.filter((column) => column.sort).map((column) => ({ kind: "column", name: column.name })),
  );
  return fields;
}

function settings(columns, metric, state) {
  const { systems, metrics } = columns;
  const fields = orders(columns, metric);
  const at = fields.findIndex((each) => same(each, state.sort?.field));
  const order = (field, descending) => go({ sort: field && { field, descending }, from: 0 }, { replace: true });
  const byField = select(
    [["-1", "as in A"], ...fields.map((each, place) => [String(place), fieldTitle(each, systems)])],
    String(at),
    (value) => order(fields[value] ?? null, fields[value]?.kind !== "id" && fields[value]?.kind !== "column"),
    { "data-key": "order" },
  );
  const { descending = false } = state.sort ?? {};
  const flip =
    at >= 0 &&
    el(
      "button",
      { "data-key": "flip", onclick: () => order(fields[at], !descending) },
      descending ? "Largest first ↓" : "Smallest first ↑",
    );
  const byMetric = select(
    metrics.map((each) => [each.spec, each.spec]),
    metric?.spec,
    (value) => {
      const filter = state.filter.filter(
        (each) => !each.field.metric || each.field.metric === value || each.field.kind === "label",
      );
      const sort = state.sort?.field.metric
        ? { ...state.sort, field: { ...state.sort.field, metric: value } }
        : state.sort;
      go({ metric: value, filter, sort, from: 0 }, { replace: true });
    },
    { "data-key": "metric" },
  );
  return [metrics.length ? field("Metric", byMetric) : null, field("Order", byField), flip];
}

function filterChips(state, { systems, metrics }, metric, { total, n }) {
  const scale = metric?.scale ?? 1;
  const remove = (at) => go({ filter: state.filter.filter((_, place) => place !== at), from: 0 }, { replace: true });
  const chips = state.filter.map((condition, at) => {
    const own = metrics.find((each) => each.spec === condition.field.metric)?.scale ?? scale;
    return el(
      "button.chip",
      { onclick: () => remove(at), "data-key": `chip ${at}`, title: "Remove this condition" },
      name(describe(condition, systems, own)),
      el("span", { "aria-hidden": "true" }, " ×"),
      el("span.hidden-label", ", remove"),
    );
  });
  const clear = el(
    "button.chip",
    { onclick: () => go({ filter: [], from: 0 }, { replace: true }), "data-key": "clear" },
    "Show all rows",
  );
  return [
    el(
      "h2",
      { id: "rows-title", class: "count" },
      state.filter.length ? `${format.count(total)} of ${format.rows(n)}` : format.rows(n),
    ),
    chips,
    chips.length ? clear : null,
  ];
}

function table(answer, columns, metric, state) {
  const { systems } = columns;
  if (!answer.rows.length) return [el("p.dim", "No row fits the filter."), command(answer.command)];
  const place = columns.metrics.indexOf(metric);
  const pair = systems.length === 2;
  const sortable = (on, text) => {
    if (!metric) return el("th", { scope: "col" }, text);
    const sorted = same(on, state.sort?.field) ? (state.sort.descending ? "descending" : "ascending") : null;
    const flip = () => go({ sort: { field: on, descending: sorted !== "descending" }, from: 0 }, { replace: true });
    return el(
      "th",
      { scope: "col", "aria-sort": sorted, class: on.kind === "difference" ? "num" : null },
      el("button", { onclick: flip, "data-key": `head ${on.kind} ${on.system}` }, text),
    );
  };
  const score = (system) => ({ kind: "score", metric: metric?.spec, system });
  const heads = systems.map((system, at) =>
    sortable(score(at), [systems.length > 1 ? [letter(at), " "] : null, name(system.name)]),
  );
  if (pair) heads.push(sortable({ kind: "difference", metric: metric?.spec, system: 1 }, "B − A"));
  return [
    el(
      "table.data.rows",
      el("thead", el("tr", el("th", { scope: "col" }, "Question and gold"), heads)),
      el(
        "tbody",
        answer.rows.map((row, at) => line(row, systems, { metric, place, pair, state, at: answer.offset + at })),
      ),
    ),
    pager(answer, state),
    command(answer.command),
  ];
}

function line(row, systems, { metric, place, pair, state, at }) {
  const to = address({ ...state, screen: "row", from: 0, row: row.id, at });
  const question = row.question?.length ? words(row.question, null) : el("p.text", "row ", name(row.id));
  const answers = row.answers.map((answer, system) =>
    el(
      "td.answer-cell",
      { "data-label": systems[system].name },
      scoreLine(answer, metric, place, pair ? null : answer.differences[place]),
      texts(answer.answer, "mark"),
      answer.reason && answer.scores[place] === null ? el("p.reason", name(answer.reason)) : null,
    ),
  );
  return el(
    "tr",
    el(
      "th",
      { scope: "row" },
      el("a.open", { href: to, "data-key": `row ${row.id}` }, question),
      row.reference?.length
        ? el(
            "div.gold",
            el("span.dim", "gold "),
            row.reference.map((each, place) => [place ? el("span.dim", " or ") : null, words(each, null)]),
          )
        : null,
    ),
    answers,
    pair ? el("td.num", change(row.answers[1].differences[place], metric)) : null,
  );
}

/** A score with what a judge said; `difference` from the first system, or null. */
function scoreLine({ scores, labels }, metric, place, difference) {
  if (!metric) return null;
  const score = scores[place];
  const shown =
    score === null || score === undefined
      ? el("span.dim", "unscored")
      : el("data.score", { value: score }, format.value(score, metric.scale));
  return el(
    "div.row-head",
    shown,
    difference === null || difference === undefined ? null : change(difference, metric),
    labels[place] ? name(labels[place]) : null,
  );
}

/** A difference with its sign, its colour and, for a screen reader, its meaning. */
export function change(difference, metric) {
  if (difference === null || difference === undefined) return "–";
  const good = metric.direction === "minimize" ? -difference : difference;
  const verdict = good > 0 ? "better" : good < 0 ? "worse" : "same";
  return el(
    "span",
    { class: `verdict ${verdict}`, title: verdict },
    el("data", { value: difference }, format.difference(difference, metric.scale)),
  );
}

function pager({ total, offset, rows }, state) {
  const to = (key, from, text) =>
    el("button", { "data-key": key, disabled: from < 0 || from >= total, onclick: () => go({ from }, {}) }, text);
  const previous = offset ? Math.max(0, offset - SIZE) : -1;
  return el(
    "nav.tools",
    { "aria-label": "Pages" },
    to("previous", previous, "← Previous"),
    el(
      "span.count",
      `rows ${format.count(offset + 1)} to ${format.count(offset + rows.length)} of ${format.count(total)}`,
    ),
    to("next", offset + SIZE, "Next →"),
  );
}
