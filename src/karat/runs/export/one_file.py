"""Export of a run to one file: its rows, a table of its values, or its rows as JUnit test cases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from karat.core.columns.python_values import to_python
from karat.data.write import is_writable, refuse_overwriting, write
from karat.runs.compare.run_values import stored_value, value_of
from karat.runs.store.run import Run
from karat.runs.table.document import check_document, cite_digest, write_lines
from karat.runs.table.value_table import MetricValue, value_document, value_table
from karat.stats.corrected.value import Corrected

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export_run(
    run: Run,
    path: str | Path,
    *,
    values: bool = False,
    percent: bool = False,
    plus_minus: bool = False,
    bundle: str = "",
) -> None:
    """Write a run, or a scored file, to a file; its ending selects the format.

    `.csv`, `.json`, `.jsonl`, `.parquet` and the other endings of `karat score -o`: the rows, with `values` the values.
    `.md`, `.tex`, `.html`: a table of the values; `percent` and `plus_minus` as in `Result.save`. `.xml`: JUnit, a test
    suite for each metric and a test case for each row, failed where the row has the worst possible score, in error
    where it has none, skipped where a rule left it out when it ended the asking.

    `bundle`: the digest of the bundle that holds the run, which a table names.

    Raises `DataError` for another ending and for a file that cannot be written.
    """
    refuse_overwriting(path, run.rows)
    if PurePath(path).suffix.lower() == ".xml":
        write_lines(path, _junit(run))
    elif is_writable(path) and not values:
        write(run.source.batches(), run.source.schema, path)
    else:
        check_document(path, ".xml")
        confidence = run.manifest.settings.get("confidence", 0.95)
        metric_values = list(_read_values(run))
        title = f"{run.name}: {metric_values[0].value.n} rows" if metric_values else run.name
        table = value_table(metric_values, confidence, percent=percent, caption=title)
        table = replace(table, notes=(*table.notes, *cite_digest(bundle)))
        value_document(table, metric_values, confidence, run.values).save(path, plus_minus=plus_minus)


def _read_values(run: Run) -> Iterator[MetricValue]:
    """The value of each metric, then its groups' values; of a scored file they are computed."""
    stored: dict[str, dict[str, Any]] = {entry["spec"]: entry for entry in run.values.get("metrics", ())}
    for metric in run.manifest.metrics:
        whole: dict[str, Any] = stored.get(metric.spec) or value_of(run, metric.spec).as_dict()
        for label, entry in ((None, whole), *whole.get("groups", {}).items()):
            corrected = Corrected(**entry["corrected"]) if entry.get("corrected") else None
            caution = whole.get("caution", "") if label is None else ""
            bounds = metric.low, metric.high
            yield MetricValue(metric.spec, label, stored_value(entry), corrected, bounds, caution, metric.recipe)


def _junit(run: Run) -> Iterator[str]:
    scores = {metric.spec: run.scores(metric.spec) for metric in run.manifest.metrics}
    n = len(next(iter(scores.values()), ()))
    names, reasons = _row_names(run, n), run.reasons() or [None] * n
    created = f" timestamp={_quoted(run.manifest.created)}" if run.manifest.created else ""
    yield "<?xml version='1.0' encoding='UTF-8'?>"
    yield f"<testsuites name={_quoted(run.name)}>"
    for metric in run.manifest.metrics:
        failed = scores[metric.spec] == (metric.low if metric.direction == "maximize" else metric.high)
        left_out = run.left_out(metric.spec)
        skipped = np.zeros(n, bool) if left_out is None else left_out
        counts = f'failures="{failed.sum()}" errors="{(np.isnan(scores[metric.spec]) & ~skipped).sum()}"'
        counts += f' skipped="{skipped.sum()}"' if skipped.any() else ""
        yield f'  <testsuite name={_quoted(metric.spec)} tests="{n}" {counts}{created}>'
        for name, *row in zip(names, scores[metric.spec], failed, skipped, reasons, strict=True):
            yield f"    <testcase classname={_quoted(metric.spec)} name={_quoted(name)}{_outcome(*row)}"
        yield "  </testsuite>"
    yield "</testsuites>"


def _outcome(score: float, worst: bool, skipped: bool, reason: str | None) -> str:
    if skipped:
        return f"><skipped message={_quoted(reason or 'not asked')}/></testcase>"
    if np.isnan(score):
        return f"><error message={_quoted(reason or 'not scored')}/></testcase>"
    return f'><failure message="scored {score:g}"/></testcase>' if worst else "/>"


def _row_names(run: Run, n: int) -> Sequence[str]:
    """The name of each row: its id where it has one, else its number."""
    joined = str(run.manifest.settings.get("on") or "id").rpartition("=")[2]
    if joined in run.schema.names:
        return [str(value) for value in to_python(run.column(joined))]
    return [f"row {row}" for row in range(1, n + 1)]


def _quoted(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
