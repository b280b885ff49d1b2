"""A gold patch: what people say of gold that may be wrong, a row for each; it replaces, adds or takes out gold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from karat.core.columns.json_text import RAW
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError, DataError, JoinError, did_you_mean
from karat.data.json.raw import spell_ids
from karat.data.json.texts import list_golds, read_json
from karat.data.open import open_source
from karat.data.storage.file_names import name_row, split_name
from karat.data.storage.whole_files import write_bytes

GoldVerdict: TypeAlias = Literal["right", "wrong", "ambiguous", "also right"]
VERDICTS: tuple[GoldVerdict, ...] = get_args(GoldVerdict)
"""What people say of gold: it is right; wrong; the question has no one answer; another answer is right beside it."""
GOLD_PATCH = "gold_patch"
"""The key of a setting of a run: which patch its gold had."""
_NEEDED, _FURTHER = ("id", "old", "verdict"), ("new", "who", "why", "when")


@dataclass(frozen=True)
class GoldChange:
    """What people say of the gold of one row: `old` are the golds that it had, `new` those instead of or beside them.

    `new` is empty for "right" and "ambiguous", and for "wrong" where nobody knows what is right.
    """

    id: str
    old: tuple[str, ...]
    verdict: GoldVerdict
    new: tuple[str, ...] = ()
    who: str = ""
    why: str = ""
    when: str = ""

    @property
    def gold(self) -> tuple[str, ...]:
        """The golds that the row is scored against, where `reason` is empty."""
        if self.verdict == "also right":
            return tuple(dict.fromkeys((*self.old, *self.new)))
        return self.new or self.old

    @property
    def reason(self) -> str:
        """Why the row has no score; empty where it has one."""
        if self.verdict == "ambiguous":
            return "gold is ambiguous (gold patch)"
        return "gold is wrong, and no other is known (gold patch)" if self._lacks_new else ""

    @property
    def _lacks_new(self) -> bool:
        return self.verdict == "wrong" and not self.new

    def as_dict(self) -> dict[str, Any]:
        """A line of the file: a single gold is a text, several are a list."""
        spelled = {name: _spell(getattr(self, name)) for name in ("old", "new")}
        line = {"id": self.id, "old": spelled["old"], "new": spelled["new"], "verdict": self.verdict}
        line |= {name: getattr(self, name) for name in ("who", "why", "when")}
        return {name: value for name, value in line.items() if value or name == "old"}


@dataclass(frozen=True)
class PatchNote:
    """What a manifest says of a patch: its name, the `digest` of what it decides, and how many rows it changes how.

    `kept` counts the rows whose gold people found right. Patches with one digest make the same gold of the same rows,
    whoever wrote them and why.
    """

    name: str
    digest: str
    replaced: int = 0
    added: int = 0
    unscored: int = 0
    kept: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> PatchNote | None:
        """The note in the settings of a manifest; None where the gold was not patched."""
        stored = settings.get(GOLD_PATCH)
        return None if stored is None else cls(**{each.name: stored[each.name] for each in fields(cls)})

    def __str__(self) -> str:
        counts = {"given other gold": self.replaced, "given further gold": self.added}
        counts |= {"left unscored": self.unscored, "found right": self.kept}
        return f"gold patched by {self.name}: {', '.join(f'{n} {how}' for how, n in counts.items() if n) or 'no rows'}"


@dataclass(frozen=True)
class GoldPatch:
    """A patch that was read: its changes by the ids of their rows, and `places`, their rows in the file, from 1."""

    name: str
    changes: Mapping[str, GoldChange]
    places: Mapping[str, int]

    def place(self, row: str) -> str:
        """The file and the row of a change, for messages."""
        return name_row(self.name, self.places[row])

    @property
    def note(self) -> PatchNote:
        """What a manifest says of it."""
        decided = sorted((each.id, *map(list, (each.old, each.new)), each.verdict) for each in self.changes.values())
        digest = sha256(json.dumps(decided, ensure_ascii=False).encode()).hexdigest()[:32]
        counts = Counter(
            "unscored" if each.reason else {"wrong": "replaced", "also right": "added"}.get(each.verdict, "kept")
            for each in self.changes.values()
        )
        return PatchNote(Path(self.name).name, digest, **counts)


def read_patch(source: Any) -> GoldPatch:
    """Read a gold patch from what `karat.score` reads: a file, a list of dicts.

    Each row has the `id` of a row, the gold that it had (`old`), and a `verdict`: "right"; "wrong", with what is right
    instead (`new`) where that is known; "ambiguous"; "also right", with what is right beside it (`new`). `old` and
    `new` are a text or a list of texts; in CSV an empty cell holds none. `who`, `why` and `when` say more.

    Raises `ColumnError` for columns that are missing or unknown, `DataError` for another verdict and for `new` where it
    does not belong or lacks, `JoinError` for an id that is empty or there twice; each names file, row and column.

    >>> patch = read_patch([{"id": 7, "old": "Lyon", "new": "Paris", "verdict": "wrong", "who": "ada"}])
    >>> patch.changes["7"].gold, str(patch.note)
    (('Paris',), 'gold patched by list: 1 given other gold')
    """
    if isinstance(source, GoldPatch):
        return source
    opened = open_source(source)
    names, known = opened.schema.names, (*_NEEDED, *_FURTHER)
    for name in _NEEDED:
        if name not in names:
            problem = f"a gold patch has the columns {', '.join(known)}, but there is no {name!r}"
            raise ColumnError(f"{opened.name}: {problem}{did_you_mean(name, names)}")
    for name in names:
        if name not in known:
            raise ColumnError(f"{opened.name}: column {name!r} is none of a gold patch{did_you_mean(name, known)}")
    blanks = split_name(opened.name)[0] in ("csv", "tsv")
    changes, places = dict[str, GoldChange](), dict[str, int]()
    for batch in opened.batches():
        first = len(changes) + 1
        ids = spell_ids(batch.column("id"), f"{opened.name}: column 'id'", first).to_pylist()
        cells = {name: _read_cells(batch.column(name), blanks=blanks) for name in names if name != "id"}
        for at, row in enumerate(ids):
            place = name_row(opened.name, first + at)
            if row is None or row in changes:
                actual = "it is empty" if row is None else f"{row!r} is in row {places[row]} too"
                raise JoinError(f"{place}: column 'id': expected an id of its own in every row, but {actual}")
            changes[row] = _read_change(row, {name: column[at] for name, column in cells.items()}, place)
            places[row] = first + at
    return GoldPatch(opened.name, changes, places)


def write_patch(changes: Iterable[GoldChange], path: str | PathLike[str]) -> None:
    """Write a gold patch as JSON Lines, completely or not at all."""
    lines = (json.dumps(each.as_dict(), ensure_ascii=False) for each in changes)
    write_bytes(Path(path), "".join(f"{line}\n" for line in lines).encode())


def as_settings(patch: GoldPatch | None) -> dict[str, Any]:
    """A patch as a manifest's settings have it; nothing where there is none."""
    return {} if patch is None else {GOLD_PATCH: asdict(patch.note)}


def _read_cells(column: pa.Array, *, blanks: bool) -> list[Any]:
    """The values of a column of a patch, of JSON text too; numbers in it as they are spelled. `blanks` are missing."""
    cells = [read_json(cell) for cell in column.storage.to_pylist()] if column.type == RAW else to_python(column)
    return [None if blanks and cell == "" else cell for cell in cells]


def _read_change(row: str, cells: Mapping[str, Any], place: str) -> GoldChange:
    verdict, old, new = cells["verdict"], *(tuple(list_golds(cells.get(name))) for name in ("old", "new"))
    if verdict not in VERDICTS:
        expected = f"expected {', '.join(map(repr, VERDICTS[:-1]))} or {VERDICTS[-1]!r}"
        raise DataError(f"{place}: column 'verdict': {expected}, found {verdict!r:.80}{_nearest(verdict)}")
    if new and verdict in ("right", "ambiguous"):
        remedy = f"leave it out, or write {'also right' if verdict == 'right' else 'wrong'!r}"
        raise DataError(
            f"{place}: column 'new': gold that is {verdict} has no new one, found {cells['new']!r:.80}: {remedy}"
        )
    if verdict == "also right" and not new:
        raise DataError(f"{place}: column 'new': expected what is right beside {cells['old']!r:.80}, found nothing")
    remarks = {name: str(cells[name]) for name in ("who", "why", "when") if cells.get(name) is not None}
    return GoldChange(row, old, verdict, new, **remarks)


def _nearest(verdict: Any) -> str:
    near = did_you_mean(str(verdict), VERDICTS)
    return "" if near.startswith("; there are") else near


def _spell(golds: tuple[str, ...]) -> Any:
    """Golds as JSON: a single one as text, but for one that would be read as a list."""
    if len(golds) == 1 and tuple(list_golds(golds[0])) == golds:
        return golds[0]
    return list(golds) or None
