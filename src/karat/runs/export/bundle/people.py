"""What people said of a run's rows, in its bundle: the gold patch, and the labels that correct its values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.json_text import ITEMS
from karat.core.errors import DataError, JoinError, KaratError
from karat.data.storage.checksums import parse_json
from karat.runs.columns.gold_patch import GoldPatch, PatchNote, read_patch, write_patch
from karat.runs.columns.groups import group_rows
from karat.runs.columns.ids import id_columns, read_ids
from karat.runs.columns.patched_gold import PatchedGold, read_golds
from karat.runs.compare.run_values import RunValues
from karat.runs.export.bundle.agreement import Check, Differences
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import LabelTable
from karat.runs.match.labelled import labels_by_run
from karat.runs.match.match import match
from karat.runs.scoring.arguments import NONE
from karat.runs.store.manifest import check_content
from karat.runs.store.run import Run

PATCH, LABELS = "gold_patch.jsonl", "labels.json"
"""The files beside a run's in a bundle."""


def collect_patch(run: Run, patch: str | Path | None, folder: Path) -> tuple[dict[str, Path], str]:
    """The patch with which a run was scored, from a file, by default of its name in the working directory.

    Also what is missing; both are empty for a run without one. Raises `DataError` for a file that is another patch.
    """
    note = PatchNote.of(run.manifest.settings)
    if note is None:
        return {}, ""
    own: GoldPatch | None = None
    with suppress(*((KaratError, OSError) if patch is None else ())):
        own = read_patch(note.name if patch is None else patch)
    if own is not None and own.note.digest == note.digest:
        write_patch(own.changes.values(), folder / PATCH)
        return {PATCH: folder / PATCH}, ""
    if patch is not None:
        raise DataError(f"{patch} is not the patch with which the gold of {run.name} was patched ({note.name})")
    problem = f"{note.name}, which patched the gold of {run.name}, is not in this folder as it was then"
    return {}, f"{problem}: name it with --gold-patch"


def check_patch(run: Run, *, texts: bool) -> Iterator[Check]:
    """Whether the patch in a run's folder is the one that its manifest names, and whether the rows have its gold."""
    path, note = Path(run.path, PATCH), PatchNote.of(run.manifest.settings)
    if not path.is_file():
        if note is not None:
            problem = f"gold was patched by {note.name}, which is not in the bundle"
            yield Check(run=run.name, of=PATCH, kind="column", state="not recomputed", note=problem)
        return
    patch, compared = read_patch(path), Differences()
    written = replace(patch.note, name=note.name if note else "")
    compared.add(None if note is None else str(asdict(note)), str(asdict(written)), "what the manifest says of it")
    if texts:
        _compare_gold(run, patch, compared)
    yield compared.check(run.name, PATCH, "column")


def _compare_gold(run: Run, patch: GoldPatch, compared: Differences) -> None:
    """Whether the rows have the gold that a patch makes; it names them by the id that most of its ids are of."""
    ids, changed = dict[str, int](), pa.array(patch.changes, pa.large_string())
    column = run.manifest.mapping.get("reference", "")
    for name in filter(None, id_columns(run.schema, run.manifest.mapping, run.joined_on)):
        with suppress(JoinError):  # it holds lists or objects
            ids[name] = pc.sum(pc.is_in(read_ids(run, name), changed)).as_py() or 0
    if not ids or column not in run.schema.names:
        return
    name = max(ids, key=lambda each: ids[each])
    patched, first = PatchedGold(patch, name, column, run.schema), 1
    columns = dict.fromkeys([name, column, column.removesuffix(ITEMS)])
    for batch in run.batches([each for each in columns if each in run.schema.names]):
        changes = patched.changes_in(batch)
        for (at, change), golds in zip(changes.items(), read_golds(batch, column, list(changes)), strict=True):
            expected = () if change.reason else change.gold
            compared.add(list(golds), list(expected), f"gold of {change.id!r} in row {first + at}")
        first += len(batch)


@dataclass(frozen=True)
class _Table:
    """Labels of a run in a bundle: a row for each id, a column for each annotator, as in `LabelTable`."""

    source: str
    ids: tuple[str, ...]
    annotators: tuple[str, ...]
    scores: tuple[tuple[float | None, ...], ...]
    choices: Mapping[str, float]
    probabilities: tuple[float, ...] | None
    stops: tuple[str, ...]


@dataclass(frozen=True)
class _Stored:
    """How labels correct a run, with the labels, or the names of the `columns` that hold them; see `Labels`."""

    columns: tuple[str, ...]
    table: _Table | None
    label_map: Mapping[str, float] | str | None
    strata: str | None
    finite: bool
    threshold: float | Literal["fit"] | None
    on: str | None


def collect_labels(human: Labels, on: str | None, runs: Sequence[Run], folder: Path) -> dict[str, Path]:
    """Write the labels of each run's answers to a file in a folder: the files, by name of the run.

    Raises what reading and joining labels raises, and `DataError` where they do not correct a run's values to those
    that are stored.
    """
    files = dict[str, Path]()
    for run, each in zip(runs, labels_by_run(human, runs), strict=True):
        own = replace(each, system=each.system or run.name)
        columns, table = own.columns_of(run.schema.names), None
        if not columns:
            labels = match([run], on=on, human=own, cluster=NONE, scored=False).labelled[0].labels
            rows = (tuple(None if np.isnan(each) else each for each in row) for row in labels.scores.tolist())
            chances = None if labels.probabilities is None else tuple(labels.probabilities.tolist())
            ids = tuple(labels.ids.to_pylist())
            table = _Table(labels.source, ids, labels.annotators, tuple(rows), labels.choices, chances, labels.stops)
        joined = None if on is None else on.partition("=")[0]
        stored = _Stored(tuple(columns), table, own.label_map, own.strata, own.finite, own.threshold, joined)
        files[run.name] = folder / f"{len(files)}.json"
        files[run.name].write_text(json.dumps(asdict(stored), ensure_ascii=False, indent=1) + "\n", "utf-8")
        if run.values.get("human"):
            corrected = correct(run, run.values, *_read(files[run.name], run))
            was, now = (dict(_list_corrected(each)) for each in (run.values, corrected))
            if other := next((name for name in was | now if was.get(name) != now.get(name)), None):
                problem = f"these labels are not those with which {run.name} was scored"
                raise DataError(f"{problem}: {other} is {now.get(other)} by them, it was {was.get(other)}")
    return files


def _list_corrected(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The corrected values in `values.json`, with their groups, and whose labels correct them."""
    for name in ("annotators", "choices", "weighted"):
        yield name, values["human"][name]
    for entry in values["metrics"]:
        groups = {f"{entry['spec']} [{label}]": group for label, group in entry.get("groups", {}).items()}
        for name, each in {entry["spec"]: entry, **groups}.items():
            yield name, (each.get("corrected") or {}).get("value")


def read_labels(run: Run) -> tuple[Labels, str | None] | None:
    """The labels in a run's folder, and the column of the ids that they name; None where there are none."""
    path = Path(run.path, LABELS)
    return _read(path, run) if path.is_file() else None


def _read(path: Path, run: Run) -> tuple[Labels, str | None]:
    content = parse_json(path.read_bytes(), path)
    check_content(content, _Stored, str(path))
    source: Any = content["columns"]
    if (content["table"] is None) != bool(source) or not set(source) <= set(run.schema.names):
        raise DataError(f"{path}: expected a table of labels, or columns of the rows that hold some")
    if (table := content["table"]) is not None:
        n, people = len(table["ids"]), len(table["annotators"])
        scores = np.array([[np.nan if each is None else each for each in row] for row in table["scores"]], object)
        chances = None if table["probabilities"] is None else np.array(table["probabilities"], float)
        whole = (
            scores.shape == (n, people)
            and n
            and (chances is None or (chances.shape == (n,) and ((chances > 0) & (chances <= 1)).all()))
        )
        if not whole or len(set(table["ids"])) < n or not (~np.isnan(scores := scores.astype(float))).any(axis=1).all():
            raise DataError(f"{path}: expected labels of each of {n} ids by {people} annotators")
        source = LabelTable(
            pa.array(table["ids"], pa.large_string()), scores, tuple(table["annotators"]), table["choices"], chances,
            table["source"], np.arange(1, n + 1), ((table["source"], 0),), tuple(table["stops"]),
        )  # fmt: skip
    how = {name: content[name] for name in ("label_map", "strata", "finite", "threshold")}
    return Labels(source, **how), content["on"]


def correct(run: Run, values: Mapping[str, Any], human: Labels, on: str | None) -> dict[str, Any]:
    """The values of a run with those that people would give beside them, by the run's scores."""
    by = run.manifest.settings.get("by")
    slices = {} if by is None else group_rows(run.column(by).combine_chunks(), set(), by)
    labelled = match([run], on=on, human=human, cluster=NONE, scored=False).labelled[0]
    return RunValues.as_scored(run).correct(values, labelled, slices)
