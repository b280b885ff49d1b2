"""The parts of a run that is being written: each has some rows, then its state. Every unfinished run consists of them.

The folder `rows` holds `part-000000.parquet` and so on, in the order of the rows; `statistics` the counts of the same
rows. A state, with what its rows add to the totals and the checksums of its files, is written last: where it exists and
the files have these sizes, its part is complete.

Parts are planned (`writer`), so that any process may write them in any order, or follow one another (`tail`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from karat.core.atomic import syncing
from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.rows import Rows, stack_statistics
from karat.data.formats.writers import open_format
from karat.data.join.match import Unmatched
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import FileSum, sum_bytes, sum_file
from karat.data.storage.remote_files import REQUESTS, find_size, list_names, read_bytes
from karat.data.storage.whole_files import make_folder, remove_file, whole_file, write_bytes
from karat.runs.columns.output import OutputColumns
from karat.runs.store.folders import ROWS, STATES, STATISTICS, partial_folder, written_folder


@dataclass(frozen=True)
class Done:
    """A finished part: its number, its rows, the state of its totals, and what was noticed.

    `state` is `Totals.to_bytes`. `warnings` are by role, `digests`, of the scored columns, too, `files` the checksums
    of the files by their names; these two only where rows are written. `first` is the number of rows in the parts
    before, where parts follow one another; state and digests are of all rows up to the end of the part then, and no row
    is added to one that has `ended`. `unmatched` are the rows of gold and of predictions without a partner in a bucket
    of ids, of which no rows are written.
    """

    task: int
    rows: int
    state: bytes = field(repr=False)
    warnings: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileSum] = field(default_factory=dict)
    first: int | None = None
    ended: bool = False
    unmatched: tuple[Unmatched, Unmatched] | None = None


@dataclass(frozen=True)
class PartsFolder:
    """The `folder` of a run in parts, which is there when it is finished; this can be sent to other processes."""

    folder: str | Path

    @property
    def partial(self) -> str | Path:
        """The folder of what is kept until the run is finished."""
        return partial_folder(self.folder)

    @property
    def written(self) -> str | Path:
        """Where the files of the parts are until the run is finished."""
        return written_folder(self.folder)

    @contextmanager
    def write(self, task: int | None, output: OutputColumns) -> Iterator[PartWriter]:
        """Write the rows and counts of a part, of None the only one; they appear at the end of the block, whole."""
        files: dict[str, FileSum] = {}
        with (
            self._summed_file(ROWS, task, files) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            open_format("parquet", sink, output.schema) as put,
            syncing(temporary) if isinstance(self.written, Path) else nullcontext(_wait_for_nothing) as sync,
        ):
            writer = PartWriter(output, put, sync, files)
            yield writer
        if writer.counted:
            with self._summed_file(STATISTICS, task, files) as temporary:
                writer.write_counts(temporary)

    def keep(self, done: Done) -> Done:
        """Write the state of a part whose rows are written."""
        head = {name: value for name, value in asdict(done).items() if name not in ("state", "unmatched")}
        content = json.dumps(head).encode() + b"\n" + done.state
        write_bytes(self._state(done.task), f"{sum_bytes(content).crc32}\n".encode() + content)
        return done

    def find(self, task: int) -> Done | None:
        """The part, if it is finished: its files have the sizes in its state; `DataError` for a damaged state."""
        if not find_size(path := self._state(task)):  # while a file is sent to Azure it may be empty
            return None
        written, _, content = read_bytes(path).partition(b"\n")
        if written.decode("latin-1") != (checksum := sum_bytes(content).crc32):
            problem = f"expected the CRC-32 {written.decode('latin-1')!r:.40}, found {checksum}"
            raise DataError(f"{path} is damaged: {problem}; remove it, and --resume scores its rows again")
        head, _, state = content.partition(b"\n")
        known = json.loads(head)
        files = {name: FileSum(**each) for name, each in known.pop("files").items()}
        done = Done(state=state, files=files, **known)
        sizes = {name: find_size(join_path(self.written, name)) for name in files}
        return done if sizes == {name: each.size for name, each in files.items()} else None

    def finished(self) -> dict[int, Done]:
        """The parts that are finished, by their numbers in the order of the rows.

        Of parts that follow one another a later one may have replaced those before it, and none counts behind a gap.
        """
        with ThreadPoolExecutor(REQUESTS) as pool:
            there = [done for done in pool.map(self.find, self.list_tasks()) if done is not None]
        kept = list[Done]()
        for done in there:
            while kept and done.first is not None and done.first <= (kept[-1].first or 0):
                kept.pop()
            if done.first is None or done.first == sum(each.rows for each in kept):
                kept.append(done)
        return {done.task: done for done in kept}

    def count_rows(self) -> int:
        """How many rows the finished parts hold."""
        return sum(done.rows for done in self.finished().values())

    def list_tasks(self) -> list[int]:
        """The parts that have a state, in their order."""
        names = list_names(join_path(self.partial, STATES))
        return [int(name.removeprefix("part-")) for name in names if name.startswith("part-")]

    def remove(self, task: int) -> None:
        """Remove the state of a part: its files count no longer."""
        remove_file(self._state(task))

    def remove_others(self, files: Iterable[str]) -> None:
        """Remove the files of rows and counts that are not among these, such as files of a process that was killed."""
        kept = set(files)
        for kind in (ROWS, STATISTICS):
            stem = Path(kind).stem
            folder = Path(self.written, stem) if isinstance(self.written, Path) else None
            there = list_names(join_path(self.written, stem)) if folder is None else _list_all(folder)
            for name in there:
                if f"{stem}/{name}" not in kept:
                    remove_file(join_path(self.written, stem, name))

    def _summed_file(self, kind: str, task: int | None, sums: dict[str, FileSum]) -> Any:
        name = kind if task is None else f"{Path(kind).stem}/part-{task:06}.parquet"
        make_folder(join_path(self.written, *Path(name).parent.parts))
        return summed_file(join_path(self.written, name), name, sums)

    def _state(self, task: int) -> str | Path:
        return join_path(self.partial, STATES, f"part-{task:06}")


def _wait_for_nothing() -> None:
    """For a file that is sent to a store at the end."""


def _list_all(folder: Path) -> list[str]:
    """The names in a folder, hidden ones too."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@dataclass
class PartWriter:
    """Writes the rows of one part, batch by batch."""

    output: OutputColumns
    put: Any
    sync: Callable[[], None]
    files: Mapping[str, FileSum]
    _counts: list[Sequence[Array]] = field(default_factory=list)

    @property
    def counted(self) -> list[int]:
        """The places of the metrics that have counts."""
        return [at for at, metric in enumerate(self.output.metrics) if metric.definition.finish]

    def add(self, rows: pa.RecordBatch, scored: Sequence[Rows]) -> None:
        """Write a batch of rows that have their scores, and the statistics of each metric."""
        self.put(rows)
        self.sync()
        self._counts.append([scored[at].statistics for at in self.counted])

    def write_counts(self, path: Path) -> None:
        """Write the counts of every row as lists of fixed length, NaN where it is unscored.

        Not null: pyarrow before 26 does not read such lists back from Parquet.
        """
        columns = {}
        for place, at in enumerate(self.counted):
            counts = stack_statistics([np.empty((0, 1)), *(each[place] for each in self._counts)])
            lists = pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1])
            columns[self.output.metrics[at].spec] = lists
        pq.write_table(pa.table(columns), path, compression="snappy", use_dictionary=False)


@contextmanager
def summed_file(path: str | Path, name: str, sums: dict[str, FileSum]) -> Iterator[Path]:
    """A temporary file that is put in its place when it is whole; its checksum is in `sums` then, under its name."""
    with whole_file(path, durable=True) as temporary:
        yield temporary
        sums[name] = sum_file(temporary)
