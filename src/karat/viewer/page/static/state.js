// What the address says after `#`: the screen, the runs, the filter, the order and the place. The address is the only
// state of the page, so a reload, a bookmark and the back button need nothing else.

const EMPTY = {
  screen: "runs",
  runs: [], // ids; the first is the one compared with
  by: "",
  cluster: "",
  on: "",
  different: "", // of the comparison
  metric: "", // which one the histograms and the order are of
  filter: [], // conditions, as the server takes them
  sort: null,
  from: 0, // the first row of the page
  row: "", // the id of a row
  at: "", // its place among the rows of the filter
  marks: "gold", // with what the words of an answer are compared
  find: "", // a part of the names of runs
  series: "", // of the trend
};
const JSON_FIELDS = new Set(["filter", "sort"]);
const SCREENS = new Set(["runs", "compare", "rows", "row", "label", "agreement", "provenance"]);

/** The state that a fragment holds; what cannot be read is as if it were not there. */
function parse(fragment) {
  const [path, query = ""] = fragment.replace(/^#\/?/, "").split("?", 2);
  const state = { ...EMPTY, screen: SCREENS.has(path) ? path : "runs" };
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "runs") state.runs = value.split(",").filter((id) => /^[0-9a-f]{16}$/.test(id));
    else if (name === "from") state.from = Math.max(0, Math.floor(Number(value)) || 0);
    else if (name === "at") state.at = /^\d{1,9}$/.test(value) ? String(Number(value)) : "";
    else if (JSON_FIELDS.has(name)) state[name] = read(value) ?? EMPTY[name];
    else if (name in EMPTY && name !== "screen") state[name] = value;
  }
  state.filter = Array.isArray(state.filter) ? state.filter.filter(isCondition) : [];
  if (state.sort !== null && typeof state.sort !== "object") state.sort = null;
  return state;
}

const isText = (value) => typeof value === "string";
const isEnd = (value) => value === null || Number.isFinite(value);
const FITS = {
  in: (values) => values.every((value) => value === null || isText(value)),
  "not in": (values) => FITS.in(values),
  contains: (values) => values.length === 1 && isText(values[0]),
  missing: (values) => !values.length,
  between: (values) => values.length === 2 && values.every(isEnd),
  range: (values) => FITS.between(values),
};

/** Whether this is a condition that the page can put in words; what its field is, the server checks. */
function isCondition(each) {
  const { field, op, values } = each ?? {};
  return isText(field?.kind) && Object.hasOwn(FITS, op) && Array.isArray(values) && FITS[op](values);
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The fragment of a state. */
export function address(state) {
  const query = new URLSearchParams();
  for (const [name, empty] of Object.entries(EMPTY)) {
    const value = state[name];
    if (name === "screen" || value === undefined || String(value) === String(empty)) continue;
    query.set(name, JSON_FIELDS.has(name) ? JSON.stringify(value) : value);
  }
  return query.size ? `#/${state.screen}?${query}` : `#/${state.screen}`;
}

/** What the address says now. */
export const current = () => parse(location.hash);

/** Change the state; `replace`: without a new entry in the history. */
export function go(changes, { replace = false } = {}) {
  const next = address({ ...current(), ...changes });
  if (next === location.hash) return;
  if (replace) {
    history.replaceState(null, "", next);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = next;
}

/** What every request about the rows of the runs says: the parameters of GET, and the body of POST. */
export const about = ({ runs, on, different }) => ({ runs: runs.join(), on, different });
export const sameRows = ({ runs, on, different }) => ({ runs, on: on || null, different: Boolean(different) });

/** Whether two fields or conditions' fields are the same. */
export const same = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = (field) => field && Object.entries(field).sort();

/** The filter with the condition on this field replaced; null removes it. */
export function withCondition(filter, field, condition) {
  const rest = filter.filter((each) => !same(each.field, field));
  return condition ? [...rest, { field, ...condition }] : rest;
}

export const conditionOn = (filter, field) => filter.find((each) => same(each.field, field));
