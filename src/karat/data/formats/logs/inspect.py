"""Logs of Inspect, one row per sample and epoch: packed (`.eval`) and as one JSON document."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError, KaratError, spell_error
from karat.data.formats.logs.rows import open_rows
from karat.data.source import Source

_ZSTANDARD = 93
_TRANSCRIPT = ("events", "attachments", "events_data")
_NUMBERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partially correct, incorrect and no answer, as Inspect's `value_to_float` counts them."""


def open_inspect(path: Path, name: str) -> Source:
    """Open a packed log of Inspect (`.eval`); one sample at a time is in memory.

    Raises `DataError` for any other file, and for a log without samples.
    """
    try:
        with zipfile.ZipFile(path) as log, path.open("rb") as file:
            infos = [each for each in log.infolist() if each.filename.startswith("samples/")]
            start = (
                "header.json" if "header.json" in log.namelist() else "_journal/start.json"
            )  # a log that was stopped
            header = json.loads(_read_member(log, file, log.getinfo(start)))
            if not infos:
                raise _without_samples(name)
            samples = (json.loads(_read_member(log, file, each)) for each in infos if each.filename.endswith(".json"))
            return open_rows(inspect_rows(header | {"samples": samples}), name, "Inspect")
    except KaratError:
        raise
    except Exception as error:  # what is damaged in an archive fails in many ways
        raise DataError(f"{name}: not a log of Inspect: {spell_error(error)}") from error


def _read_member(log: zipfile.ZipFile, file: Any, info: zipfile.ZipInfo) -> bytes:
    """The content of a member of a zip file; Python before 3.14 reads none that is compressed by Zstandard."""
    if info.compress_type != _ZSTANDARD:
        return log.read(info)
    file.seek(info.header_offset + 26)
    file.seek(sum(struct.unpack("<HH", file.read(4))), 1)
    packed = pa.BufferReader(file.read(info.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        content = bytes(stream.read())
    if zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename} is damaged: its checksum differs")
    return content


def is_inspect(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a log of Inspect."""
    return isinstance(document.get("eval"), dict) and (
        "samples" in document or {"status", "version"} <= document.keys()
    )


def _without_samples(name: str) -> DataError:
    remedy = "score one that was written without --no-log-samples and read without header_only"
    return DataError(f"{name}: a log of Inspect without samples; {remedy}")


def inspect_document(document: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The rows of a log that is one JSON document. Raises `DataError` if it has no samples."""
    if not document.get("samples"):
        raise _without_samples(name)
    return inspect_rows(document)


def inspect_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per sample and epoch: question, prediction, reference, and what each scorer found.

    `score.SCORER` is as it is in the log, `value.SCORER` a number, `answer.SCORER` what the scorer took for the answer.
    Where a sample has choices, the prediction is the letter that the scorers took for the answer. Targets lose
    whitespace at their ends, as Inspect's scorers drop it; the column `sample` has all as it was, but the transcript
    (`events`, `attachments`).

    >>> sample = {"id": 1, "input": "2+2?", "target": "4", "scores": {"match": {"value": "C"}}}
    >>> [row] = inspect_rows({"eval": {"task": "sums"}, "samples": [sample]})
    >>> row["question"], row["reference"], row["score.match"], row["value.match"]
    ('2+2?', '4', 'C', 1.0)
    """
    evaluation = document["eval"]
    samples: Iterable[dict[str, Any]] = document["samples"]
    for sample in samples:
        scores = sample.get("scores") or {}
        values = {scorer: score.get("value") for scorer, score in scores.items()}
        answers = {scorer: score["answer"] for scorer, score in scores.items() if score.get("answer") is not None}
        output = sample.get("output") or {}
        choices = output.get("choices") or [{}]
        yield {
            "task": evaluation.get("task"),
            "model": evaluation.get("model"),
            "id": sample["id"],
            "epoch": sample.get("epoch"),
            "question": _question(sample.get("input")),
            "prediction": _chosen(sample, answers)
            or output.get("completion")
            or _content_text((choices[0].get("message") or {}).get("content")),
            "reference": _target(sample.get("target")),
            **{f"score.{scorer}": value for scorer, value in values.items()},
            **{f"value.{scorer}": _number(value) for scorer, value in values.items()},
            **{f"answer.{scorer}": answer for scorer, answer in answers.items()},
            "error": sample.get("error"),
            "sample": json.dumps({key: sample[key] for key in sample if key not in _TRANSCRIPT}, ensure_ascii=False),
        }


def _chosen(sample: Mapping[str, Any], answers: Mapping[str, Any]) -> Any:
    """The letter of the choice that all scorers of a sample with choices took for the answer, if it is one."""
    taken = set(map(str, answers.values()))
    return taken.pop() if sample.get("choices") and len(taken) == 1 else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool | int | float):
        return float(value)
    return _NUMBERS.get(value) if isinstance(value, str) else None


def _target(target: Any) -> Any:
    if isinstance(target, list):
        return [_target(each) for each in target]
    return target.strip() if isinstance(target, str) else target


def _question(messages: Any) -> str | None:
    """The input, or the last user message in it."""
    if not isinstance(messages, list):
        return _content_text(messages)
    of_user = [message for message in messages if message.get("role") == "user"]
    return _content_text(of_user[-1].get("content")) if of_user else None


def _content_text(content: Any) -> str | None:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content if content is None else str(content)
