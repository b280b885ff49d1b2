"""Samples of lm-evaluation-harness with a likelihood for each choice: the most likely one is the prediction."""

from __future__ import annotations

from ast import literal_eval
from contextlib import suppress
from typing import Any

import pyarrow as pa

from karat.data.formats.logs.choices import choose, most_likely
from karat.data.formats.logs.rows import add_columns, records
from karat.data.paths.json_text import parse_cell
from karat.data.source import Source

_COLUMNS = ("arguments", "target", "filtered_resps")


def has_choices(source: Source) -> bool:
    """Whether a source is such samples, without predictions: its first rows have continuations that differ."""
    names = {*source.schema.names}
    if not {"doc_id", "resps", *_COLUMNS} <= names or not names.isdisjoint(("prediction", "reference")):
        return False
    return any(_likelihoods(row) for row in records(source.first, _COLUMNS))


def add_choices(source: Source) -> Source:
    """The source with further columns `prediction` and `reference`: the text of the most likely choice, and the gold.

    >>> from karat.data.formats.frames import open_frame
    >>> row = {"doc_id": 0, "target": "1", "arguments": [["2+2=", " 5"], ["2+2=", " 4"]], "resps": []}
    >>> source = open_frame([{**row, "filtered_resps": [["-3.1", "False"], ["-0.2", "True"]]}])
    >>> [batch] = add_choices(source).batches()
    >>> batch.select(["prediction", "reference"]).to_pylist()
    [{'prediction': '4', 'reference': ['4']}]
    """
    types = {"prediction": pa.string(), "reference": pa.list_(pa.string())}
    return add_columns(source, "lm-evaluation-harness", _COLUMNS, _read_row, **types)


def _read_row(row: dict[str, Any]) -> tuple[str | None, list[str] | None]:
    target = row["target"]
    if pair := _likelihoods(row):
        choices, likelihoods = pair
        return most_likely(choices, likelihoods), _golds(choices, target)
    answers = parse_cell(row["filtered_resps"])
    answer = answers[0] if isinstance(answers, list) and answers else None
    return answer if isinstance(answer, str) else None, None if target is None else [str(target)]


def _likelihoods(row: dict[str, Any]) -> tuple[list[str], list[Any]] | None:
    """The texts of the choices, and their log-likelihoods; None for a row that asked for something else.

    Where all continuations are the same, the choice is the text before them, and `target` does not say which is right.
    Requests without a text before them give the likelihood that mutual information subtracts.
    """
    pairs, arguments = parse_cell(row["filtered_resps"]), parse_cell(row["arguments"])
    requests = [[*each.values()] for each in arguments.values()] if isinstance(arguments, dict) else arguments
    if not isinstance(pairs, list) or not isinstance(requests, list) or not len(pairs) == len(requests) > 1:
        return None
    if not all(isinstance(each, list) and len(each) == 2 and str(each[1]) in ("True", "False") for each in pairs):
        return None
    with suppress(AttributeError, TypeError, ValueError):
        if any(before for before, _ in requests):
            pairs = [pair for pair, (before, _) in zip(pairs, requests, strict=True) if before]
            requests = [request for request in requests if request[0]]
        texts = [after.strip() for _, after in requests]
        return (texts, [pair[0] for pair in pairs]) if len({*texts}) > 1 else None
    return None


def _golds(choices: list[str], target: Any) -> list[str] | None:
    """The right choices: `target` is a number, also as text, a list of numbers, or a text."""
    with suppress(ValueError, SyntaxError):
        target = literal_eval(target) if isinstance(target, str) else target
    if isinstance(target, int | list):
        return choose(choices, target)
    return None if target is None else [str(target).strip()]
