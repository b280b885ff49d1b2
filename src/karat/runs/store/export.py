"""A run in other forms: its rows as a file, its values as Markdown, its rows as the tests of JUnit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from karat.core.atomic import replacing
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.data.open import open_source
from karat.data.write import check_output, is_writable, refuse_overwriting, write
from karat.runs.store.manifest import Scored
from karat.runs.store.run import Run
from karat.stats.value import format_value

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export_run(run: Run, path: str | Path) -> None:
    """Write a run to a file, in the form that its ending tells.

    `.csv`, `.json`, `.jsonl`, `.parquet` and the other endings of `karat score -o` take the rows, `.md` a table of the
    values, `.xml` what JUnit makes of tests: a suite a metric, in which a row is a case, failed where it has the worst
    score there is, and in error where it has none.

    Raises `DataError` for another ending and for a file that cannot be written.
    """
    path = Path(path)
    refuse_overwriting(path, run.rows)
    if path.suffix.lower() == ".md":
        _write_lines(path, _markdown(run))
    elif path.suffix.lower() == ".xml":
        _write_lines(path, _junit(run))
    elif not is_writable(path):
        raise DataError(f"{path}: expected a name that ends in .md, .xml, or one of rows: .csv, .json, .parquet, …")
    else:
        source = open_source(run.rows)
        write(source.batches(), source.schema, path)


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    check_output(path.with_suffix(".json"))  # the folder, that is
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _markdown(run: Run) -> Iterator[str]:
    """The values with their intervals, groups under the whole."""
    confidence = 100 * run.manifest.settings.get("confidence", 0.95)
    yield f"### {run.name}\n"
    yield f"| metric | value | {confidence:g} % interval | n | scored | failed |"
    yield "|---|---:|---:|---:|---:|---:|"
    for said in run.values["metrics"]:
        yield _table_row(f"`{said['spec']}`", said)
        for label, group in said.get("groups", {}).items():
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
    names, reasons = _row_names(run), run.column(run.schema.names[-1]).to_pylist()
    yield "<?xml version='1.0' encoding='UTF-8'?>"
    yield f"<testsuites name={_quoted(run.name)}>"
    for metric in run.manifest.metrics:
        scores = run.scores(metric.spec)
        failed, unscored = scores == _worst(metric), np.isnan(scores)
        yield (
            f'  <testsuite name={_quoted(metric.spec)} tests="{len(scores)}" failures="{failed.sum()}" '
            f'errors="{unscored.sum()}" timestamp={_quoted(run.manifest.created)}>'
        )
        yield from _cases(metric, names, scores, failed, reasons)
        yield "  </testsuite>"
    yield "</testsuites>"


def _cases(metric: Scored, names: list[str], scores: Array, failed: Array, reasons: list[str | None]) -> Iterator[str]:
    for name, score, bad, reason in zip(names, scores.tolist(), failed.tolist(), reasons, strict=True):
        case = f"    <testcase classname={_quoted(metric.spec)} name={_quoted(name)}"
        if score != score:  # noqa: PLR0124  (NaN)
            yield f"{case}><error message={_quoted(reason or 'not scored')}/></testcase>"
        elif bad:
            yield f'{case}><failure message="scored {score:g}"/></testcase>'
        else:
            yield f"{case}/>"


def _worst(metric: Scored) -> float | None:
    return metric.low if metric.direction == "maximize" else metric.high


def _row_names(run: Run) -> list[str]:
    """What each row is called: its id where it has one, else its number."""
    joined = str(run.manifest.settings.get("on") or "id").rpartition("=")[2]
    if joined in run.schema.names:
        return [str(value) for value in run.column(joined).to_pylist()]
    return [f"row {row}" for row in range(1, (run.manifest.n or 0) + 1)]


def _quoted(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
