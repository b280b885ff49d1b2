// One row, whole: the question, the gold, what was retrieved, and each system's answer with its scores and the judges' words.

import { post, recall } from "./api.js";
import { announce, command, el, field, fill, select, visible } from "./dom.js";
import * as format from "./format.js";
import { heading, letter } from "./heading.js";
import { change, SIZE } from "./list.js";
import { about, address, current, go } from "./state.js";
import { name, texts, words } from "./text.js";

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
    document.title = visible(`Row ${shown.id} – karat`);
    announce(document.title);
    const all = async () => {
      shown = {
        ...(await post("row", { ...about(next), id: shown.id, full: true })),
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
  const listed = at !== "" && post("rows", { ...about(state), filter, sort, offset: Number(at), limit: 1 });
  const id = state.row || found((await listed) || { rows: [] });
  const [row, list] = await Promise.all([post("row", { ...about(state), id }), listed]);
  return { ...row, at, total: list && list.rows[0]?.id === id ? list.total : undefined };
}

/** The id of the only row of a list. */
function found({ rows, total }) {
  if (rows.length) return rows[0].id;
  throw new Error(total ? `The list has ${format.rows(total)}, none at this place.` : "The address names no row.");
}

function steps(state, { total }, step) {
  const place = Number(state.at);
  const to = (by, text, key) => {
    const disabled = place + by < 0 || place + by >= total;
    return el("button", { onclick: () => step(by), disabled, "data-key": text, "aria-keyshortcuts": key }, text);
  };
  const { runs, on, different, row } = state;
  const back = address({ ...state, screen: "rows", row: "", at: "", from: Math.floor(place / SIZE) * SIZE });
  const marks = select(MARKS, state.marks, (value) => go({ marks: value }, { replace: true }), { "data-key": "marks" });
  const count = () => el("span.count", `${format.count(place + 1)} of ${format.count(total)}`);
  return [
    el("a.button", { href: back }, "All rows"),
    total !== undefined && [to(-1, "← Previous", "k"), count(), to(1, "Next →", "j")],
    runs.length > 1 && field("Mark words that differ from", marks),
    el("a.button", { href: address({ screen: "row", runs, on, different, row }) }, "Link to this row"),
  ];
}

function whole(row, columns, state, all) {
  const { question, reference, answers } = row;
  const cards = answers.map((answer, at) =>
    answerCard(answer, at, { several: answers.length > 1, columns, state, all }),
  );
  return [
    el(
      "div.columns.ask",
      el("section.plain", el("h2", "Question"), words(question, null, all)),
      el("section.plain", el("h2", "Gold"), texts(reference, null, all)),
    ),
    el("section", el("h2", answers.length > 1 ? "Answers" : "Answer"), el("div.answers", cards)),
    contextsOf(row, all),
    facts(row.columns),
    command(row.command),
  ];
}

/** What was retrieved for each system; once where it is the same for all. */
function contextsOf({ contexts, answers }, all) {
  const lists = contexts.map((list) => list ?? []);
  if (lists.every((list) => !list.length)) return null;
  const head = el("h2", "Contexts");
  if (new Set(lists.map((list) => JSON.stringify(list))).size === 1) {
    return el(
      "section",
      head,
      lists.length > 1 && el("p.note", "The same for all systems."),
      texts(lists[0], null, all),
    );
  }
  const parts = lists.map((list, at) =>
    el("div", el("h3", letter(at), " ", name(answers[at].name)), texts(list, null, all)),
  );
  return el("section", head, parts);
}

function answerCard(answer, at, { several, columns, state, all }) {
  const other = state.marks === "other" && answer.against;
  const mark = state.marks === "none" ? null : other ? (at ? "ins" : "del") : "mark";
  const metric = columns.metrics.find(({ spec }) => spec === state.metric) ?? columns.metrics[0];
  const scores = columns.metrics.map((known, place) => scoreOf(known, answer.scores[place], answer.differences[place]));
  return el(
    `article.answer.${outcome(answer.differences[columns.metrics.indexOf(metric)], metric)}`,
    el("h3", several && [letter(at), " "], name(answer.name)),
    texts(other || answer.answer, mark, all),
    el("dl.facts.scores", scores),
    answer.reason && el("p.reason", name(answer.reason)),
    answer.judges.map((judge) => judgeOf(judge, all)),
    repetitionsOf(answer, columns, all),
  );
}

/** Whether an answer is better or worse than the first system's. */
function outcome(difference, metric) {
  if (!difference) return "same";
  return difference > 0 === (metric.direction !== "minimize") ? "better" : "worse";
}

function scoreOf(known, score, difference) {
  const shown =
    score === null ? el("span.dim", "unscored") : el("data", { value: score }, format.value(score, known.scale));
  return [el("dt", name(known.spec)), el("dd", shown, " ", difference !== null && change(difference, known))];
}

function repetitionsOf({ repetitions }, { metrics }, all) {
  if (!repetitions.length) return null;
  const score = (each, at) => `${metrics[at]?.spec} ${format.value(each, metrics[at]?.scale)}`;
  const parts = repetitions.map(({ id, answer, scores }) =>
    el(
      "div.repetition",
      texts(answer, "mark", all),
      el("p.note", "repetition ", name(id), ": ", name(scores.map(score).join(", "))),
    ),
  );
  return el("details", el("summary", `${parts.length} other answers to this question`), parts);
}

/** What a judge said: its label and reasons, its statements, the votes of a panel. */
function judgeOf({ metric, label, explanation, statements, votes, details, error, raw }, all) {
  const known = Object.entries(details).filter(([, value]) => value !== null);
  const listed = known.map(([key, value]) => `${key} ${format.brief(value)}`).join(", ");
  const cast = votes.map(({ name: who, vote }, at) => [
    at > 0 && ", ",
    name(who),
    " ",
    el("strong", name(vote ?? "no vote")),
  ]);
  return el(
    "section.judge",
    el("h4", name(metric), label && [": ", el("strong", name(label))]),
    explanation && words(explanation, null, all),
    error && el("div.reason", words(error, null, all)),
    statements.length > 0 &&
      el(
        "ol",
        statements.map((each) => statementOf(each, all)),
      ),
    cast.length > 0 && el("p.note", "Votes: ", cast),
    listed && el("p.note", name(listed)),
    raw && el("details", el("summary", "The reply as it came"), words(raw, null, all)),
  );
}

function statementOf({ statement, label, score, explanation }, all) {
  const verdict = el("p.note", el("strong", name(label ?? format.value(score))));
  return el("li", words(statement, null, all), verdict, explanation && words(explanation, null, all));
}

function facts(columns) {
  const list = Object.entries(columns);
  const lines = list.map(([key, value]) => [el("dt", name(key)), el("dd", texts(value, null, "shown"))]);
  return list.length > 0 && el("section", el("h2", "Columns"), el("dl.facts", lines));
}
