// One row, whole: the question, the gold, what was retrieved, and each system's answer with its scores and the judges' words.

import { get, post, recall } from "./api.js";
import { announce, command, el, field, fill, select } from "./dom.js";
import * as format from "./format.js";
import { heading, letter } from "./heading.js";
import { change, SIZE } from "./list.js";
import { about, address, current, go, sameRows } from "./state.js";
import { name, plain, texts, words } from "./text.js";

const MARKS = [
  ["gold", "the gold"],
  ["other", "the other answer"],
  ["none", "nothing"],
];

export default async function open(state, page) {
  const columns = await recall("columns", about(state));
  const body = el("div");
  const way = el("nav.tools", { "aria-label": "Rows" });
  const title = el("span");
  let turn = 0;
  let shown = null; // the row on the screen, with its place in the list
  const update = async (next) => {
    const mine = ++turn;
    const row = shown && shown.id === next.row && shown.at === next.at ? shown : await read(next);
    if (mine !== turn) return;
    if (row.id !== shown?.id) scrollTo(0, 0);
    shown = row;
    if (shown.id !== next.row) return go({ row: shown.id }, { replace: true });
    title.replaceChildren("Row ", name(shown.id));
    document.title = `Row ${shown.id} – karat`;
    announce(document.title);
    const all = async () => {
      shown = {
        ...(await get("row", { ...about(next), id: shown.id, full: 1 })),
        at: next.at,
        total: shown.total,
        full: true,
      };
      update(current());
    };
    fill(way, steps(next, shown, step));
    fill(body, whole(shown, columns, next, shown.full ? "shown" : all));
  };
  /** Go on by so many rows from where the address is, which may be ahead of the screen. */
  const step = (by) => {
    const at = Number(current().at) + by;
    if (shown.total !== undefined && at >= 0 && at < shown.total) go({ row: "", at: String(at) });
  };
  await update(state);
  return {
    title: `Row ${state.row}`,
    nodes: [heading(page, title), way, body],
    update,
    keys: { j: () => step(1), k: () => step(-1) },
  };
}

/** The row of the address: by its id, or, where that is left out, by its place in the list of the filter. */
async function read(state) {
  const { filter, sort, at } = state;
  const listed = at !== "" && post("rows", { ...sameRows(state), filter, sort, offset: Number(at), limit: 1 });
  const id = state.row || (await listed).rows[0]?.id;
  const [row, list] = await Promise.all([get("row", { ...about(state), id }), listed]);
  return { ...row, at, total: list && list.rows[0]?.id === id ? list.total : undefined };
}

function steps(state, { total }, step) {
  const place = Number(state.at);
  const to = (by, text, key) =>
    el(
      "button",
      {
        "data-key": text,
        "aria-keyshortcuts": key,
        disabled: place + by < 0 || place + by >= total,
        onclick: () => step(by),
      },
      text,
    );
  const { runs, on, different, metric, filter, sort } = state;
  const back = address({
    screen: "rows",
    runs,
    on,
    different,
    metric,
    filter,
    sort,
    from: Math.floor(place / SIZE) * SIZE,
  });
  const marks = select(MARKS, state.marks, (value) => go({ marks: value }, { replace: true }), { "data-key": "marks" });
  const link = address({ screen: "row", runs, on, different, row: state.row });
  return [
    el("a", { href: back, class: "button" }, "All rows"),
    total === undefined
      ? null
      : [
          to(-1, "← Previous", "k"),
          el("span.count", `${format.count(place + 1)} of ${format.count(total)}`),
          to(1, "Next →", "j"),
        ],
    runs.length > 1 ? field("Mark words that differ from", marks) : null,
    el("a", { href: link, class: "button" }, "Link to this row"),
  ];
}

function whole(row, columns, state, all) {
  const by = runsWithContexts(row);
  return [
    el(
      "div.columns.ask",
      el("section.plain", el("h2", "Question"), words(row.question, null, all)),
      el("section.plain", el("h2", "Gold"), texts(row.reference, null, all)),
    ),
    el(
      "section",
      el("h2", row.answers.length > 1 ? "Answers" : "Answer"),
      el(
        "div.answers",
        row.answers.map((answer, at) => answerOf(answer, at, row, columns, state, all)),
      ),
    ),
    by.length
      ? el(
          "section",
          el("h2", "Contexts"),
          by.length < row.answers.length ? el("p.note", "The same for all systems.") : null,
          by.map(([title, list]) => el("div", title ? el("h3", title) : null, texts(list, null, all))),
        )
      : null,
    facts(row.columns),
    command(row.command),
  ];
}

/** The contexts with whose they are; once where all systems had the same. */
function runsWithContexts({ contexts, answers }) {
  const lists = (contexts ?? [])
    .map((list, at) => [[letter(at), " ", name(answers[at].name)], list])
    .filter(([, list]) => list?.length);
  const one = new Set(lists.map(([, list]) => JSON.stringify(list))).size === 1;
  return one ? [[null, lists[0][1]]] : lists;
}

function answerOf(answer, at, row, columns, state, all) {
  const other = state.marks === "other" && answer.against;
  const mark = state.marks === "none" ? null : other ? (at ? "ins" : "del") : "mark";
  const first = columns.metrics.find((metric) => metric.spec === state.metric) ?? columns.metrics[0];
  const of = answer.scores.find((each) => each.metric === first?.spec);
  const good = of?.difference ? Math.sign(of.difference) * (first.direction === "minimize" ? -1 : 1) : 0;
  return el(
    "article",
    { class: `answer ${good > 0 ? "better" : good < 0 ? "worse" : ""}` },
    el("h3", row.answers.length > 1 ? [letter(at), " "] : null, name(answer.name)),
    texts(other ? answer.against : answer.answer, mark, all),
    el(
      "dl.facts.scores",
      answer.scores.map((each) => scoreOf(each, columns)),
    ),
    answer.reason ? el("p.reason", name(answer.reason)) : null,
    answer.judges.map((judge) => judgeOf(judge, all)),
    answer.repetitions.length
      ? el(
          "details",
          el("summary", `${answer.repetitions.length} other answers to this question`),
          answer.repetitions.map((each) =>
            el(
              "div.repetition",
              texts(each.answer, "mark", all),
              el(
                "p.note",
                "row ",
                name(each.id),
                ": ",
                each.scores
                  .map(
                    (score, metric) =>
                      `${columns.metrics[metric]?.spec ?? ""} ${format.value(score, columns.metrics[metric]?.scale)}`,
                  )
                  .join(", "),
              ),
            ),
          ),
        )
      : null,
  );
}

function scoreOf({ metric, score, difference }, columns) {
  const known = columns.metrics.find((each) => each.spec === metric) ?? { scale: 1, direction: "maximize" };
  const shown =
    score === null ? el("span.dim", "unscored") : el("data", { value: score }, format.value(score, known.scale));
  return [el("dt", name(metric)), el("dd", shown, " ", difference === null ? null : change(difference, known))];
}

/** What a judge said: its label and reasons, its statements, the votes of a panel. */
function judgeOf({ metric, label, explanation, statements, votes, details, error, raw }, all) {
  const listed = Object.entries(details ?? {}).filter(([, value]) => value !== null);
  return el(
    "section.judge",
    el("h4", name(metric), label ? [": ", el("strong", name(label))] : null),
    explanation ? words(explanation, null, all) : null,
    error ? el("p.reason", name(error)) : null,
    statements?.length
      ? el(
          "ol",
          statements.map((each) =>
            el(
              "li",
              words(each.statement, null, all),
              el(
                "p.note",
                el("strong", name(each.label ?? format.value(each.score))),
                each.explanation ? [": ", textOf(each.explanation)] : null,
              ),
            ),
          ),
        )
      : null,
    votes?.length
      ? el(
          "p.note",
          "Votes: ",
          votes.map(({ name: who, vote }, at) => [at ? ", " : "", name(who), " ", el("strong", name(vote))]),
        )
      : null,
    listed.length ? el("p.note", name(listed.map(([key, value]) => `${key} ${format.brief(value)}`).join(", "))) : null,
    raw
      ? el(
          "details",
          el("summary", "The reply as it came"),
          typeof raw === "string" ? el("p.text", plain(raw)) : words(raw, null, all),
        )
      : null,
  );
}

const textOf = (text) => (typeof text === "string" ? name(text) : name(text.pieces.map(([piece]) => piece).join("")));

function facts(columns) {
  const list = Object.entries(columns ?? {});
  const lines = list.map(([key, value]) => [el("dt", name(key)), el("dd", texts(value, null, "shown"))]);
  return list.length > 0 && el("section", el("h2", "Columns"), el("dl.facts", lines));
}
