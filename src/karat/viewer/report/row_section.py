"""The section with the rows: tools that choose and sort them, the data, and a few rows that need no JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from karat.runs.table.html import element, show
from karat.stats.value import spell
from karat.viewer.report.rows import pack

_FEW = 6  # rows that are there without JavaScript
_MARKS = {1: ("mark",), 2: ("ins",), 3: ("ins", "mark")}


def row_section(data: dict[str, Any], notes: Sequence[str]) -> str:
    """The rows, the worst first; `data` is what `report.js` reads, `notes` say which rows these are."""
    written = [_article(data, at) for at in _order(data)[:_FEW]]
    without = (
        f"The {len(written)} rows that come first. With JavaScript, all {len(data['id'])} can be sorted and searched."
    )
    return element(
        "section",
        {"aria-labelledby": "rows"},
        element("h2", {"id": "rows"}, "Rows"),
        *(element("p", {"class": "note"}, show(note)) for note in notes),
        element("p", {"class": "note"}, *_legend(data)) if any(map(any, data["marks"])) else "",
        element("form", {"class": "tools", "id": "tools", "hidden": True, "aria-label": "Choose rows"}, *_tools(data)),
        element("p", {"class": "count", "id": "count", "role": "status"}, show(without)),
        element("div", {"id": "list"}, *written),
        element("p", None, element("button", {"id": "more", "type": "button", "hidden": True}, "Show more rows")),
        element("script", {"type": "application/json", "id": "row-data"}, pack(data)),
    )


def _legend(data: dict[str, Any]) -> Iterator[str]:
    if any(data["gold"]):
        yield element("mark", None, "Dotted") + " words are not in the gold. "
    if len(data["systems"]) > 1:
        yield element("ins", None, "Underlined") + " words are not in the other answer."


def _order(data: dict[str, Any]) -> list[int]:
    """The rows by the first metric: the largest loss of the second system first, or the worst score of the only one."""
    scores, minimize = data["scores"][0], data["metrics"][0]["minimize"]
    columns = scores[:2] if len(scores) > 1 else [[0] * len(data["id"]), scores[0]]

    def gain(row: int) -> float:
        first, other = (column[row] for column in columns)
        return float("inf") if first is None or other is None else (other - first) * (-1 if minimize else 1)

    return sorted(range(len(data["id"])), key=gain)


def _tools(data: dict[str, Any]) -> Iterator[str]:
    """The fields of the form; each is there only where it has something to choose."""
    systems, metrics = data["systems"], [metric["spec"] for metric in data["metrics"]]
    several, points = len(systems) > 1, all(metric["factor"] > 1 for metric in data["metrics"])
    yield _field("Search", "search", element("input", {"type": "search", "name": "search", "id": "search"}), wide=True)
    if len(metrics) > 1:
        yield _choice("Metric", "metric", list(enumerate(metrics)))
    if len(systems) > 2:
        yield _choice(f"Against {systems[0]}", "system", list(enumerate(systems))[1:])
    if several:
        kinds = ("better", "worse", "equal", "unscored")
        yield _choice("Verdict", "verdict", [("", "all"), *((kind, kind) for kind in kinds)])
        number = {"type": "number", "name": "least", "id": "least", "min": 0, "step": "any"}
        yield _field("Difference of at least" + (" (points)" if points else ""), "least", element("input", number))
    if data["slice"] is not None:
        yield _choice(data["slice"]["name"], "slice", [("", "all"), *enumerate(data["slice"]["values"])])
    for name, label in (("reasons", "Why without a score"), ("labels", "Judge's label")):
        if data[name + "_listed"]:
            yield _choice(label, name, [("", "all"), *((at, data["texts"][at]) for at in data[name + "_listed"])])
    if len(data["sample"]) < len(data["id"]):
        yield _choice("Rows", "part", [("", "all in this file"), ("sample", "the random sample")])
    orders = [("loss", "largest loss first"), ("gain", "largest gain first"), ("size", "largest difference first")]
    last = systems[-1]
    scores = [("low", f"lowest score of {last} first"), ("high", f"highest score of {last} first")]
    yield _choice(
        "Order",
        "order",
        [*(orders if several else []), *scores, ("file", "by id" if several else "as they were scored")],
    )
    if any(map(any, data["marks"])):
        shown = [("gold", "not in the gold")] if any(data["gold"]) else []
        shown += [("other", "not in the other answer")] if several else []
        chips = (
            element("button", {"type": "button", "class": "chip", "aria-pressed": "true", "data-mark": kind}, label)
            for kind, label in shown
        )
        yield element("div", {"role": "group", "aria-label": "Words that are marked", "class": "chips"}, *chips)


def _choice(label: str, name: str, options: Sequence[tuple[object, str]]) -> str:
    listed = (element("option", {"value": value}, show(text)) for value, text in options)
    return _field(label, name, element("select", {"name": name, "id": name}, *listed))


def _field(label: str, name: str, control: str, *, wide: bool = False) -> str:
    return element("label", {"class": "field wide" if wide else "field", "for": name}, show(label), control)


def _article(data: dict[str, Any], row: int) -> str:
    """A row as `report.js` shows it."""
    texts = data["texts"]
    name, question = data["id"][row], data["question"][row]
    heading = name if question < 0 else texts[question]
    about = [] if heading == name else [name]
    if data["slice"] is not None:
        about.append(data["slice"]["values"][data["slice"]["codes"][row]])
    gold = [element("p", {"class": "text"}, show(texts[number])) for number in data["gold"][row]]
    columns = [element("div", {"class": "answer gold"}, element("h4", None, "Gold"), *gold)] if gold else []
    columns += [_answer(data, row, at) for at in range(len(data["systems"]))]
    return element(
        "article",
        {"class": "row"},
        element("p", {"class": "row-head"}, *(element("span", None, show(text)) for text in about)),
        element("h3", {"class": "text"}, show(heading)),
        element("div", {"class": "answers"}, *columns),
    )


def _answer(data: dict[str, Any], row: int, at: int) -> str:
    texts, number, reason = data["texts"], data["answers"][at][row], data["reasons"][at][row]
    absent = element("p", {"class": "dim"}, show(data["absent"][at]))
    whole = data["lengths"].get(number)
    cut = (
        ""
        if whole is None
        else element("span", {"class": "dim"}, f" … (the first {data['limit']} of {whole} characters)")
    )
    marked = (
        element("p", {"class": "text"}, _mark(texts[number], data["marks"][at][row]), cut) if number >= 0 else absent
    )
    scores = [
        element(
            "span",
            {"class": "score"},
            element("span", {"class": "dim"}, show(metric["spec"])),
            " ",
            _spell(own[at][row], metric["factor"]),
        )
        for metric, own in zip(data["metrics"], data["scores"], strict=True)
    ]
    pairs = data["details"][at][row]
    details = [
        element("dt", None, show(texts[name])) + element("dd", None, show(texts[text]))
        for name, text in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    return element(
        "div",
        {"class": "answer"},
        element("h4", None, element("bdi", None, show(data["systems"][at]))),
        marked,
        element("p", {"class": "scores"}, *scores),
        "" if reason < 0 else element("p", {"class": "reason"}, show(texts[reason])),
        element("dl", {"class": "facts"}, *details) if details else "",
    )


def _mark(text: str, marks: Sequence[int]) -> str:
    """A text with its marks; their lengths are UTF-16 units."""
    units, at, pieces = text.encode("utf-16-le", "surrogatepass"), 0, []
    for length, kind in zip(marks[::2], marks[1::2], strict=True):
        piece = show(units[at : at + 2 * length].decode("utf-16-le", "surrogatepass"))
        for tag in _MARKS.get(kind, ())[::-1]:
            piece = element(tag, None, piece)
        pieces.append(piece)
        at += 2 * length
    return "".join(pieces) or show(text)


def _spell(score: float | None, factor: float) -> str:
    return element("b", None, "–" if score is None else spell(score * factor, ".4g"))
