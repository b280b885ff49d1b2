"""Logs of other tools that evaluate, one sample a row: Inspect's, and the annotations that ragas exports."""

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
    """Open a log that Inspect packed (`.eval`); it is held in memory. Raises `DataError` for what is none."""
    try:
        with zipfile.ZipFile(path) as log:
            header = json.loads(log.read("header.json"))
            names = [each for each in log.namelist() if each.startswith("samples/") and each.endswith(".json")]
            document = header | {"samples": [json.loads(log.read(each)) for each in names]}
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError) as error:
        raise DataError(f"{name}: not a log of Inspect's: {error}") from error
    return open_frame(list(inspect_rows(document)))


def is_inspect(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a log of Inspect's."""
    return isinstance(document.get("eval"), dict) and isinstance(document.get("samples"), list)


def inspect_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row a sample: what was asked and said, the target, and a column `score.SCORER` for what each scorer found.

    >>> sample = {"id": 1, "input": "2+2?", "target": "4", "scores": {"match": {"value": "C"}}}
    >>> [row] = inspect_rows({"eval": {"task": "sums"}, "samples": [sample]})
    >>> row["question"], row["reference"], row["score.match"]
    ('2+2?', '4', 'C')
    """
    ran = document["eval"]
    for sample in document["samples"]:
        output = sample.get("output") or {}
        choices = output.get("choices") or [{}]
        yield {
            "task": ran.get("task"),
            "model": ran.get("model"),
            "id": sample["id"],
            "epoch": sample.get("epoch"),
            "question": _asked(sample.get("input")),
            "prediction": output.get("completion") or _text((choices[0].get("message") or {}).get("content")),
            "reference": sample.get("target"),
            **{f"score.{scorer}": score.get("value") for scorer, score in (sample.get("scores") or {}).items()},
            "error": sample.get("error"),
            "sample": json.dumps(sample, ensure_ascii=False),
        }


def _asked(given: Any) -> str | None:
    """The input, or the last message of its user's."""
    if not isinstance(given, list):
        return _text(given)
    said = [message for message in given if message.get("role") == "user"]
    return _text(said[-1].get("content")) if said else None


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content if content is None else str(content)


def is_ragas(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is ragas's export of annotated runs of metrics."""
    items = [each for value in document.values() if isinstance(value, list) for each in value]
    return bool(items) and all(
        isinstance(each, dict) and {"metric_input", "metric_output"} <= each.keys() for each in items
    )


def ragas_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row a run of a metric: the metric's name, what it was given as columns, what it gave, and how that was judged.

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
