// Sorts, filters and shows the rows; what is chosen stands in the address, so that a link or a reload shows the same.
// Texts are only ever set as text; nothing is fetched or stored.

const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Surrogate}]/gu;
const TAGS = [[], ["mark"], ["ins"], ["ins", "mark"]];
const PAGE = 25;

async function read() {
  const data = JSON.parse(document.getElementById("row-data").textContent);
  if (!data.deflated) return data;
  const bytes = Uint8Array.from(atob(data.deflated), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function element(tag, name, ...content) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...content);
  return made;
}

// Add a text; characters that are not seen are shown by their number.
function write(parent, original) {
  const text = original.replaceAll("\r\n", "\n");
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const number = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parent.append(text.slice(at, found.index), element("span", "control", `U+${number}`));
    at = found.index + found[0].length;
  }
  parent.append(text.slice(at));
  return parent;
}

const data = await read();
const { systems, metrics, texts } = data;
const form = document.getElementById("tools");
const list = document.getElementById("list");
const count = document.getElementById("count");
const more = document.getElementById("more");
const sampled = new Set(data.sample);
const searched = [];
let chosen = [];
let waiting; // until the address is written

function addText(parent, number, marks = []) {
  const text = texts[number];
  const paragraph = element("p", "text");
  let at = 0;
  for (let i = 0; i < marks.length; i += 2) {
    let inner = paragraph;
    for (const tag of TAGS[marks[i + 1]]) {
      const outer = inner;
      inner = element(tag);
      outer.append(inner);
    }
    write(inner, text.slice(at, at + marks[i]));
    at += marks[i];
  }
  if (!marks.length) write(paragraph, text);
  if (number in data.lengths) {
    paragraph.append(element("span", "dim", ` … (the first ${data.limit} of ${data.lengths[number]} characters)`));
  }
  parent.append(paragraph);
}

function spell(score, factor) {
  return score === null ? "–" : String(Number((score * factor).toPrecision(4)));
}

// How much better than the first system another one is on a row; NaN where one has no score.
function gain(metric, system, row) {
  const [first, other] = [data.scores[metric][0][row], data.scores[metric][system][row]];
  if (first === null || other === null) return NaN;
  return metrics[metric].minimize ? first - other : other - first;
}

function verdict(metric, system, row) {
  const gained = gain(metric, system, row);
  return Number.isNaN(gained) ? "unscored" : gained > 0 ? "better" : gained < 0 ? "worse" : "equal";
}

function addScore(parent, metric, system, row) {
  const { spec, factor } = metrics[metric];
  const score = element("span", "score", write(element("span", "dim"), spec), " ");
  score.append(element("b", "", spell(data.scores[metric][system][row], factor)));
  const kind = system ? verdict(metric, system, row) : "";
  if (kind === "better" || kind === "worse") {
    const change = (data.scores[metric][system][row] - data.scores[metric][0][row]) * factor;
    const size = Number(change.toPrecision(3));
    score.append(" ", element("span", `verdict ${kind}`, `${kind} (${size > 0 ? "+" : ""}${size})`));
  }
  parent.append(score);
}

function makeAnswer(row, system, metric) {
  const kind = system ? verdict(metric, system, row) : "";
  const box = element("div", kind === "better" || kind === "worse" ? `answer ${kind}` : "answer");
  box.append(element("h4", "", write(element("bdi"), systems[system])));
  const number = data.answers[system][row];
  if (number < 0) box.append(element("p", "dim", data.absent[system]));
  else addText(box, number, data.marks[system][row]);
  const scores = element("p", "scores");
  metrics.forEach((_, each) => addScore(scores, each, system, row));
  box.append(scores);
  const reason = data.reasons[system][row];
  if (reason >= 0) box.append(write(element("p", "reason"), texts[reason]));
  const pairs = data.details[system][row];
  if (pairs.length) {
    const facts = element("dl", "facts");
    pairs.forEach((each, at) => facts.append(write(element(at % 2 ? "dd" : "dt"), texts[each])));
    box.append(facts);
  }
  return box;
}

function makeRow(row, metric) {
  const article = element("article", "row");
  const heading = texts[data.question[row]] ?? data.id[row];
  const about = element("p", "row-head");
  if (data.id[row] !== heading) about.append(write(element("span"), data.id[row]));
  if (data.slice) about.append(write(element("span"), data.slice.values[data.slice.codes[row]]));
  article.append(about, write(element("h3", "text"), heading));
  const answers = element("div", "answers");
  if (data.gold[row].length) {
    const gold = element("div", "answer gold", element("h4", "", "Gold"));
    data.gold[row].forEach((number) => addText(gold, number));
    answers.append(gold);
  }
  systems.forEach((_, system) => answers.append(makeAnswer(row, system, metric)));
  article.append(answers);
  return article;
}

function textOf(row) {
  const numbers = [data.question[row], ...data.gold[row], ...systems.map((_, at) => data.answers[at][row])];
  searched[row] ??= [data.id[row], ...numbers.map((number) => texts[number] ?? "")].join("\n").toLocaleLowerCase();
  return searched[row];
}

function state() {
  const wanted = Object.fromEntries(new FormData(form));
  return { ...wanted, metric: Number(wanted.metric ?? 0), system: Number(wanted.system ?? systems.length - 1) };
}

function holds(row, wanted) {
  const { metric, system } = wanted;
  if (wanted.search && !textOf(row).includes(wanted.search.toLocaleLowerCase())) return false;
  if (wanted.slice && data.slice.codes[row] !== Number(wanted.slice)) return false;
  if (wanted.verdict && verdict(metric, system, row) !== wanted.verdict) return false;
  if (wanted.least && !(Math.abs(gain(metric, system, row)) * metrics[metric].factor >= Number(wanted.least) - 1e-9)) return false;
  if (wanted.reasons && !data.reasons.some((own) => own[row] === Number(wanted.reasons))) return false;
  if (wanted.labels && !data.labels.some((own) => own[row].includes(Number(wanted.labels)))) return false;
  return !wanted.part || sampled.has(row);
}

// The number by which rows are sorted, the smallest first.
function rank(row, { order, metric, system }) {
  const gained = systems.length > 1 ? gain(metric, system, row) : 0;
  const score = data.scores[metric][system][row] ?? NaN;
  return { loss: gained, gain: -gained, size: -Math.abs(gained), low: score, high: -score, file: row }[order];
}

const fields = () => [...new FormData(form)];

// What is chosen, as the fragment of an address; what is as at first is left out.
function fragment() {
  const query = new URLSearchParams(fields().filter(([name, value]) => value !== initial.get(name)));
  for (const chip of chips) if (chip.getAttribute("aria-pressed") === "false") query.append("unmarked", chip.dataset.mark);
  return `#${query}`;
}

// Choose what the address says; what the fields do not offer is left out, and said.
function restore() {
  const query = new URLSearchParams(location.hash.slice(1));
  const marks = [...chips].map((chip) => chip.dataset.mark);
  const unread = [...query].filter(([name, value]) => !(name === "unmarked" ? marks.includes(value) : initial.has(name)));
  for (const [name, value] of initial) {
    const field = form.elements[name];
    const wanted = query.get(name) ?? value;
    field.value = wanted;
    if (field.selectedIndex < 0) field.value = value;
    if (field.value !== wanted) unread.push([name, wanted]);
  }
  complain(unread.filter(([name, value]) => value || name !== location.hash.slice(1))); // #rows is a place on the page
  for (const chip of chips) mark(chip, !query.getAll("unmarked").includes(chip.dataset.mark));
  choose();
}

// Say what of the address cannot be read.
function complain(unread) {
  document.getElementById("unread")?.remove();
  if (!unread.length) return;
  const notice = document.createElement("p");
  Object.assign(notice, { id: "unread", className: "reason", role: "alert" });
  const shown = unread.map(([name, value]) => `${name}=${value}`.slice(0, 120)).join(", ");
  notice.textContent = `The address says what cannot be read, and is shown without it: ${shown}`;
  form.before(notice);
}

// Write the address once the typing pauses: browsers refuse to do it often.
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, "", fragment()), 200);
}

function mark(chip, on) {
  list.classList.toggle(`no-${chip.dataset.mark}`, !on);
  chip.setAttribute("aria-pressed", String(on));
}

function choose() {
  const wanted = state();
  const ranks = data.id.map((_, row) => rank(row, wanted));
  chosen = data.id.map((_, row) => row).filter((row) => holds(row, wanted));
  chosen.sort((a, b) => (Number.isNaN(ranks[a]) - Number.isNaN(ranks[b])) || ranks[a] - ranks[b] || a - b);
  list.replaceChildren();
  showMore();
}

function showMore() {
  const { metric } = state();
  const shown = list.childElementCount;
  list.append(...chosen.slice(shown, shown + PAGE).map((row) => makeRow(row, metric)));
  const now = list.childElementCount;
  more.hidden = now === chosen.length;
  const all = `${chosen.length} of ${data.id.length} rows`;
  count.textContent = now < chosen.length ? `${all}, the first ${now} of them below` : all;
  return list.children[shown];
}

form.reset(); // some browsers fill in what was there before a reload
const initial = new Map(fields());
const chips = form.querySelectorAll("[data-mark]");
form.hidden = false;
form.addEventListener("input", () => {
  choose();
  remember();
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("click", ({ target }) => {
  if (!target.dataset.mark) return;
  mark(target, target.getAttribute("aria-pressed") === "false");
  remember();
});
more.addEventListener("click", () => {
  const next = showMore();
  next.tabIndex = -1;
  next.focus();
});
addEventListener("hashchange", restore);
restore();
if (fragment().length > 1) list.parentElement.scrollIntoView();
