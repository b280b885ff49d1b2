"""The rows of a report: their texts, with the words that differ, as JSON by column.

A text that occurs twice is there once; other columns refer to its number. A mark is a length, in UTF-16 units as in
JavaScript, and a kind: 1 for words that are not in the gold, 2 for words that are not in the other answer, 3 for both.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python
from karat.data.json.texts import list_golds, list_texts, read_json
from karat.data.source import RAW
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run
from karat.stats.value import spell
from karat.text.word_diff import mark_words
from karat.viewer.report.redaction import LEFT_OUT, Redaction
from karat.viewer.rows.columns import RunColumns

Marks: TypeAlias = list[int]
_LIMITS = (4_000, 2_000, 1_000, 500)  # characters after which texts are cut: the first with which they fit
_ROOM = 400_000  # bytes of all texts, which is 200 to 300 kB when they are packed
_PLAIN = 200_000  # bytes of JSON that are not packed
_UNREAD = {"raw", "input_tokens", "output_tokens", "cost", "latency", "trace_id"}  # of a judge, for no reader


@dataclass
class Texts:
    """Different texts, each cut after `limit` characters; `lengths` has the whole length of those that are cut."""

    limit: int
    listed: list[str] = field(default_factory=list)
    lengths: dict[int, int] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, text: str | None) -> int:
        """The number of a text; -1 for none."""
        if text is None:
            return -1
        if text not in self._numbers:
            number = self._numbers[text] = len(self.listed)
            self.listed.append(text[: self.limit])
            if len(text) > self.limit:
                self.lengths[number] = len(text)
        return self._numbers[text]


@dataclass(frozen=True)
class Cells:
    """What the file holds of some rows of one system; each list has an entry for each row.

    `details` are pairs of a name and a text for each row: what the judges said. `absent` stands where there is no
    answer.
    """

    question: list[str | None]
    gold: list[list[str]]
    answer: list[str | None]
    reason: list[str | None]
    details: list[list[tuple[str, str]]]
    absent: str


def read_cells(run: Run, metrics: Sequence[ScoredMetric], rows: Array, redaction: Redaction) -> Cells:
    """The cells of some rows of a run, in their order."""
    columns, quotes = RunColumns.of(run), redaction.hides_quotes(run)
    shown = [
        None if redaction.hides(name) else name for name in (columns.question, columns.reference, columns.prediction)
    ]
    remarks = {} if quotes else dict(_remark_columns(columns, metrics))
    remarks = {name: label for name, label in remarks.items() if name not in redaction.columns}
    wanted = dict.fromkeys(name for name in (*shown, columns.reason, *remarks) if name is not None)
    cells = _take(run, list(wanted), rows)
    question, gold, answer, reasons = (
        [None] * len(rows) if name is None else cells[name] for name in (*shown, columns.reason)
    )
    said = [(label, cells[name]) for name, label in remarks.items()]
    return Cells(
        [_join(cell) for cell in question],
        [_gold(cell) for cell in gold],
        [_join(cell) for cell in answer],
        [LEFT_OUT if quotes and cell is not None else _join(cell) for cell in reasons],
        [[pair for label, own in said for pair in _remarks(label, own[row])] for row in range(len(rows))],
        "(no answer)" if shown[2] else LEFT_OUT,
    )


def _gold(cell: Any) -> list[str]:
    """The texts of gold; graded documents with their grades."""
    graded = list(cell.items()) if isinstance(cell, dict) else cell
    if isinstance(graded, list) and all(isinstance(each, tuple) for each in graded):
        return [f"{name} ({grade})" for name, grade in graded]
    return list_golds(cell)


def _remark_columns(columns: RunColumns, metrics: Sequence[ScoredMetric]) -> Iterator[tuple[str, str]]:
    """The columns of what judges said beside their scores, and what each is called."""
    judges = [metric.spec for metric in metrics if columns.details[metric.spec]]
    for spec in judges:
        for detail, name in columns.details[spec].items():
            if detail not in _UNREAD:
                yield name, detail if len(judges) == 1 else f"{spec} {detail}"


def _take(run: Run, names: list[str], rows: Array) -> dict[str, list[Any]]:
    """Some columns of some rows, in the order of `rows`; lists and objects that are stored as JSON are read."""
    order, first, parts = np.sort(rows), 0, []
    for batch in run.batches(names) if names else ():
        here = order[(order >= first) & (order < first + len(batch))]
        parts.append(batch.take(pa.array(here - first)))
        first += len(batch)
    places = np.argsort(np.argsort(rows)).tolist()
    columns = dict[str, list[Any]]()
    for name in names:
        cells = [cell for part in parts for cell in to_python(part.column(name))]
        raw = run.schema.field(name).type == RAW
        columns[name] = [_read(cells[place], raw=raw) for place in places]
    return columns


def _read(cell: Any, *, raw: bool) -> Any:
    """A cell, whose text may be JSON or, in a column of text, hold a list of texts, as in a CSV."""
    return read_json(cell) if raw or (isinstance(cell, str) and cell.startswith("[")) else cell


def _join(cell: Any) -> str | None:
    """A cell as one text."""
    return None if cell is None else ", ".join(list_texts(cell))


def _remarks(label: str, cell: Any) -> Iterator[tuple[str, str]]:
    """A judge's remark; of a list of statements one for each, with its verdict."""
    if cell is not None and not (isinstance(cell, list) and all(isinstance(item, dict) for item in cell)):
        yield label, spell(cell, ".4g") if isinstance(cell, float) else _join(cell) or ""
        return
    for item in cell or ():
        verdict = item.get("verdict", item.get("label"))
        parts = (item[key] for key in ("statement", "reason", "explanation") if item.get(key))
        yield label if verdict is None else f"{label}: {verdict}", " — ".join(map(str, parts))


def mark_answer(answer: str, gold: Sequence[str], others: Sequence[str]) -> Marks:
    """Lengths and kinds of the pieces of an answer; [] where nothing differs.

    >>> mark_answer("in Paris", ["Paris"], ["at Paris"])
    [2, 3, 6, 0]
    """
    kinds = [0] * len(answer)
    for kind, texts in ((1, gold), (2, others)):
        at = 0
        for piece, mark in mark_words(answer, texts) if texts else ():
            if mark == "differs":
                kinds[at : at + len(piece)] = [each | kind for each in kinds[at : at + len(piece)]]
            at += len(piece)
    marks, at = Marks(), 0
    for kind, group in groupby(kinds):
        length = len(list(group))
        marks += [len(answer[at : at + length].encode("utf-16-le", "surrogatepass")) // 2, kind]
        at += length
    return marks if any(kinds) else []


def encode_rows(systems: Sequence[Cells], scores: Mapping[str, Array]) -> dict[str, Any]:
    """The rows by column, as `report.js` reads them; `scores` has those of each metric, shape (systems, rows)."""
    texts = Texts(_limit(systems))
    first = systems[0]
    n = len(first.question)
    question = [
        next((each.question[row] for each in systems if each.question[row] is not None), None) for row in range(n)
    ]
    gold = [next((each.gold[row] for each in systems if each.gold[row]), []) for row in range(n)]
    answers = [[None if text is None else text[: texts.limit] for text in each.answer] for each in systems]
    marks = list[list[Marks]]()
    for at, own in enumerate(answers):
        rivals = answers[:at][:1] or answers[1:]
        marked = []
        for row, answer in enumerate(own):
            others = [other for rival in rivals if (other := rival[row]) is not None]
            marked.append([] if answer is None else mark_answer(answer, [g[: texts.limit] for g in gold[row]], others))
        marks.append(marked)
    encoded: dict[str, Any] = {
        "absent": [each.absent for each in systems],
        "question": [texts.add(text) for text in question],
        "gold": [[texts.add(text) for text in several] for several in gold],
        "answers": [[texts.add(text) for text in each.answer] for each in systems],
        "marks": marks,
        "reasons": [[texts.add(text) for text in each.reason] for each in systems],
        "details": [
            [
                [number for name, text in pairs for number in (texts.add(name), texts.add(text))]
                for pairs in each.details
            ]
            for each in systems
        ],
        "scores": [[[_short(score) for score in own] for own in each.tolist()] for each in scores.values()],
    }
    encoded["labels"] = [[_labels(pairs, texts) for pairs in each.details] for each in systems]
    encoded["labels_listed"] = sorted({label for own in encoded["labels"] for several in own for label in several})
    encoded["reasons_listed"] = sorted({reason for own in encoded["reasons"] for reason in own if reason >= 0})
    return encoded | {"texts": texts.listed, "lengths": texts.lengths, "limit": texts.limit}


def _labels(pairs: Sequence[tuple[str, str]], texts: Texts) -> list[int]:
    """The numbers of the labels among a judge's remarks."""
    return [texts.add(text) for name, text in pairs if name.endswith("label")]


def _limit(systems: Sequence[Cells]) -> int:
    """The number of characters after which texts are cut so that the file stays small."""
    texts = {text for each in systems for several in each.gold for text in several}
    texts |= {
        text for each in systems for column in (each.question, each.answer) for text in column if text is not None
    }
    texts |= {text for each in systems for pairs in each.details for _, text in pairs}
    sizes = [(len(text), len(text.encode("utf-8", "replace"))) for text in texts]
    for limit in _LIMITS:
        if sum(size if length <= limit else size * limit // length for length, size in sizes) <= _ROOM:
            return limit
    return _LIMITS[-1]


def _short(score: float) -> float | int | None:
    """A score with six digits."""
    short = float(f"{score:.6g}")
    return None if math.isnan(short) else int(short) if short.is_integer() else short


def pack(data: Any) -> str:
    r"""Data as JSON that is inert inside an element `script`; where it is long, deflated, in base64.

    >>> pack({"a": "</script>\u2028"})
    '{"a":"\\u003c/script\\u003e\\u2028"}'
    """
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = plain.encode("utf-8", "backslashreplace").decode()  # a lone surrogate becomes the escape that JSON knows
    if len(text.encode()) > _PLAIN:
        return json.dumps({"deflated": base64.b64encode(zlib.compress(text.encode(), 9)).decode()})
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
