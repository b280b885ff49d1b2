// The answers of a report: what the server answers a page, from the data that stand in the file. It takes the place of
// api.js.

import { same } from "./state.js";

async function read() {
  const held = JSON.parse(document.getElementById("data").textContent);
  if (!held.deflated) return held;
  const bytes = Uint8Array.from(atob(held.deflated), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

export const data = await read();
const { metrics } = data.columns;

export class Refused extends Error {}

/** What is known of one run, of all, or of one row; the rows of a filter in an order, or how many there are. */
export async function post(path, { runs, id, filter, sort, offset, limit, fields, histograms, metric, across } = {}) {
  if (path === "row") {
    const found = data.rows.find((row) => row.id === id);
    if (!found) throw new Refused(`No row in this file has the id ${id}.`);
    return found;
  }
  if (path === "curves") return data.curves[metric][across];
  if (path in data.of_runs) return data.of_runs[path][Number(runs[0])];
  if (path !== "rows" && path !== "facets") return data[path];
  const kept = choose(filter);
  const answer = { n: data.rows.length, total: kept.length };
  if (path === "rows") {
    const rows = sort ? sorted(kept, sort) : kept;
    return { ...answer, offset, rows: rows.slice(offset, offset + limit) };
  }
  const others = (field) => choose(filter.filter((each) => !same(each.field, field)));
  return {
    ...answer,
    facets: fields.map((field) => countLabels(field, others(field))),
    histograms: histograms.map((field) => countBins(field, others(field))),
  };
}

export const recall = post;

const choose = (filter) => data.rows.filter((row) => filter.every((each) => holds(row, each)));

/** What a row has of a field; null for nothing. */
function valueOf(row, { kind, name, metric, system = 0 }) {
  if (kind === "id") return row.id;
  if (kind === "column") return row.groups[name] ?? null;
  if (kind === "text") return textOf(row);
  const answer = row.answers[system];
  if (kind === "reason") return answer.reason || null;
  const place = metrics.findIndex(({ spec }) => spec === metric);
  if (kind === "score") return answer.scores[place];
  if (kind === "label") return answer.labels[place] ?? null;
  const difference = answer.differences[place];
  if (kind === "outcome") return outcome(difference, metrics[place]);
  return kind === "size" && difference !== null ? Math.abs(difference) : difference;
}

function outcome(difference, { direction }) {
  if (difference === null) return "unscored";
  const gain = direction === "minimize" ? -difference : difference;
  return gain > 0 ? "better" : gain < 0 ? "worse" : "same";
}

const whole = (texts) => texts.map((text) => text.pieces.map(([piece]) => piece).join("")).join("\n");
const textOf = ({ question, reference, answers }) =>
  whole([...(question ? [question] : []), ...reference, ...answers.flatMap(({ answer }) => answer)]);

function holds(row, { field, op, values }) {
  const value = valueOf(row, field);
  if (op === "in") return values.includes(value);
  if (op === "not in") return !values.includes(value);
  if (op === "missing") return value === null;
  if (value === null) return false;
  if (op === "contains") return value.toLowerCase().includes(values[0].toLowerCase());
  const [low, high] = values;
  return (low === null || value >= low) && (high === null || (op === "range" ? value < high : value <= high));
}

/** The rows in an order; those without a value are last. */
function sorted(rows, { field, descending }) {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row, at) => ({ row, at, value: valueOf(row, field) }));
  const compared = (one, other) => (one.value < other.value ? -sign : one.value > other.value ? sign : one.at - other.at);
  keyed.sort((one, other) => (one.value === null) - (other.value === null) || compared(one, other));
  return keyed.map(({ row }) => row);
}

function countLabels(field, rows) {
  const count = (among) => {
    const counts = new Map();
    for (const row of among) {
      const value = valueOf(row, field);
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return counts;
  };
  const kept = count(rows);
  const values = [...count(data.rows)].sort(([, one], [, other]) => other - one);
  return { field, more: 0, values: values.map(([value, all]) => ({ value, all, kept: kept.get(value) ?? 0 })) };
}

/** How many rows there are in each bin; the bins are those of all rows of the runs. */
function countBins(field, rows) {
  const { edges, binary } = data.spread.find((each) => same(each.field, field));
  const count = (among) => {
    const counts = Array(edges.length - 1).fill(0);
    const values = among.map((row) => valueOf(row, field)).filter((value) => value !== null);
    for (const value of values) {
      counts[Math.min(Math.max(edges.findLastIndex((edge) => edge <= value), 0), counts.length - 1)] += 1;
    }
    return [counts, among.length - values.length];
  };
  const [[all, missing], [kept, without]] = [count(data.rows), count(rows)];
  return { field, binary, edges, all, kept, missing: { all: missing, kept: without } };
}

