"""Labels by people, as a user names them: where they are, which score each has, and how they correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from typing import Any, Literal

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.data.join.join import split_on
from karat.data.storage.addresses import is_file
from karat.data.storage.file_names import split_name
from karat.runs.labels.systems import SYSTEM, find_system, list_systems
from karat.runs.labels.table import LabelTable, read_labels


@dataclass(frozen=True)
class Labels:
    """Labels by people, and how they correct scores: the argument `human` wherever people's labels are taken.

    `source`: the name of a column of the rows, or several; what `karat.score` reads, or a list of several files; of
    several systems' answers a table with a column `system`, or a table for each system, by its name.

    `label_map`: the score of each label, a dict, "good=1,bad=0", or "bad<fair<good" for even steps from 0 to 1; by
    default from a judge's own choices. `columns`: the columns of labels in a file, where their names are not
    recognised. `system`: the one whose rows are scored, for a file with labels of several. `on`: the column of the ids
    in a file, where the rows' has another name.

    `strata`: a column of the rows, from each value of which rows were drawn separately. `finite`: the corrected value
    holds for exactly these rows, not for rows like them. `threshold`: the least score that counts as yes, for labels of
    yes and no, or "fit" for one that is fitted to the labels.

    >>> labels = Labels({"id": [7, 7, 8], "annotator": ["ada", "bob", "ada"], "label": ["good", "bad", "good"]},
    ...                 label_map="good=1,bad=0")
    >>> table = labels.read("id")
    >>> table.ids.to_pylist(), table.annotators, table.mean.tolist()
    (['7', '8'], ('ada', 'bob'), [0.5, 1.0])
    """

    source: Any
    label_map: Mapping[str, float] | str | None = None
    columns: Sequence[str] = ()
    system: str | None = None
    strata: str | None = None
    finite: bool = False
    threshold: float | Literal["fit"] | None = None
    on: str | None = None

    @classmethod
    def of(cls, human: Any, label_map: Mapping[str, float] | str | None = None) -> Labels | None:
        """The argument `human` of a call as `Labels`; None for None.

        Raises `SpecError` for a `label_map` beside `Labels` that have another one.
        """
        if human is None:
            return None
        labels = human if isinstance(human, Labels) else cls(human)
        if label_map is None or label_map == labels.label_map:
            return labels
        if labels.label_map is not None:
            raise SpecError(f"label_map={label_map!r} beside Labels with {labels.label_map!r}: one map is expected")
        return replace(labels, label_map=label_map)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is corrected in another way than by default, in words."""
        fitted = "a threshold fitted to the labels; for a labelled row, to the labels of other rows (cross-prediction)"
        least = fitted if self.threshold == "fit" else self.threshold
        return tuple(
            note
            for used, note in (
                (self.threshold is not None, f"scores count as yes from {least}"),
                (self.strata is not None, f"labels were drawn separately from each {self.strata}"),
                (self.finite, "corrected values hold for exactly these rows, not for rows like them"),
            )
            if used
        )

    def read(self, on: str | None, choices: Iterable[Mapping[str, float]] = ()) -> LabelTable:
        """Read labels from a file or frame, by the column of ids `on`; None: by the rows' numbers, from 1.

        `choices`: the labels and scores of judges, for labels whose scores nothing else says. Raises `ColumnError` for
        a column that is missing or not recognised, `DataError` for a label without a score, for a person who labelled a
        row twice and differently, and for probabilities that are not in (0, 1], `JoinError` for a missing id; each
        names file, row and column.
        """
        if isinstance(self.source, LabelTable):
            return self.source
        return read_labels(
            self.source,
            on=self.on or on,
            label_map=self.label_map,
            columns=self.columns,
            choices=choices,
            system=self.system,
        )

    def columns_of(self, names: Sequence[str]) -> list[str]:
        """The columns of rows with these column names that hold the labels; [] where the labels are elsewhere."""
        source = list(self.source) if isinstance(self.source, list | tuple) else [self.source]
        return source if source and all(isinstance(each, str) and each in names for each in source) else []

    def check_files(self, names: Sequence[str], where: str) -> None:
        """Raise `ColumnError`, with the nearest of the columns `names`, for a text that is neither column nor file."""
        for each in self.source if isinstance(self.source, list | tuple) else [self.source]:
            if not isinstance(each, str) or each in names or each == "-":
                continue
            if not (split_name(each)[0] or is_file(each) or has_magic(each)):
                near = did_you_mean(each, names)
                raise ColumnError(f"{where}: {each!r} is neither a column nor a file of labels{near}")

    def split_on(self, on: str | None) -> tuple[Labels, str | None]:
        """The labels with the column of their ids, and the rows' column, from LEFT=RIGHT where the two differ."""
        if on is None:
            return self, None
        own, theirs = split_on(on)
        return replace(self, on=theirs), own

    def of_system(self, name: str) -> Labels:
        """The labels of the one of several systems that is scored: the one they are said to be of, or the file `name`.

        Raises `SpecError` where neither is among them.
        """
        systems = [] if isinstance(self.source, LabelTable) else list_systems(self.source)
        named = [each for each in systems if each]
        system = next((known for each in (self.system, name) if each and (known := find_system(each, named))), None)
        if self.system is None and len(systems) > 1 and system is None:
            problem = f"the labels' column {SYSTEM!r} names {', '.join(named)}, and none is {name}"
            raise SpecError(f"{problem}: say which, --human {named[0]}=FILE (in Python, karat.Labels(…, system=))")
        return self if system is None or len(systems) == 1 else replace(self, system=system)

    def by_system(self, names: Sequence[str]) -> Iterator[Labels]:
        """The labels of the answers of each of several systems.

        Raises `SpecError` where it is not known of which system labels are, and where a system has none.
        """
        tables = isinstance(self.source, Mapping) and any(find_system(name, self.source) for name in names)
        systems = [] if tables or isinstance(self.source, LabelTable) else list_systems(self.source)
        if tables:
            by_name = {find_system(name, names): table for name, table in self.source.items()}
            if None in by_name:
                wrong = next(name for name in self.source if find_system(name, names) is None)
                raise SpecError(f"labels of {wrong!r}: there is no such system{did_you_mean(wrong, names)}")
            if missing := [name for name in names if name not in by_name]:
                raise SpecError(f"labels of {missing[0]} are missing, which corrected differences need")
            yield from (replace(self, source=by_name[name]) for name in names)
        elif len(systems) > 1:
            named_systems = [find_system(name, filter(None, systems)) for name in names]
            if None in named_systems or len(set(named_systems)) < len(named_systems):
                wrong, listed = (
                    names[named_systems.index(None)] if None in named_systems else names[0],
                    ", ".join(filter(None, systems)),
                )
                raise SpecError(f"no labels are known to be of {wrong}: their column {SYSTEM!r} names {listed}")
            yield from (replace(self, system=name) for name in named_systems)
        else:
            listed = " and ".join(names)
            remedy = f"a file for each: --human {names[0]}=FILE (in Python, a dict of them)"
            problem = f"of which system are these labels? A column {SYSTEM!r} with the names {listed} says it"
            raise SpecError(f"{problem}, or {remedy}")
