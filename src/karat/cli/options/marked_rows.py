"""Rows with their texts, in which the words that differ are marked.

In colour, words are bold and underlined; without it, `{+words+}` are only in the answer and `[-words-]` only in what it
is compared with, as `git diff --word-diff` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from karat.cli.options.controls import show_controls
from karat.cli.options.screen import Screen
from karat.core.columns.python_values import to_text
from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.runs.compare.flips import Flip
from karat.runs.compare.scored_rows import ScoredRow
from karat.stats.value import spell
from karat.text.word_diff import Piece, mark_both, mark_words

LONG = 600
"""Characters of a text that are shown, unless texts are to be whole."""

_GOLDS = 10  # gold answers of a row that are shown
_SIGNS = {"added": ("{+", "+}"), "removed": ("[-", "-]")}
_HIDDEN = {"raw", "trace_id", "input_tokens", "output_tokens", "cost", "latency"}

Mark = Literal["added", "removed", ""]


@dataclass(frozen=True)
class MarkedText:
    """A text to print under a label; pieces that differ are marked as `mark`."""

    label: str
    pieces: Sequence[Piece]
    mark: Mark = ""


def print_rows(screen: Screen, rows: Iterable[ScoredRow], spec: str, most: int | None) -> None:
    """Print each row with its scores, the score of `spec` first; texts are cut after `most` characters."""
    for row in rows:
        scores = {spec: row.scores[spec], **row.scores}
        shown = (f"{name} {'–' if score is None else spell(score, '.4f')}" for name, score in scores.items())
        screen.line("")
        screen.line("   ".join([row.id, *shown]))
        _print_texts(screen, list(_list_texts(row, _normalizer(spec))), most)


def print_flips(screen: Screen, flips: Iterable[Flip], first: str) -> None:
    """Print rows on which the system `first` and another differ, with the words in which their answers do."""
    for flip in flips:
        screen.line("")
        screen.line(f"{flip.id}   {flip.metric} {spell(flip.scores[0], '.4f')} → {spell(flip.scores[1], '.4f')}")
        question = [] if flip.question in (None, flip.id) else [_unmarked("question", flip.question)]
        a, b = flip.predictions
        if a is None and b is None:  # the rows hold no answers
            _print_texts(screen, question, LONG)
            continue
        marked: Sequence[Sequence[Piece]]
        marked = [_whole(a), _whole(b)] if a is None or b is None else mark_both(a, b, _normalizer(flip.metric))
        answers = [MarkedText(first, marked[0], "removed"), MarkedText(flip.system, marked[1], "added")]
        _print_texts(screen, [*question, *answers], LONG)


def _normalizer(spec: str) -> str:
    """The normaliser by which a metric compares texts; SQuAD's for one that has none."""
    with suppress(SpecError):
        if isinstance(name := parse(spec).settings.get("normalize"), str):
            return name
    return "squad"


def _list_texts(row: ScoredRow, normalize: str) -> Iterator[MarkedText]:
    if row.question not in (None, row.id):
        yield _unmarked("question", row.question)
    answer = [] if row.prediction is None else [row.prediction]
    golds = [mark_words(gold, answer, normalize) for gold in row.references]
    whole = any(all(mark == "same" for _, mark in gold) for gold in golds)  # one gold answer is wholly there
    for gold, pieces in zip(row.references[:_GOLDS], golds, strict=False):
        yield MarkedText("reference", _whole(gold) if whole else pieces, "removed")
    if row.references[_GOLDS:]:
        yield _unmarked("reference", f"… and {len(row.references) - _GOLDS:,} more")
    pieces = _whole(None) if row.prediction is None else mark_words(row.prediction, row.references, normalize)
    yield MarkedText("prediction", pieces, "added")
    for name, value in {**row.columns, "reason": row.reason}.items():
        if value is not None or name in row.columns:
            yield _unmarked(name, value)
    for spec, details in row.details.items():
        yield from _list_details(details, "" if len(row.details) == 1 else f"{spec}.")


def _list_details(details: Mapping[str, Any], prefix: str) -> Iterator[MarkedText]:
    for name, value in details.items():
        if name == "statements" and value is not None:
            for number, each in enumerate(json.loads(value), 1):
                label = f"answer {each['answer']}" if "answer" in each else f"statement {number}"
                yield _unmarked(f"{prefix}{label}", _describe_verdict(each))
        elif name not in _HIDDEN:
            yield _unmarked(f"{prefix}{name}", spell(value, ".4g") if isinstance(value, float) else value)


def _describe_verdict(entry: Mapping[str, Any]) -> str:
    """The verdict on a statement or an answer, with the reason, or with the verdicts on its own statements."""
    verdict, score = entry.get("label", entry.get("verdict")), entry.get("score")
    shown = " ".join([*([] if verdict is None else [verdict]), *([] if score is None else [spell(score, ".4g")])])
    parts = [entry.get("statement"), shown, entry.get("explanation", entry.get("reason"))]
    inner = "; ".join(f"({_describe_verdict(each)})" for each in entry.get("statements", ()))
    return ": ".join(filter(None, [*parts, inner]))


def _unmarked(label: str, value: Any) -> MarkedText:
    return MarkedText(label, _whole(to_text(value)))


def _whole(text: str | None) -> list[Piece]:
    return [("(null)" if text is None else text or "(empty)", "same")]


def _print_texts(screen: Screen, texts: Sequence[MarkedText], most: int | None) -> None:
    width = max((len(show_controls(text.label)) for text in texts), default=0)
    for text in texts:
        shown, marked = "", list[tuple[int, int]]()
        for piece, differs in _cut(text.pieces, most):
            start, end = _SIGNS[text.mark] if differs and text.mark and not screen.colour else ("", "")
            marked += [(len(shown), len(shown) + len(piece))] if differs else []
            shown += f"{start}{piece}{end}"
        screen.line(shown, text.mark, label=f"  {show_controls(text.label):{width}}  ", marked=marked)


def _cut(pieces: Sequence[Piece], most: int | None) -> Iterator[tuple[str, bool]]:
    """Each piece, with its controls shown, and whether it differs; what is beyond `most` characters is counted."""
    left = sum(len(text) for text, _ in pieces) if most is None else most
    for text, mark in pieces:
        if left > 0:
            yield show_controls(text[:left]), mark == "differs"
        left -= len(text)
    if left < 0:
        yield f"… and {-left:,} more characters", False
