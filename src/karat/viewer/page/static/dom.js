// Elements, made from names and texts alone: no markup is ever parsed, so no text can become an element.

const SVG = "http://www.w3.org/2000/svg";

/** Characters that hide, reorder or break text, as in karat.text.hidden. */
export const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}\p{Surrogate}]/gu;
const SHOWN = new Set(["title", "aria-label", "placeholder", "data-label"]); // attributes that are read

/** The number of a character: U+202E. */
export const numberOf = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** A text in which nothing is hidden. Every text of an element is; `plain` of text.js makes a box of each instead. */
export const visible = (text) => text.replace(HIDDEN, numberOf);

function build(element, classes, parts) {
  const attributes = parts[0]?.constructor === Object ? parts.shift() : {};
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : SHOWN.has(name) ? visible(value) : value);
  }
  const nothing = new Set([null, undefined, false]);
  const there = parts.flat(Infinity).filter((part) => !nothing.has(part));
  element.append(...there.map((part) => (typeof part === "string" ? visible(part) : part)));
  return element;
}

/** An HTML element with its classes, attributes, listeners and children: `el("button.chip", { onclick: act }, "Save")`. */
export function el(name, ...parts) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (tag === "button") element.type = "button";
  return build(element, classes, parts);
}

/** An SVG element, made alike. */
export function svg(name, ...parts) {
  const [tag, ...classes] = name.split(".");
  return build(document.createElementNS(SVG, tag), classes, parts);
}

/**
 * Replace what a container holds, and leave the focus where it was.
 *
 * The element with the same `data-key` as the focused one gets the focus, the selection and the scroll of its list.
 */
export function fill(container, ...children) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key;
  const selection = focused?.matches("input[type=search], input[type=text]") && [
    focused.selectionStart,
    focused.selectionEnd,
  ];
  const scrolled = [...container.querySelectorAll("[data-scroll]")].map((each) => [
    each.dataset.scroll,
    each.scrollTop,
  ]);
  container.replaceChildren(...children.flat(Infinity).filter(Boolean));
  for (const [name, top] of scrolled) {
    const list = container.querySelector(`[data-scroll="${CSS.escape(name)}"]`);
    if (list) list.scrollTop = top;
  }
  const again = key && container.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (again && again !== document.activeElement) {
    again.focus({ preventScroll: true });
    if (selection) again.setSelectionRange(...selection);
  }
}

/** Tell a screen reader something, politely. */
export function announce(text) {
  document.getElementById("status").textContent = visible(text);
}

/** Say what of the address cannot be read, above every screen, until the address is another one. */
export function complain(unread) {
  const notice = document.getElementById("unread");
  notice.hidden = !unread.length;
  const shown = unread.map((each) => (each.length > 120 ? `${each.slice(0, 120)}…` : each)).join(", ");
  notice.textContent = `The address says what cannot be read, and is shown without it: ${visible(shown)}`;
}

/** A command of the terminal that prints what is shown, with a button that copies it. */
export function command(text, label = "The same in a terminal") {
  if (!text) return null;
  const code = el("code", text);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      announce("Copied");
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  const button = el("button.chip", { onclick: copy, "aria-label": `Copy: ${text}` }, "Copy");
  return el("div.command", { role: "group", "aria-label": label }, code, button);
}

/** A labelled control. */
export const field = (label, control, wide = false) =>
  el("label", { class: wide ? "field wide" : "field" }, label, control);

/** A choice of one among values: `options` are pairs of value and text. */
export function select(options, value, onchange, attributes = {}) {
  const choices = options.map(([each, text]) => el("option", { value: each, selected: each === value }, text));
  return el("select", { ...attributes, onchange: (event) => onchange(event.target.value) }, choices);
}

/** A region that may scroll sideways, which the keyboard can reach. */
export const scroll = (label, ...children) =>
  el("div.scroll", { tabindex: 0, role: "region", "aria-label": label }, children);

/** Do something some time after the last call. */
export function delayed(act, milliseconds = 250) {
  let timer;
  return (...parts) => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds, ...parts);
  };
}
