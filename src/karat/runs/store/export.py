"""Export of a run to one file: its rows, its values as Markdown, or its rows as JUnit test cases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from karat.core.errors import DataError
from karat.data.open import open_source
from karat.data.write import check_folder, is_writable, refuse_overwriting, whole_file, write
from karat.runs.store.run import Run
from karat.stats.value import format_value

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export_run(run: Run, path: str | Path) -> None:
    """Write a run, or a scored file, to a file; its ending selects the format.

    `.csv`, `.json`, `.jsonl`, `.parquet` and the other endings of `karat score -o`: the rows. `.md`: a table of the
    values. `.xml`: JUnit, a test suite for each metric and a test case for each row, failed where the row has the worst
    possible score, in error where it has none.

    Raises `DataError` for another ending and for a file that cannot be written.
    """
    refuse_overwriting(path, run.rows)
    suffix = PurePath(path).suffix.lower()
    if suffix == ".md":
        _write_lines(path, _markdown(run))
    elif suffix == ".xml":
        _write_lines(path, _junit(run))
    elif not is_writable(path):
        raise DataError(f"{path}: expected a name that ends in .md, .xml, or one of rows: .csv, .json, .parquet, …")
    else:
        source = open_source(run.rows)
        write(source.batches(), source.schema, path)


def _write_lines(path: str | Path, lines: Iterator[str]) -> None:
    check_folder(path)
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _markdown(run: Run) -> Iterator[str]:
    """A table of the values with their intervals, the groups of a metric below it."""
    confidence = 100 * run.manifest.settings.get("confidence", 0.95)
    groups = {entry["spec"]: entry.get("groups", {}) for entry in run.values.get("metrics", ())}
    yield f"### {run.name}\n"
    yield f"| metric | value | {confidence:g} % interval | n | scored | failed |"
    yield "|---|---:|---:|---:|---:|---:|"
    for spec in run.specs:
        yield _table_row(f"`{spec}`", run.value(spec).as_dict())
        for label, group in groups.get(spec, {}).items():
            yield _table_row(label, group)


def _table_row(name: str, value: dict[str, Any]) -> str:
    cells = (
        name.replace("|", "\\|").replace("\n", " "),
        format_value(value["value"]),
        f"{format_value(value['low'])} – {format_value(value['high'])}",
        *(str(value[each]) for each in ("n", "scored", "failed")),
    )
    return f"| {' | '.join(cells)} |"


def _junit(run: Run) -> Iterator[str]:
    scores = {metric.spec: run.scores(metric.spec) for metric in run.manifest.metrics}
    n = len(scores[run.specs[0]])
    names, reasons = _row_names(run, n), run.reasons() or [None] * n
    created = f" timestamp={_quoted(run.manifest.created)}" if run.manifest.created else ""
    yield "<?xml version='1.0' encoding='UTF-8'?>"
    yield f"<testsuites name={_quoted(run.name)}>"
    for metric in run.manifest.metrics:
        failed = scores[metric.spec] == (metric.low if metric.direction == "maximize" else metric.high)
        yield (
            f'  <testsuite name={_quoted(metric.spec)} tests="{n}" failures="{failed.sum()}" '
            f'errors="{np.isnan(scores[metric.spec]).sum()}"{created}>'
        )
        for name, score, worst, reason in zip(names, scores[metric.spec], failed, reasons, strict=True):
            yield f"    <testcase classname={_quoted(metric.spec)} name={_quoted(name)}{_outcome(score, worst, reason)}"
        yield "  </testsuite>"
    yield "</testsuites>"


def _outcome(score: float, worst: bool, reason: str | None) -> str:
    if np.isnan(score):
        return f"><error message={_quoted(reason or 'not scored')}/></testcase>"
    return f'><failure message="scored {score:g}"/></testcase>' if worst else "/>"


def _row_names(run: Run, n: int) -> Sequence[str]:
    """The name of each row: its id where it has one, else its number."""
    joined = str(run.manifest.settings.get("on") or "id").rpartition("=")[2]
    if joined in run.schema.names:
        return [str(value) for value in run.column(joined).to_pylist()]
    return [f"row {row}" for row in range(1, n + 1)]


def _quoted(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
