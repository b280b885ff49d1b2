"""Runs without their texts: a digest stands in the place of each, and what can be computed from scores still is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from karat.core.columns.arrow import is_text
from karat.core.columns.json_text import RAW
from karat.core.columns.python_values import to_python
from karat.core.errors import SpecError
from karat.core.metric.rows import LEFT_OUT
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import sum_file
from karat.data.storage.remote_files import read_bytes
from karat.runs.columns.groups import group_rows
from karat.runs.columns.ids import find_question, item_columns
from karat.runs.columns.output import find_reason_column
from karat.runs.compare.run_values import RunValues
from karat.runs.store.folders import MANIFEST, ROWS, VALUES
from karat.runs.store.manifest import write_json, write_manifest
from karat.runs.store.run import Run

OMITTED = "(left out)"
_DIGEST = re.compile("[0-9a-f]{64}")


def write_digested(run: Run, folder: Path, read: Iterable[str | None] = ()) -> list[str]:
    """Write a run without its texts into a folder, and return the names of its files.

    Scores, counts, ids, groups, numbers, and names of files and columns stay; of every other cell that is not empty
    the SHA-256 is there: of its bytes, where it is a text, else of it as JSON. The command, the condition for rows and
    what judges and lists were counted by are left out. `read`: further columns that stay, such as labels by people.

    Raises `SpecError` for a run whose groups are texts that metrics read.
    """
    manifest, settings = run.manifest, dict(run.manifest.settings)
    by, kept = settings.get("by"), _find_kept(run) | set(filter(None, read))
    if by is not None and by not in kept:
        raise SpecError(f"{run.name} has values by {by!r}, a text that metrics read: bundle it with its texts")
    files = {}
    for name in sorted(manifest.files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name == VALUES:
            metrics = [{key: each[key] for key in each if key != "counts"} for each in run.values["metrics"]]
            files[name] = write_json(folder / name, {**run.values, "metrics": metrics})
            continue
        content = read_bytes(join_path(run.path, name))
        if name.startswith(Path(ROWS).stem):
            pq.write_table(_digest_rows(run, pq.read_table(pa.BufferReader(content)), kept), folder / name)
        else:
            (folder / name).write_bytes(content)
        files[name] = sum_file(folder / name)
    settings |= {"where": OMITTED} if settings.get("where") else {}
    write_manifest(replace(manifest, call="", settings=settings, files=files), folder)
    return [MANIFEST, *files]


def compute_values(run: Run) -> dict[str, Any]:
    """The values of a run by its scores and counts alone, as `values.json` has them."""
    by = run.manifest.settings.get("by")
    without = replace(run, values={**run.values, "metrics": (), "human": None})
    slices = {} if by is None else group_rows(run.column(by).combine_chunks(), set(), by)
    return RunValues.as_scored(without).compute(slices)


def is_digested(run: Run, column: str | None) -> bool:
    """Whether the texts of a column of a run are digests."""
    if column is None or column not in run.schema.names or not is_text(run.schema.field(column).type):
        return False
    first = next((cell for cell in run.column(column).to_pylist() if cell), "")
    return _DIGEST.fullmatch(first) is not None


def _find_kept(run: Run) -> set[str]:
    """The columns that stay as they are: ids, groups, clusters, scores and numbers, but for those that metrics read."""
    manifest, schema = run.manifest, run.schema
    texts = {*manifest.mapping.values(), find_question(schema, manifest.mapping)}
    kept = {*item_columns(schema, manifest.mapping, run.joined_on), *manifest.clusters_in}
    kept |= {name for name in (manifest.settings.get(key) for key in ("by", "cluster")) if name is not None}
    kept |= {
        each.name
        for each in schema
        if pt.is_integer(each.type) or pt.is_floating(each.type) or pt.is_boolean(each.type)
    }
    return (kept - texts) | {each.column for each in manifest.metrics}


def _digest_rows(run: Run, table: pa.Table, kept: set[str]) -> pa.Table:
    reason = find_reason_column(table.schema.names, {each.column for each in run.manifest.metrics})
    columns = {}
    for name in table.schema.names:
        column = table.column(name)
        if name == reason and is_text(column.type):
            others = pc.if_else(pc.is_null(column), pa.scalar(None, pa.string()), OMITTED)
            column = pc.if_else(pc.fill_null(pc.match_substring(column, LEFT_OUT), False), column, others)
        elif name not in kept and not pt.is_null(column.type):
            column = pa.array(_digest(column), pa.string())
        columns[name] = column
    return pa.table(columns)


def _digest(column: pa.ChunkedArray) -> Iterator[str | None]:
    texts = is_text(column.type) or column.type == RAW
    cells = column.cast(pa.large_string()).to_pylist() if texts else to_python(column)
    for cell in cells:
        text = cell if texts or cell is None else json.dumps(cell, sort_keys=True, default=str, ensure_ascii=False)
        yield sha256(text.encode()).hexdigest() if text else text
