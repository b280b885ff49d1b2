"""What a machine of a cluster does: it checks that karat and the files equal the sender's, and scores."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from socket import gethostname
from traceback import format_tb

import pyarrow as pa

from karat.core.context import change_context
from karat.core.errors import DataError, KaratError, SpecError
from karat.core.version import __version__
from karat.data.formats.columnar import is_same
from karat.data.join.buckets import HalfPart, divide
from karat.data.join.parts import JoinedPart
from karat.data.roles import Side
from karat.data.source import Part
from karat.data.storage.addresses import is_address
from karat.runs.scoring.tasks.engine import Failed, portable_error
from karat.runs.scoring.tasks.task import Recipe, score_bucket, score_frame, score_part
from karat.runs.store.parts import Done


def pack_recipe(recipe: Recipe, dump: Callable[[object], bytes]) -> bytes:
    """A recipe for other machines, and the version of karat; `dump` pickles the functions of notebooks whole."""
    return pickle.dumps((__version__, dump(recipe)))


def score_packed_part(packed: bytes, task: int, part: Part) -> Done | Failed:
    """Score the rows of a part with the recipe of `pack_recipe`, in one thread."""
    return _score(task, packed, lambda recipe: score_part(_check_files(recipe, part), task, part))


def score_packed_frame(packed: bytes, batches: Iterable[pa.RecordBatch]) -> Done | Failed:
    """Score some rows of a frame with the recipe of `pack_recipe`, in one thread."""
    return _score(0, packed, lambda recipe: score_frame(recipe, 0, batches))


def divide_packed_half(packed: bytes, task: int, half: HalfPart) -> Iterator[pa.RecordBatch]:
    """The rows of a half, for an engine to shuffle: a row for each bucket holds its rows as a stream of Arrow.

    Where that fails, a row without a side has the pickled `Failed`.
    """
    first = task << 32
    try:
        recipe = _check_files(_unpack(packed), half)
        for at, batches in enumerate(divide(recipe.joined, half, recipe.columns), first):
            yield _to_shuffle(half.side, at, [_to_stream(batch) for batch in batches])
    except Exception as error:  # noqa: BLE001  (files and stores raise anything)
        yield _to_shuffle("", first, [pickle.dumps(_fail(task, error))])


def score_packed_bucket(packed: bytes, rows: pa.Table) -> Done | Failed:
    """Score a bucket from all of its rows of `divide_packed_half`, in one thread."""
    rows = rows.sort_by("at")
    bucket, sides, streams = rows["bucket"][0].as_py(), rows["side"].to_pylist(), rows["data"]
    if "" in sides:
        failed: Failed = pickle.loads(streams[sides.index("")].as_py())  # noqa: S301  (written by the code above)
        return failed

    def read(wanted: Side) -> Iterator[pa.RecordBatch]:
        for at, side in enumerate(sides):
            if side == wanted:
                yield pa.ipc.open_stream(streams[at].as_buffer()).read_next_batch()

    return _score(bucket, packed, lambda recipe: score_bucket(recipe, bucket, read("reference"), read("prediction")))


SHUFFLED = pa.schema([("bucket", pa.int32()), ("at", pa.int64()), ("side", pa.string()), ("data", pa.binary())])
"""What an engine shuffles, by `bucket`; `at` is the order of the rows."""


def _to_shuffle(side: str, at: int, streams: list[bytes]) -> pa.RecordBatch:
    number = len(streams)
    columns = {"bucket": list(range(number)), "at": [at] * number, "side": [side] * number, "data": streams}
    return pa.RecordBatch.from_pydict(columns, SHUFFLED)


def _to_stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(batch)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def _score(task: int, packed: bytes, score: Callable[[Recipe], Done]) -> Done | Failed:
    try:
        with change_context(threads=1):
            return score(_unpack(packed))
    except Exception as error:  # noqa: BLE001  (metrics of users raise anything)
        return _fail(task, error)


def _fail(task: int, error: Exception) -> Failed:
    if not isinstance(error, KaratError):
        error.add_note(f"On machine {gethostname()}:\n{''.join(format_tb(error.__traceback__))}")
    return Failed(task, portable_error(error))


@lru_cache(maxsize=1)
def _unpack(packed: bytes) -> Recipe:
    """The recipe; the tasks of a process share it, so that a model which a metric has loaded is loaded once."""
    version, recipe = pickle.loads(packed)  # noqa: S301  (it comes from the driver, as this code does)
    if version != __version__:
        problem = f"karat {version} started the work, and machine {gethostname()} has karat {__version__}"
        raise SpecError(f"{problem}: install one version everywhere")
    try:
        loaded: Recipe = pickle.loads(recipe)  # noqa: S301
    except ModuleNotFoundError as error:
        problem = f"a metric needs the module {error.name!r}, which machine {gethostname()} lacks"
        raise SpecError(f"{problem}: install it there, or define the metric in the script itself") from error
    return loaded


def _check_files(recipe: Recipe, part: Part) -> Recipe:
    """The recipe; `DataError` where this machine does not see what it reads, or where it writes."""
    for problem in _find_problems(recipe, part):
        raise DataError(f"{problem}: use a disk that all its machines share, or the address of a store (s3://…)")
    return recipe


def _find_problems(recipe: Recipe, part: Part) -> Iterator[str]:
    machine = f"machine {gethostname()} of the cluster"
    for each in [part, *(part.predictions if isinstance(part, JoinedPart) else ())]:
        if is_address(each.file):
            continue
        if not Path(each.file).exists():
            yield f"{each.file} is not on {machine}, where it would be read"
        elif not is_same(each):
            yield f"{each.file} on {machine} is not the file that was opened, or has changed since"
    if recipe.folder is not None and isinstance(written := recipe.folder.partial, Path) and not written.exists():
        yield f"{written} is not on {machine}, where it would be written"
