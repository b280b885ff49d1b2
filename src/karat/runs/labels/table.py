"""Labels by people: read from files and columns, mapped to scores, and matched with rows by id."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, JoinError, did_you_mean
from karat.data.source import Source
from karat.data.storage.file_names import name_row
from karat.runs.labels.choices import check_label_map, parse_label_map
from karat.runs.labels.layout import PROBABILITY, read_entries
from karat.runs.labels.systems import SYSTEM, list_systems

_EXAMPLES = 3
_BOOLEANS = ({"true": 1.0, "false": 0.0}, {"True": 1.0, "False": 0.0})


@dataclass(frozen=True)
class LabelTable:
    """Labels by people, one row for each labelled row, one column for each annotator.

    `ids` are unique texts, shape (n,). `scores` has shape (n, annotators), NaN where an annotator gave no label.
    `choices` is the score of each label's name, in order; {} where the labels are numbers. `probabilities`, shape (n,),
    in (0, 1]: with which each row was proposed for labelling; None for a uniform sample. `source` is for messages;
    `rows` is the row of each id's first label, from 1, counted through all of `files`: the name of each, and the number
    of rows before it. `stops`: how a rule ended the labelling, and the interval then.
    """

    ids: pa.Array
    scores: Array
    annotators: tuple[str, ...]
    choices: Mapping[str, float]
    probabilities: Array | None
    source: str
    rows: Array = field(repr=False)
    files: tuple[tuple[str, int], ...] = field(repr=False)
    stops: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def notes(self) -> list[str]:
        """What to know of these labels, in words: a rule that ended them, and names that may be a mistake."""
        return [*note_names(self.annotators), *self.stops]

    @property
    def mean(self) -> Array:
        """The mean score over the annotators who labelled a row, shape (n,)."""
        there = ~np.isnan(self.scores)
        mean: Array = np.where(there, self.scores, 0.0).sum(axis=1) / there.sum(axis=1)
        return mean

    def place(self, at: int) -> str:
        """The file and the row of the label at this position, for messages."""
        return _place(self.files, int(self.rows[at]))

    def take(self, kept: Array) -> LabelTable:
        """The labels at these positions, or where a mask is true."""
        where = np.flatnonzero(kept) if kept.dtype == bool else kept
        probabilities = None if self.probabilities is None else self.probabilities[where]
        ids, scores, rows = self.ids.take(pa.array(where)), self.scores[where], self.rows[where]
        return replace(self, ids=ids, scores=scores, probabilities=probabilities, rows=rows)


def read_labels(
    source: Any,
    *,
    on: str | None,
    label_map: Mapping[str, float] | str | None = None,
    columns: Sequence[str] = (),
    choices: Iterable[Mapping[str, float]] = (),
    system: str | None = None,
) -> LabelTable:
    """Read labels by people.

    `source`: what `karat.score` reads, or a list of several files: labels of several rounds add up. `on`: the column of
    the ids; None: the rows' own numbers, from 1. Several annotators are in long form, with a column `annotator`, or
    have a column each (`annotator1`, `annotator2`). `columns` names the columns of labels where their names are not
    recognised. A row without a label is left out. A column `probability` holds the probability with which each row was
    proposed for labelling, as `karat label --next` writes it. `system`: where a column `system` names several systems,
    the one whose rows are kept.

    Labels are numbers, true and false, or names. `label_map` has the score of each name: a dict, `"good=1,bad=0"`, or
    `"bad<fair<good"` for even steps from 0 to 1. Without it, names are looked for in each of `choices`, such as the
    choices of a judge. In a table with columns `label` and `score`, the score of a name stands beside it.

    Raises `ColumnError` for a column that is missing or not recognised, `DataError` for a label that has no score, for
    a person who labelled a row twice and differently, and for probabilities that are not in (0, 1], `JoinError` for a
    missing id; each names file, row and column.

    >>> long = {"id": [7, 7, 8], "annotator": ["ada", "bob", "ada"], "label": ["good", "bad", "good"]}
    >>> labels = read_labels(long, on="id", label_map="good=1,bad=0")
    >>> labels.ids.to_pylist(), labels.annotators, labels.mean.tolist()
    (['7', '8'], ('ada', 'bob'), [0.5, 1.0])
    >>> wide = {"id": [7, 8], "annotator1": [1, None], "annotator2": [0, 1]}
    >>> read_labels(wide, on="id").scores.tolist()
    [[1.0, 0.0], [nan, 1.0]]
    """
    sources = source if _is_several(source) else [source]
    parts, files, unnamed, before, stops = [], [], set[str](), 0, list[str]()
    for each in sources:
        entries, name, rows, named, ended = read_entries(each, on, columns, system)
        stops += ended
        parts.append(entries.set_column(0, "row", pc.add(entries["row"], before)))
        files.append((name, before))
        unnamed.update(() if named else pc.unique(entries["annotator"]).to_pylist())
        before += rows
    _check_probabilities(parts, files)
    entries = pa.concat_tables(parts, promote_options="default").combine_chunks()
    names = ", ".join(name for name, _ in files)
    if not len(entries):
        of = "" if system is None else f" of the system {system!r}"
        problem = f"{names}: expected labels{of}, found none in {before} rows"
        raise DataError(problem if system is None else f"{problem}{_name_systems(source)}")
    gathered = _gather(entries, _choose(entries, files, label_map, choices), names, tuple(files), unnamed)
    return replace(gathered, stops=tuple(stops))


def note_names(annotators: Sequence[str]) -> list[str]:
    """What may be a mistake in the names of annotators, in words.

    >>> note_names(["Ann", "Ben", "ann"])
    ["the annotators 'Ann' and 'ann' differ only in case or spaces: are they one person?"]
    """
    alike = {name.strip().casefold(): name for name in annotators}
    pairs = ((name, alike[name.strip().casefold()]) for name in annotators)
    return [
        f"the annotators {one!r} and {other!r} differ only in case or spaces: are they one person?"
        for one, other in pairs
        if one != other
    ]


def match_labels(labels: LabelTable, ids: pa.Array, where: str) -> Array:
    """The position of each labelled row among `ids`, shape (n,), int64.

    `ids` are texts, null where a row has none; `where` names them in messages. Raises `JoinError`, with file and row,
    for a label whose row is not among them or is there twice.

    >>> labels = read_labels({"id": [8, 7], "label": [1, 0]}, on="id")
    >>> match_labels(labels, pa.array(["7", "8", "9"]), "answers").tolist()
    [1, 0]
    """
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    ids = ids.cast(labels.ids.type)
    index = pc.index_in(labels.ids, ids)
    if index.null_count:
        at = np.flatnonzero(np.asarray(index.is_null()))
        few = "; ".join(f"{labels.ids[row].as_py()!r} ({labels.place(row)})" for row in at[:_EXAMPLES])
        near = did_you_mean(labels.ids[at[0]].as_py(), ids.slice(0, 1000).drop_null().to_pylist(), total=len(ids))
        problem = f"{len(at)} of {len(labels)} labelled rows are not in {where}: {few}{near}"
        raise JoinError(f"{labels.source}: {problem}; remove them, or name the column of the ids with on (--on)")
    positions = np.asarray(index, np.int64)
    places = pc.index_in(ids, labels.ids).drop_null()
    if len(places) > len(labels):
        twice = int(np.argmax(np.bincount(np.asarray(places), minlength=len(labels)) > 1))
        raise JoinError(f"{where}: the id {labels.ids[twice].as_py()!r} is there more than once, labelled in "
                        f"{labels.place(twice)}; name a column of unique ids with on (--on)")  # fmt: skip
    return positions


def _is_several(source: Any) -> bool:
    return isinstance(source, list | tuple) and any(isinstance(each, str | PathLike | Source) for each in source)


def _name_systems(source: Any) -> str:
    """The tail of a message: the systems of which there are labels."""
    named = [name for name in list_systems(source) if name]
    return f"; the column {SYSTEM!r} names {', '.join(named)}: --human {named[0]}=FILE takes those" if named else ""


def _place(files: Sequence[tuple[str, int]], row: int) -> str:
    name, before = files[bisect_right([before for _, before in files], row - 1) - 1]
    return name_row(name, row - before)


def _check_probabilities(parts: Sequence[pa.Table], files: Sequence[tuple[str, int]]) -> None:
    """Raise `DataError` where some files have probabilities and others do not, or one is not in (0, 1]."""
    there = [PROBABILITY in part.column_names for part in parts]
    if any(there) and not all(there):
        first, other = files[there.index(False)][0], files[there.index(True)][0]
        problem = f"{first} has no column {PROBABILITY!r}, but {other} has one"
        raise ColumnError(f"{problem}: karat label --next, with the earlier labels as --human, writes it for all rows")
    for part in parts if all(there) else ():
        probabilities = part[PROBABILITY].to_numpy()
        if not (valid := (probabilities > 0) & (probabilities <= 1)).all():
            at = int(np.argmin(valid))
            shown = "missing" if np.isnan(probabilities[at]) else f"{probabilities[at]:g}"
            problem = f"the probability of a labelled row is {shown}; expected a number above 0 and up to 1"
            raise DataError(f"{_place(files, part['row'][at].as_py())}: {problem}, with which the row was proposed")


def _choose(
    entries: pa.Table,
    files: Sequence[tuple[str, int]],
    label_map: Mapping[str, float] | str | None,
    candidates: Iterable[Mapping[str, float]],
) -> Mapping[str, float]:
    """The scores of the labels' names; {} where the labels are numbers."""
    names, candidates = pc.unique(entries["label"]).to_pylist(), [dict(each) for each in candidates]
    if label_map is not None:
        chosen = parse_label_map(label_map) if isinstance(label_map, str) else check_label_map(label_map)
        unknown = [name for name in names if name not in chosen]
        if unknown and "score" in entries.column_names:  # labels of a session, with their scores beside them
            chosen |= _own_scores(entries.filter(pc.is_in(entries["label"], pa.array(unknown))), files)
        if unknown := [name for name in names if name not in chosen]:
            place = _place(files, entries["row"][pc.index(entries["label"], unknown[0]).as_py()].as_py())
            raise DataError(f"{place}: the label {unknown[0]!r} is not in the map{did_you_mean(unknown[0], chosen)}")
        return chosen
    if "score" in entries.column_names and (own := _own_scores(entries, files)):
        return next((each for each in candidates if own.items() <= each.items()), own)
    fitting = [dict(each) for each in (*candidates, *_BOOLEANS) if all(name in each for name in names)]
    if any(set(each.items()) != set(fitting[0].items()) for each in fitting[1:]):
        raise DataError(f"{files[0][0]}: the labels fit several judges: --label-map (label_map=) says their scores")
    if fitting:
        return fitting[0]
    if wrong := [name for name in names if not _is_number(name)]:
        place = _place(files, entries["row"][pc.index(entries["label"], wrong[0]).as_py()].as_py())
        shown = ",".join(f"{name}=…" for name in names[:4])
        problem = f"{place}: the label {wrong[0]!r} has no score"
        raise DataError(f"{problem}: say which each has, --label-map '{shown}' (in Python, label_map=), such as good=1")
    return {}


def _own_scores(entries: pa.Table, files: Sequence[tuple[str, int]]) -> dict[str, float]:
    """The score that stands beside each label's name, by score; {} where one has none."""
    if np.isnan(entries["score"].to_numpy()).any() or entries["score"].null_count:
        return {}
    pairs = entries.select(["label", "score", "row"]).group_by(["label", "score"]).aggregate([("row", "min")])
    scores: dict[str, float] = {}
    for pair in pairs.sort_by("score").to_pylist():
        if (name := pair["label"]) in scores:
            problem = f"the label {name!r} has the scores {scores[name]:g} and {pair['score']:g}"
            raise DataError(f"{_place(files, pair['row_min'])}: {problem}; --label-map (label_map=) says which one")
        scores[name] = pair["score"]
    return scores


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _gather(
    entries: pa.Table,
    choices: Mapping[str, float],
    source: str,
    files: tuple[tuple[str, int], ...],
    unnamed: Collection[str],
) -> LabelTable:
    """The labels as a table of ids by annotators; `DataError` where one person gave a row two different labels.

    `unnamed`: the annotators that are known by their column alone.
    """
    encoded = {name: pc.dictionary_encode(entries[name].combine_chunks()) for name in ("id", "annotator", "label")}
    row, annotator, code = (np.asarray(column.indices, np.int64) for column in encoded.values())
    ids, annotators, labels = (column.dictionary for column in encoded.values())
    scores = np.array([choices[name] if choices else float(name) for name in labels.to_pylist()])[code]
    places = entries["row"].to_numpy()
    key = row * len(annotators) + annotator
    order = np.argsort(key, kind="stable")
    differs = (np.diff(key[order]) == 0) & (np.diff(scores[order]) != 0)
    if differs.any():
        at = int(np.argmax(differs))
        first, second = (_place(files, int(places[order[each]])) for each in (at, at + 1))
        who, which = annotators[annotator[order[at]]].as_py(), ids[row[order[at]]].as_py()
        words = " and ".join(repr(labels[code[order[each]]].as_py()) for each in (at, at + 1))
        problem, remedy = f"{who!r} labelled the row {which!r} twice, {words}", "keep one of them"
        if who in unnamed:
            problem = f"the row {which!r} has two labels in column {who!r}, {words}"
            remedy += ", or name the people in a column 'annotator'"
        raise DataError(f"{first} and {second}: {problem}: {remedy}")
    table = np.full((len(ids), len(annotators)), np.nan)
    table[row, annotator] = scores
    starts = np.unique(row, return_index=True)[1]
    probabilities = None
    if PROBABILITY in entries.column_names:
        stated = entries[PROBABILITY].to_numpy()
        probabilities = stated[starts]
        if (other := stated != probabilities[row]).any():
            at = int(np.argmax(other))
            first, second = (_place(files, int(places[each])) for each in (starts[row[at]], at))
            which = (
                f"the row {ids[row[at]].as_py()!r} has the probabilities {probabilities[row[at]]:g} and {stated[at]:g}"
            )
            raise DataError(f"{first} and {second}: {which}; a row has one probability of being proposed")
    named = tuple(annotators.to_pylist())
    return LabelTable(ids, table, named, choices, probabilities, source, places[starts], files)
