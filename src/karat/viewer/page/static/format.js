// Numbers as the page prints them. Metrics from 0 to 1 are in points, 100 for the best, as in the sentences of karat.

const MINUS = "−";

/** A number without its last bits, which depend on the processor: 79.74999999999999 is 79.75. */
const plain = (number) => Number(number.toPrecision(12));

/** To one digit, as Python rounds in the sentences: of two numbers that are equally near the even one. */
const oneDigit = (number) => (Math.abs(number) % 1 === 0.25 ? number - Math.sign(number) / 100 : number).toFixed(1);

function fixed(value, scale) {
  if (value === null || value === undefined) return "–";
  const shown = scale > 1 ? oneDigit(plain(value * scale)) : Number(plain(value).toPrecision(4)).toString();
  return /^-[0.]+$/.test(shown) ? shown.slice(1) : shown.replace(/^-/, MINUS);
}

/** A value: 46.2 for 0.462 with the scale 100. */
export const value = (number, scale = 1) => fixed(number, scale);

/** A difference, with its sign. */
export const difference = (number, scale = 1) => {
  const shown = fixed(number, scale);
  return number > 0 && !/^[0.]+$/.test(shown) ? `+${shown}` : shown;
};

/** An interval: 40.6 to 51.8. */
export const interval = (low, high, scale = 1, print = value) =>
  low === null && high === null ? "" : `${print(low, scale)} to ${print(high, scale)}`;

/** A share of one as it was set: 95 for 0.95. */
export const percent = (share) => `${Number((share * 100).toPrecision(6))} %`;

export const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));

export const rows = (number) => `${count(number)} ${number === 1 ? "row" : "rows"}`;

/** A time in UTC: 22 Nov 2026, 12:47. */
export function time(text) {
  const date = new Date(text);
  if (!text || Number.isNaN(date.valueOf())) return "–";
  const day = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hour12: false };
  return date.toLocaleString("en-GB", { ...day, timeZone: "UTC" });
}

/** A coefficient of agreement, which lies between -1 and 1. */
export const coefficient = (number) => (number === null ? "?" : plain(number).toFixed(3).replace("-", MINUS));

/** A detail of any kind; of a number, what can be read at a glance. */
export const brief = (detail) => (typeof detail === "number" ? String(Number(detail.toPrecision(3))) : String(detail));
