"""What karat stored, as it may come from a stranger or from a damaged disk: runs, scored files, labels, totals."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from targets import SCRATCH, write

ROWS: dict[str, list[str | None]] = {
    "id": ["q1", "q2", "q3", "q4"],
    "prediction": ["a", "b c", None, "d"],
    "reference": ["a", "b", "c", "e"],
    "topic": ["x", "y", "x", "y"],
}
METRICS = ("exact_match", "token_f1", "bleu")


@cache
def make_runs() -> Path:
    """A folder with two runs; commands find it."""
    import karat

    folder = SCRATCH / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["KARAT_RUNS"] = str(folder)
    for name, first in (("before", "b"), ("after", "a")):
        karat.score({**ROWS, "prediction": [first, *ROWS["prediction"][1:]]}, METRICS, run=name, by="topic")
    return folder


def manifest(data: bytes) -> None:
    """A manifest is refused, or the run is read, listed, compared and shown."""
    _use_run(data, "manifest.json")


def values(data: bytes) -> None:
    """The values of a run, as those of a manifest."""
    _use_run(data, "values.json")


def run_rows(data: bytes) -> None:
    """Bytes in place of the rows of a run: a checksum refuses all but those that were written."""
    from karat.core.errors import KaratError
    from karat.runs.store.run import open_run

    folder = _copy_run()
    rows = folder / "rows.parquet"
    before = rows.read_bytes()
    rows.write_bytes(data)
    with suppress(KaratError):
        open_run("strange").scores("exact_match")
        assert data == before, "other rows have the checksum"


def scored_file(data: bytes) -> None:
    """A file of scored rows is refused, or has a score, or none, for each row."""
    from karat.core.errors import KaratError
    from karat.runs.compare.run_values import value_of
    from karat.runs.store.run import open_scored

    for suffix in ("jsonl", "csv"):
        with suppress(KaratError):
            run = open_scored(write(f"scored.{suffix}", data))
            for spec in run.specs:
                scores = run.scores(spec)
                value = value_of(run, spec)
                assert len(scores) == value.n
                assert value.scored == int(np.isfinite(scores).sum())


def labels(data: bytes) -> None:
    """Labels by people, in the first or the second half of the files as in one; a row's scores are finite."""
    from karat.core.errors import KaratError
    from karat.runs.labels.table import read_labels

    for suffix in ("jsonl", "csv"):
        with suppress(KaratError):
            found = read_labels(write(f"labels.{suffix}", data), on="id")
            assert len(set(found.ids.to_pylist())) == len(found)
            assert np.isfinite(found.mean).all()
            one, other = (SCRATCH / f"{part}.{suffix}" for part in ("one", "other"))
            shutil.copy(SCRATCH / f"labels.{suffix}", one)
            shutil.copy(SCRATCH / f"labels.{suffix}", other)
            twice = read_labels([one, other], on="id")
            assert twice.ids.to_pylist() == found.ids.to_pylist()
            assert repr(twice.scores.tolist()) == repr(found.scores.tolist())


def journal(data: bytes) -> None:
    """A journal of labels is refused and stays as it is, or loses at most its last line, and takes a new one."""
    from karat.core.errors import KaratError
    from karat.runs.labels.journal import Journal

    path, line = write("journal.jsonl", data), {"id": "q", "annotator": "ann", "action": "skip"}
    taken: list[dict[str, Any]] = []
    try:
        with (held := Journal(path, lambda each, _: taken.append(each))).hold():
            held.append(line)
    except KaratError:
        assert path.read_bytes() == data, "a file that is refused was changed"
        return
    again: list[dict[str, Any]] = []
    with Journal(path, lambda each, _: again.append(each)).hold():
        pass
    assert taken == again
    assert again[-1] == line
    assert path.read_bytes().startswith(data.rpartition(b"\n")[0])


def totals(data: bytes) -> None:
    """The totals of rows as bytes: what was not written as such is refused."""
    from karat.core.errors import KaratError
    from karat.runs.scoring.totals.totals import CHECKSUM, FORMAT, HEAD, _read_state

    for state in (data, HEAD + FORMAT + bytes(CHECKSUM) + data):
        with suppress(KaratError):
            raise AssertionError(_read_state(state))


def calibrations(data: bytes) -> None:
    """How judges compare with people, kept in a file: refused, or found for a judge."""
    import karat.judges  # noqa: F401  (it registers the names)
    from karat.core.errors import KaratError
    from karat.core.metric.spec import parse
    from karat.runs.judge.kept_calibration import find_calibration, read_calibrations

    with suppress(KaratError):
        find_calibration(parse("judge:refusal"), read_calibrations(write("calibrations.json", data)))


def haystack_component(data: bytes) -> None:
    """A component of Haystack from a dict that came as JSON; from the dict that it gives, the same component."""
    from haystack.core.errors import DeserializationError

    from karat.adapters import haystack
    from karat.core.errors import KaratError

    with suppress(ValueError, TypeError, AttributeError, RecursionError, KaratError, DeserializationError):
        stored = json.loads(data)
        name = str(stored.get("type")).rpartition(".")[2] if isinstance(stored, dict) else ""
        if name in haystack.__all__ and hasattr(kind := getattr(haystack, name), "from_dict"):
            written = kind.from_dict(stored).to_dict()
            assert json.loads(json.dumps(kind.from_dict(written).to_dict())) == json.loads(json.dumps(written))


def _copy_run() -> Path:
    folder = make_runs() / "strange"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(folder.parent / "before", folder)
    return folder


def _use_run(data: bytes, file: str) -> None:
    """Do with a run what commands do; one that is refused is listed with its problem, and hides no other."""
    from karat.core.errors import KaratError
    from karat.data.storage.checksums import sum_bytes
    from karat.runs.compare.compare import compare
    from karat.runs.compare.run_values import value_of
    from karat.runs.store.run import open_run
    from karat.viewer.page.catalog import Catalog
    from karat.viewer.page.guard import encode

    folder = _copy_run()
    (folder / file).write_bytes(data)
    if file != "manifest.json":
        about = json.loads((folder / "manifest.json").read_text("utf-8"))
        about.pop("checksum")
        about["files"][file] = vars(sum_bytes(data))
        (folder / "manifest.json").write_text(json.dumps(about), "utf-8")
    listed = {each["name"]: each for each in Catalog().describe()}
    assert listed.keys() == {"before", "after", "strange"}
    assert not any(listed[name].get("problem") for name in ("before", "after"))
    encode({"runs": list(listed.values())})
    with suppress(KaratError):
        run = open_run("strange")
        for spec in run.specs:
            with suppress(KaratError):
                value_of(run, spec)
            with suppress(KaratError):
                run.scores(spec)
                run.statistics(spec)
        compare(run, open_run("after"))
