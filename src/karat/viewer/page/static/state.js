// What the address says after `#`: the screen, the runs, the filter, the order and the place. The address is the only
// state of the page, so a reload, a bookmark and the back button need nothing else.

const EMPTY = {
  screen: "runs",
  runs: [], // ids; the first is the one compared with
  by: "",
  cluster: "",
  on: "",
  different: "", // of the comparison
  margin: "", // by which a system may be worse, in the unit of the metrics
  metric: "", // which one the histograms and the order are of
  filter: [], // conditions, as the server takes them
  sort: undefined, // null: the order of the run; undefined: what the screen begins with
  from: 0, // the first row of the page
  row: "", // the id of a row
  at: "", // its place among the rows of the filter
  marks: "gold", // with what the words of an answer are compared
  plot: "", // by what the scores of a comparison are drawn
  find: "", // a part of the names of runs
  series: "", // of the trend
  other: "", // the number of the system beside the first in a list of rows, where there are many
};

/** What the state is where the address says nothing else: a report has its runs and slices. */
export const begin = (values) => Object.assign(EMPTY, values);

const JSON_FIELDS = new Set(["filter", "sort"]);
const SCREENS = new Set(["runs", "compare", "rows", "row", "label", "agreement", "provenance"]);

/** The state that a fragment holds. `unread` lists what of it cannot be read, and is as if it were not there. */
function parse(fragment) {
  const [path, ...rest] = fragment.replace(/^#\/?/, "").split("?");
  const unread = path && !SCREENS.has(path) ? [path] : [];
  const state = { ...EMPTY, screen: SCREENS.has(path) ? path : "runs", unread };
  for (const [name, value] of new URLSearchParams(rest.join("?"))) {
    const found = Object.hasOwn(READERS, name) ? READERS[name](value) : isOther(name) ? value : undefined;
    if (found === undefined) unread.push(`${name}=${value}`);
    else state[name] = found;
  }
  const others = state.filter.filter((each) => !isCondition(each));
  if (others.length) unread.push(`filter=${JSON.stringify(others)}`);
  state.filter = state.filter.filter(isCondition);
  return state;
}

/** What each parameter's text says; undefined where it cannot be read. */
const READERS = {
  runs: (text) => (text.split(",").every((id) => /^[0-9a-f]{16}$/.test(id)) ? text.split(",") : undefined),
  margin: (text) => (text === "" || Number(text) > 0 ? text : undefined),
  from: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  at: (text) => (/^\d{0,9}$/.test(text) ? text && String(Number(text)) : undefined),
  other: (text) => (/^\d{0,3}$/.test(text) ? text : undefined),
  marks: (text) => (["gold", "other", "none"].includes(text) ? text : undefined),
  filter: (text) => {
    const filter = read(text);
    return Array.isArray(filter) ? filter : undefined;
  },
  sort: (text) => {
    const sort = read(text);
    return sort === null || isText(sort?.field?.kind ?? sort?.by) ? sort : undefined;
  },
};
const isOther = (name) => Object.hasOwn(EMPTY, name) && name !== "screen";

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
    return undefined;
  }
}

/** The fragment of a state. */
export function address(state) {
  const query = new URLSearchParams();
  for (const [name, empty] of Object.entries(EMPTY)) {
    const value = state[name];
    if (name === "screen" || value === undefined || JSON.stringify(value) === JSON.stringify(empty)) continue;
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

/** What every request about the rows of the runs says. */
export const about = ({ runs, on, different }) => ({ runs, on, different: Boolean(different) });

/** Whether two fields or conditions' fields are the same. */
export const same = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = (field) => field && Object.entries(field).sort();

/** The filter with the condition on this field replaced; null removes it. */
export function withCondition(filter, field, condition) {
  const rest = filter.filter((each) => !same(each.field, field));
  return condition ? [...rest, { field, ...condition }] : rest;
}

export const conditionOn = (filter, field) => filter.find((each) => same(each.field, field));
