// One row, whole: the question, the gold, what was retrieved, and each system's answer with its scores and the judges' words.

import { get, post, recall } from "./api.js";
import { announce, command, el, field, fill, select } from "./dom.js";
import * as format from "./format.js";
import { heading, letter } from "./heading.js";
import { change } from "./rows.js";
import { about, address, current, go, sameRows } from "./state.js";
import { name, plain, texts, words } from "./text.js";

const MARKS = [["gold", "the gold"], ["other", "the other answer"], ["none", "nothing"]];

export default async function open(state, page) {
  const columns = await recall("columns", about(state));
  const body = el("div", {});
  const way = el("nav", { class: "tools", "aria-label": "Rows" });
  let neighbours = {};
  let shown = null;
  const update = async (next) => {
    if (shown?.id !== next.row) {
      const one = get("row", { ...about(next), id: next.row });
      [shown, neighbours] = await Promise.all([one, around(next)]);
      scrollTo(0, 0);
      announce(`row ${next.row}`);
    }
    const all = async () => {
      shown = await get("row", { ...about(next), id: next.row, full: 1 });
      update(current());
    };
    fill(way, steps(next, neighbours));
    fill(body, whole(shown, columns, next, page, all));
  };
  await update(state);
  const step = (to) => () => neighbours[to] && go(neighbours[to]);
  return {
    title: `Row ${state.row}`,
    nodes: [heading(page, ["Row ", name(state.row)]), way, body],
    update: async (next) => {
      await update(next);
      document.querySelector("h1").replaceChildren("Row ", name(next.row));
      document.title = `Row ${next.row} – karat`;
    },
    keys: { j: step("next"), k: step("previous") },
  };
}

/** The rows before and after this one in the list that it was opened from. */
async function around(state) {
  const { filter, sort, at, row } = state;
  if (at === "") return {};
  const place = Number(at);
  const first = Math.max(0, place - 1);
  const answer = await post("rows", { ...sameRows(state), filter, sort, offset: first, limit: 3 });
  if (answer.rows[place - first]?.id !== row) return {};
  const to = (offset) => answer.rows[offset - first] && { row: answer.rows[offset - first].id, at: String(offset) };
  return { previous: place ? to(place - 1) : null, next: to(place + 1), place, total: answer.total };
}

function steps(state, { previous, next, place, total }) {
  const to = (target, key, text) => el("button", { type: "button", "data-key": key, disabled: !target, onclick: () => go(target), "aria-keyshortcuts": key === "next" ? "j" : "k" }, text);
  const { runs, on, different, metric, filter, sort } = state;
  const back = address({ screen: "rows", runs, on, different, metric, filter, sort, from: Math.floor((Number(state.at) || 0) / 50) * 50 });
  const marks = select(MARKS, state.marks, (value) => go({ marks: value }, { replace: true }), { "data-key": "marks" });
  const link = address({ screen: "row", runs, on, different, row: state.row });
  return [
    el("a", { href: back, class: "button" }, "All rows"),
    total === undefined ? null : [to(previous, "previous", "← Previous"), el("span", { class: "count" }, `${format.count(place + 1)} of ${format.count(total)}`), to(next, "next", "Next →")],
    runs.length > 1 ? field("Mark words that differ from", marks) : null,
    el("a", { href: link, class: "button" }, "Link to this row"),
  ];
}

function whole(row, columns, state, page, all) {
  const by = runsWithContexts(row);
  return [
    el("div", { class: "columns ask" },
      el("section", { class: "plain" }, el("h2", {}, "Question"), words(row.question, null, all)),
      el("section", { class: "plain" }, el("h2", {}, "Gold"), texts(row.reference, null, all))),
    el("section", {}, el("h2", {}, row.answers.length > 1 ? "Answers" : "Answer"),
      el("div", { class: "answers" }, row.answers.map((answer, at) => answerOf(answer, at, row, columns, state, all)))),
    by.length ? el("section", {}, el("h2", {}, "Contexts"), by.length < row.answers.length ? el("p", { class: "note" }, "The same for all systems.") : null, by.map(([title, list]) => el("div", {}, title ? el("h3", {}, title) : null, texts(list, null, all)))) : null,
    facts(row.columns),
    command(row.command),
  ];
}

/** The contexts with whose they are; once where all systems had the same. */
function runsWithContexts({ contexts, answers }) {
  const given = (contexts ?? []).map((list, at) => [[letter(at), " ", name(answers[at].name)], list]).filter(([, list]) => list?.length);
  const one = new Set(given.map(([, list]) => JSON.stringify(list))).size === 1;
  return one ? [[null, given[0][1]]] : given;
}

function answerOf(answer, at, row, columns, state, all) {
  const other = state.marks === "other" && answer.against;
  const mark = state.marks === "none" ? null : other ? (at ? "ins" : "del") : "mark";
  const first = columns.metrics.find((metric) => metric.spec === state.metric) ?? columns.metrics[0];
  const of = answer.scores.find((each) => each.metric === first?.spec);
  const good = of?.difference ? Math.sign(of.difference) * (first.direction === "minimize" ? -1 : 1) : 0;
  return el("article", { class: `answer ${good > 0 ? "better" : good < 0 ? "worse" : ""}` },
    el("h3", {}, row.answers.length > 1 ? [letter(at), " "] : null, name(answer.name)),
    texts(other ? answer.against : answer.answer, mark, all),
    el("dl", { class: "facts scores" }, answer.scores.map((each) => scoreOf(each, columns))),
    answer.reason ? el("p", { class: "reason" }, name(answer.reason)) : null,
    answer.judges.map((judge) => judgeOf(judge, all)),
    answer.repetitions.length ? el("details", {}, el("summary", {}, `${answer.repetitions.length} other answers to this question`),
      answer.repetitions.map((each) => el("div", { class: "repetition" }, texts(each.answer, "mark", all), el("p", { class: "note" }, "row ", name(each.id), ": ",
        each.scores.map((score, metric) => `${columns.metrics[metric]?.spec ?? ""} ${format.value(score, columns.metrics[metric]?.scale)}`).join(", "))))) : null);
}

function scoreOf({ metric, score, difference }, columns) {
  const known = columns.metrics.find((each) => each.spec === metric) ?? { scale: 1, direction: "maximize" };
  const shown = score === null ? el("span", { class: "dim" }, "unscored") : el("data", { value: score }, format.value(score, known.scale));
  return [el("dt", {}, name(metric)), el("dd", {}, shown, " ", difference === null ? null : change(difference, known))];
}

/** What a judge said: its label and reasons, its statements, the votes of a panel. */
function judgeOf({ metric, label, explanation, statements, votes, details, error, raw }, all) {
  const listed = Object.entries(details ?? {}).filter(([, value]) => value !== null);
  return el("section", { class: "judge" }, el("h4", {}, name(metric), label ? [": ", el("strong", {}, name(label))] : null),
    explanation ? words(explanation, null, all) : null,
    error ? el("p", { class: "reason" }, name(error)) : null,
    statements?.length ? el("ol", {}, statements.map((each) => el("li", {}, words(each.statement, null, all),
      el("p", { class: "note" }, el("strong", {}, name(each.label ?? format.value(each.score))), each.explanation ? [": ", textOf(each.explanation)] : null)))) : null,
    votes?.length ? el("p", { class: "note" }, "Votes: ", votes.map(({ name: who, vote }, at) => [at ? ", " : "", name(who), " ", el("strong", {}, name(vote))])) : null,
    listed.length ? el("p", { class: "note" }, name(listed.map(([key, value]) => `${key} ${value}`).join(", "))) : null,
    raw ? el("details", {}, el("summary", {}, "The reply as it came"), typeof raw === "string" ? el("p", { class: "text" }, plain(raw)) : words(raw, null, all)) : null);
}

const textOf = (text) => (typeof text === "string" ? name(text) : name(text.pieces.map(([piece]) => piece).join("")));

function facts(columns) {
  const list = Object.entries(columns ?? {});
  if (!list.length) return null;
  return el("section", {}, el("h2", {}, "Columns"), el("dl", { class: "facts" }, list.map(([key, value]) =>
    [el("dt", {}, name(key)), el("dd", {}, value === null ? el("span", { class: "dim" }, "no value") : name(typeof value === "object" ? JSON.stringify(value) : value))])));
}
