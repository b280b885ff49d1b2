"""Logs of other evaluation tools, one row per sample: Inspect's logs, and annotations exported by ragas."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from karat.core.errors import DataError
from karat.data.formats.frames import open_frame
from karat.data.source import Source


def open_inspect(path: Path, name: str) -> Source:
    """Open a packed log of Inspect (`.eval`), held in memory. Raises `DataError` for any other file."""
    try:
        with zipfile.ZipFile(path) as log:
            header = json.loads(log.read("header.json"))
            names = [each for each in log.namelist() if each.startswith("samples/") and each.endswith(".json")]
            document = header | {"samples": [json.loads(log.read(each)) for each in names]}
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError) as error:
        raise DataError(f"{name}: not a log of Inspect: {error}") from error
    return open_frame(list(inspect_rows(document)))


def is_inspect(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a log of Inspect."""
    return isinstance(document.get("eval"), dict) and isinstance(document.get("samples"), list)


def inspect_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per sample: question, prediction, reference, and a column `score.SCORER` for each scorer.

    Targets lose whitespace at their ends, as Inspect's scorers drop it; the column `sample` has all as it was.

    >>> sample = {"id": 1, "input": "2+2?", "target": "4", "scores": {"match": {"value": "C"}}}
    >>> [row] = inspect_rows({"eval": {"task": "sums"}, "samples": [sample]})
    >>> row["question"], row["reference"], row["score.match"]
    ('2+2?', '4', 'C')
    """
    evaluation = document["eval"]
    for sample in document["samples"]:
        output = sample.get("output") or {}
        choices = output.get("choices") or [{}]
        yield {
            "task": evaluation.get("task"),
            "model": evaluation.get("model"),
            "id": sample["id"],
            "epoch": sample.get("epoch"),
            "question": _question(sample.get("input")),
            "prediction": output.get("completion") or _text((choices[0].get("message") or {}).get("content")),
            "reference": _target(sample.get("target")),
            **{f"score.{scorer}": score.get("value") for scorer, score in (sample.get("scores") or {}).items()},
            "error": sample.get("error"),
            "sample": json.dumps(sample, ensure_ascii=False),
        }


def _target(target: Any) -> Any:
    if isinstance(target, list):
        return [_target(each) for each in target]
    return target.strip() if isinstance(target, str) else target


def _question(messages: Any) -> str | None:
    """The input, or the last user message in it."""
    if not isinstance(messages, list):
        return _text(messages)
    of_user = [message for message in messages if message.get("role") == "user"]
    return _text(of_user[-1].get("content")) if of_user else None


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content if content is None else str(content)


def is_ragas(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is an export of annotated metric runs from ragas."""
    items = [each for value in document.values() if isinstance(value, list) for each in value]
    keys = {"metric_input", "metric_output"}
    return bool(items) and all(isinstance(each, dict) and keys <= each.keys() for each in items)


def ragas_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per run of a metric: the metric's name, its input as columns, its output, and the annotation.

    >>> run = {"metric_input": {"response": "Paris"}, "metric_output": 1, "is_accepted": True, "prompts": {}}
    >>> [row] = ragas_rows({"helpfulness": [run]})
    >>> row["metric"], row["response"], row["metric_output"], row["is_accepted"]
    ('helpfulness', 'Paris', 1, True)
    """
    for metric, runs in document.items():
        for run in runs:
            rest = {key: value for key, value in run.items() if key not in ("metric_input", "prompts")}
            prompts = json.dumps(run.get("prompts"), ensure_ascii=False)
            yield {"metric": metric, **(run["metric_input"] or {}), **rest, "prompts": prompts}
