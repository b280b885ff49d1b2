"""The Parquet files of a stored run: where they are, and how rows and counts are read from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.rows import widen
from karat.core.parallel import map_ordered
from karat.data.storage.addresses import is_address, join_path
from karat.data.storage.checksums import FileSum, check_file
from karat.data.storage.remote_files import exists, list_files, open_file
from karat.data.storage.stores import name_errors


def find_files(run: str | Path, name: str) -> Sequence[str | Path]:
    """The files of a run's rows, or of its counts, in their order: one, or one of each part."""
    one = join_path(run, name)
    if exists(one):
        return [one]
    if is_address(run):
        return [file.path for file in list_files(parts_pattern(run, name))]
    return sorted(Path(run, Path(name).stem).glob("part-*.parquet")) or [one]


def check_files(
    run: str | Path, name: str, sums: Mapping[str, FileSum], *, others: bool = False
) -> Sequence[str | Path]:
    """The files as of `find_files`; `DataError` where one is missing, damaged, or new, unless there may be `others`.

    `sums` are a manifest's; older ones have none. The content of files in a store is not read here: a store
    has checksums of its own.
    """
    stem = Path(name).stem
    expected = {each: join_path(run, each) for each in sorted(sums) if each == name or each.startswith(f"{stem}/")}
    files = list(expected.values()) if others else find_files(run, name)
    if not sums:
        return files
    by_name = {name if Path(file).name == name else f"{stem}/{Path(file).name}": file for file in files}
    for each in sorted(by_name.keys() ^ expected.keys(), key=lambda each: (each in by_name, each)):
        problem = "is missing" if each in expected else "is not of this run: its manifest does not name it"
        raise DataError(f"{join_path(run, each)} {problem}")
    if not is_address(run):
        for _ in map_ordered(lambda each: check_file(by_name[each], sums[each]), sorted(by_name)):
            pass
    return files


def parts_pattern(run: str | Path, name: str) -> str | Path:
    """The pattern of the files of a run that was written in parts."""
    return join_path(escape(str(run)), Path(name).stem, "part-*.parquet")


def count_rows(file: str | Path) -> int:
    """The number of rows of a file."""
    with name_errors(str(file)), open_file(file) as stored:
        return int(pq.read_metadata(stored).num_rows)


def count_width(file: str | Path, spec: str) -> int:
    """The number of statistics a row in a file of counts; 1 where no row is scored."""
    kinds = [each.type for each in read_schema(file) if each.name == spec]
    if len(kinds) != 1 or not pa.types.is_fixed_size_list(kinds[0]) or kinds[0].value_type != pa.float64():
        widths = ", ".join(map(str, kinds)) or "no such column"
        raise DataError(f"{file}, column {spec!r}: expected counts, lists of numbers of one length, found {widths}")
    return int(kinds[0].list_size)


def read_table(file: str | Path, names: list[str]) -> pa.Table:
    """Some columns of a file."""
    with open_file(file) as stored:
        return pq.read_table(stored, columns=names, partitioning=None)


def read_schema(file: str | Path) -> pa.Schema:
    """The columns of a file."""
    with name_errors(str(file)), open_file(file) as stored:
        return pq.read_schema(stored)


def read_rows(file: str | Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The columns of a schema in a file, in batches; null where the file lacks one."""
    with name_errors(str(file)), open_file(file) as stored:
        for batch in pq.ParquetFile(stored).iter_batches():
            there = dict(zip(batch.schema.names, batch.columns, strict=True))
            columns = [there.get(each.name, pa.nulls(len(batch), each.type)).cast(each.type) for each in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def read_counts(files: Sequence[str | Path], spec: str) -> Iterator[Array]:
    """The counts of a metric, shape (rows, statistics) each, NaN where a row is not scored, in batches."""
    width = max((count_width(file, spec) for file in files), default=1)
    for file in files:
        with name_errors(str(file)), open_file(file) as stored:
            for batch in pq.ParquetFile(stored).iter_batches(columns=[spec]):
                yield widen(_to_counts(batch.column(0)), width)


def _to_counts(lists: pa.Array) -> Array:
    width = lists.type.list_size
    counts = np.full((len(lists), width), np.nan)
    counts[np.asarray(lists.is_valid())] = np.asarray(lists.flatten()).reshape(-1, width)
    return counts
