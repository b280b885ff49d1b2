// Labels by people: a row, the labels to choose from, one key each. Neither system nor score is shown.

import { post, Refused } from "./api.js";
import { axis, range, strip } from "./charts.js";
import { announce, command, el, field, fill } from "./dom.js";
import * as format from "./format.js";
import { name, sentence, texts } from "./text.js";

const DIGITS = "1234567890";
const MOST_NOTE = 4000; // characters, of which the server takes no more
const INSTANT = 300; // ms after a row came on the screen, in which nobody can have read it
const SILENT = "Not kept: no answer came from the server. Start karat view again, then press the key again.";

export default async function open(state, page) {
  if (!page.labels) return unavailable(page);
  const { runs } = state;
  const body = el("div");
  const problem = el("p.reason", { role: "alert", hidden: true });
  const note = el("input", {
    type: "text",
    maxlength: MOST_NOTE,
    "data-key": "note",
    autocomplete: "off",
    onkeydown: leave,
  });
  const gold = el("input", { type: "text", maxlength: MOST_NOTE, "data-key": "gold", autocomplete: "off", onkeydown: leave });
  const chosen = new Set(); // places of answers that are right beside the gold, or instead of it
  let row = await post("label/next", { runs });
  let busy = false;
  let turn = 0; // of the row on the screen
  let seen = 0; // the turn whose row has been on the screen for an instant: no other one is labelled

  const draw = () => {
    const mine = ++turn;
    fill(body, row.at === null ? finished(row) : whole(row, { note, gold, chosen }, { send, undo, step }));
    body.querySelector(".cell")?.focus({ preventScroll: true });
    const verdicts = body.querySelector(".verdicts");
    verdicts?.setAttribute("aria-busy", "true");
    const painted = () => setTimeout(() => mine === turn && ((seen = mine), verdicts?.removeAttribute("aria-busy")), INSTANT);
    requestAnimationFrame(() => requestAnimationFrame(painted)); // the first one is before the row is painted
  };
  /** Ask for another row, or send what was chosen for the one on the screen; one request at a time. */
  async function ask(request) {
    if (busy) return;
    busy = true;
    try {
      row = await request();
      note.value = row.mark?.note ?? "";
      gold.value = "";
      chosen.clear();
      problem.hidden = true;
      announce(row.interval?.stop || `${row.finished} of ${row.total} done`);
    } catch (error) {
      if (error.status === 409) row = error.body;
      problem.replaceChildren(sentence(error.status ? error.message : SILENT));
      problem.hidden = false;
      if (!(error instanceof Refused)) console.error(error);
    } finally {
      busy = false;
    }
    scrollTo(0, 0);
    draw();
  }
  const right = () => (row.takes_gold ? { chosen: [...chosen], gold: gold.value } : {});
  /** A label or a skip; for a row that is shown with one, it takes its place. */
  const send = (action, choice) => {
    if (row.at === null) return;
    if (seen !== turn) return announce("This row has only just come: press the key again.");
    return ask(() =>
      post("label", { runs, action, at: row.at, note: note.value, replace: Boolean(row.mark), ...right(), ...choice }),
    );
  };
  const undo = () => ask(() => post("label", { runs, action: "undo", ...(row.mark ? { at: row.at } : {}) }));
  const choose = (at) => () => row.choices[at] && send("label", { label: row.choices[at].name });
  const move = (by) => {
    const at = (row.at ?? row.total) + by;
    return at >= 0 && at < row.total && ask(() => post("label/next", { runs, at }));
  };
  let moves = Promise.resolve(); // keys that come quickly move one after the other; a label never waits for another row
  const step = (by) => () => (moves = moves.then(() => move(by)));
  function leave(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    body.querySelector(".cell")?.focus();
  }
  return {
    title: "Label",
    ready: draw,
    nodes: [el("header.masthead", el("h1", "Label")), problem, body],
    keys: {
      ...Object.fromEntries([...DIGITS].map((digit, at) => [digit, choose(at)])),
      j: step(1),
      k: step(-1),
      s: () => send("skip"),
      u: undo,
      n: () => note.focus(),
      a: () => row.takes_gold && gold.focus(),
    },
  };
}

function whole(row, { note, gold, chosen }, { send, undo, step }) {
  const cells = row.cells.map(({ name: title, values }) =>
    el(
      "section.cell",
      { tabindex: -1, "aria-label": title },
      el("h2", name(title)),
      row.takes_gold && title === "answers" ? choosable(values, chosen) : texts(values, null, "shown"),
    ),
  );
  const choices = row.choices.map(({ name: label, score }, at) =>
    el(
      "button.choice",
      {
        onclick: () => send("label", { label }),
        "aria-pressed": row.mark ? String(row.mark.label === label) : null,
        "data-key": `choice ${at}`,
        "aria-keyshortcuts": DIGITS[at],
      },
      el("kbd", DIGITS[at]),
      " ",
      name(label),
      row.takes_gold ? null : el("small.dim", ` scores ${format.value(score)}`),
    ),
  );
  const other = (key, text, act) =>
    el("button", { onclick: act, "data-key": text, "aria-keyshortcuts": key }, el("kbd", key), ` ${text}`);
  return [
    progress(row),
    row.mark &&
      el(
        "p.note",
        row.mark.label === null
          ? "You skipped this row."
          : ["You labelled this row ", el("strong", name(row.mark.label)), row.mark.new.map((each) => [", ", name(each)]), "."],
      ),
    el("div.cells", cells),
    el(
      "div.verdicts",
      el("div.tools.choices", { role: "group", "aria-label": "Labels" }, choices),
      el(
        "div.tools",
        row.takes_gold && field(el("span", "Another gold ", el("kbd", "a")), gold, true),
        field(el("span", row.takes_gold ? "Why " : "Note ", el("kbd", "n")), note, true),
        other("s", "Skip", () => send("skip")),
        other("u", "Undo", undo),
        other("k", "Previous", step(-1)),
        other("j", "Next", step(1)),
      ),
    ),
    command(row.command),
  ];
}

/** Answers, each with a box that says that it is right. */
const choosable = (values, chosen) =>
  values.map((value, at) =>
    el(
      "label.answer",
      el("input", {
        type: "checkbox",
        "data-key": `answer ${at}`,
        onchange: ({ target }) => (target.checked ? chosen.add(at) : chosen.delete(at)),
      }),
      texts([value], null, "shown"),
    ),
  );

const progress = ({ finished, total, annotator, file, interval, choices }) =>
  el(
    "div.progress",
    el("progress", { value: finished, max: total, "aria-label": "Rows done" }),
    el(
      "p.count",
      `${format.count(finished)} of ${format.rows(total)} done by `,
      name(annotator),
      ", kept in ",
      el("code", name(file)),
    ),
    interval && narrowing(interval, choices),
  );

/** The interval of the annotator's mean over all rows, as it narrows, and what remains. */
function narrowing(interval, choices) {
  const { value, low, high, spent, more, stop } = interval;
  const bounds = [...choices.map(({ score }) => score)].sort((a, b) => a - b);
  const scale = range(bounds, { bounds: [bounds[0], bounds.at(-1)] });
  const mean = value === null ? "not known yet" : format.value(value);
  const parts = [
    `Your mean over all rows: ${mean}, 95 % interval ${format.interval(low, high)}`,
    `${format.value(high - low)} wide`,
    spent && `$${spent.toFixed(2)} spent`,
    !stop && more !== null && `about ${format.rows(more)} more`,
  ];
  return el(
    "div.narrowing",
    el("p.count", parts.filter(Boolean).join(" · ")),
    strip({ point: value, low, high }, scale),
    axis(scale, 1),
  );
}

const finished = (row) => [
  progress(row),
  el(
    "p.standfirst",
    row.interval?.stop ? `Enough: ${row.interval.stop}. ` : "All rows are done. ",
    el("kbd", "u"),
    " takes the last label back.",
  ),
  command(row.command),
];

function unavailable() {
  return {
    title: "Label",
    nodes: [
      el(
        "header.masthead",
        el("h1", "Label"),
        el(
          "p.standfirst",
          "People's labels say how good an answer really is, and how far a judge is to be trusted. Start the page with the file that they go to:",
        ),
      ),
      command("karat view --labels labels.jsonl --label-map good=1,bad=0", "Start with labels"),
    ],
  };
}
