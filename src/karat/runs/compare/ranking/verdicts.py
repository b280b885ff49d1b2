"""Rank systems by verdicts on pairs of their answers, by a judge or by people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_number, is_text
from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean
from karat.core.metric.rows import divide
from karat.data.json.raw import spell_ids
from karat.data.open import open_source
from karat.data.paths.nested import extract_nested
from karat.data.roles import singular
from karat.data.source import Source
from karat.data.storage.file_names import name_row
from karat.runs.columns.groups import check_group_column, cluster_keys
from karat.runs.compare.ranking.ranked import Evidence, Ranked, order_systems
from karat.runs.labels.choices import parse_label_map
from karat.runs.scoring.arguments import NONE
from karat.stats.inference import Inference
from karat.stats.ranking.bradley_terry import Effects, Strengths, estimate_strengths, find_unbeaten
from karat.stats.ranking.standing import Adjustment
from karat.stats.value import Estimate, spell

_COLUMNS = {
    "a": ("a", "model_a", "system_a", "model_1", "system_1", "model1", "system1", "first"),
    "b": ("b", "model_b", "system_b", "model_2", "system_2", "model2", "system2", "second"),
    "winner": ("winner", "verdict", "preference", "preferred", "label"),
}
_LENGTHS = {
    f"length_{side}": tuple(
        spelled
        for name in ("length", "answer", "response", "prediction", "output", "completion", "text")
        for end in (side, number)
        for spelled in (f"{name}_{end}", f"{end}_{name}")
    )
    for side, number in (("a", "1"), ("b", "2"))
}
"""The columns of the lengths of both answers, or of the answers, whose length in characters it is then."""
_WORDS = (
    ({"a", "first", "model_a", "system_a", "model_1", "system_1", "left", "true"}, 1.0),
    ({"b", "second", "model_b", "system_b", "model_2", "system_2", "right", "false"}, 0.0),
    ({"tie", "tied", "draw", "equal", "same", "both", "neither", "both_bad", "bothbad", "tie_(bothbad)"}, 0.5),
)
_NUMBERS = {"0": 0.5, "1": 1.0, "2": 0.0}
_NAMED = 5  # systems named in a message


def rank_verdicts(
    data: Any,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  (as in `karat.score`)
    label_map: Mapping[str, float] | str | None = None,
    order_effect: bool = True,
    length_effect: bool = False,
    cluster: str | None = None,
    correction: Adjustment = "holm",
    confidence: float = 0.95,
) -> Ranked:
    """Rank systems by verdicts on pairs of their answers: the Bradley-Terry model with Davidson's ties.

    `data`: what `karat.score` reads, a row for each verdict: the system whose answer stood first (column `a`), the one
    whose answer stood second (`b`), and which of them won (`winner`). `map` names these columns where their names are
    not recognised. The winner is the name of a system, or a word such as first, model_a, second, tie; numbers are 1 for
    the first, 2 for the second and 0 for a tie. `label_map` says what other labels are: 1 where the first won, 0 where
    the second did, 0.5 for a tie (`"win=1,loss=0"`). A row without a winner is left out, and counted.

    `order_effect`: estimate by how much the first answer is preferred, and correct for it; where the order does not
    vary enough to tell, it is left out, and a note says so. `length_effect`: estimate by how much the longer answer is
    preferred, and rank as if all answers were equally long; the lengths are numbers in the columns `length_a` and
    `length_b`, or those of the texts in `answer_a` and `answer_b`, in characters. `cluster`: a column with equal values
    in verdicts that are not independent, such as those on one question. A system's value is its log-odds strength;
    their mean is 0.

    Raises `ColumnError` for a column that is not found, `DataError`, with file and row, for a winner that is none of
    the two, and for verdicts from which no finite strength follows, as where a system never lost.

    >>> verdicts = ["x y x", "y x x", "y x y", "x z tie", "z x z", "y z y", "z y z"]
    >>> rank_verdicts([dict(zip(("a", "b", "winner"), verdict.split())) for verdict in verdicts])
    <karat.Ranked of 3 systems
      bradley_terry
        1 (1 – 3) a z 0.8615
        2 (1 – 3) a x 0.2872
        3 (1 – 3) a y -1.1487>
    """
    inference = Inference(confidence)
    cluster = None if cluster == NONE else cluster
    verdicts = _read(data, dict(map or {}), label_map, cluster, length=length_effect)
    names, first, second, shares = verdicts.names, verdicts.first, verdicts.second, verdicts.shares
    if unbeaten := find_unbeaten(first, second, shares):
        listed = ", ".join(names[at] for at in unbeaten[:_NAMED]) + (" …" if len(unbeaten) > _NAMED else "")
        problem = f"{listed} never lost to another system, nor tied with it"
        raise DataError(f"{verdicts.source}: {problem}: how much stronger cannot be estimated; collect more verdicts")
    strengths = estimate_strengths(
        first,
        second,
        shares,
        Effects(order_effect, verdicts.longer),
        clusters=verdicts.clusters,
        confidence=inference.confidence,
    )
    evidence = Evidence(
        metric="bradley_terry",
        slice=None,
        direction="maximize",
        n=verdicts.n,
        scored=len(shares),
        values=strengths.intervals(),
        missing=verdicts.unscored.tolist(),
        bounds=(None, None),
        tests=strengths.test(),
    )
    effects = {"order": strengths.order, "ties": strengths.ties, "length": strengths.effect}
    return order_systems(
        names,
        [evidence],
        correction,
        confidence,
        by=None,
        notes=tuple(_note(verdicts, strengths, cluster, order_effect=order_effect)),
        estimates={name: each for name, each in effects.items() if each},
    )


@dataclass(frozen=True)
class _Verdicts:
    """Verdicts from which strengths are estimated; arrays have shape (verdicts,), `unscored` has (systems,).

    `first` and `second` are places in `names`; `shares` is 1 where the first won, 0 where the second did. `n` counts
    all rows, `unscored` those without a winner, by system. `longer`: the difference of the lengths of the first and the
    second answer, divided by their sum, from -1 to 1; None where it is not asked for.
    """

    source: str
    names: Sequence[str]
    first: Array
    second: Array
    shares: Array
    clusters: Array | None
    n: int
    unscored: Array
    longer: Array | None = None


def _read(
    data: Any,
    chosen: Mapping[str, str],
    label_map: Mapping[str, float] | str | None,
    cluster: str | None,
    *,
    length: bool,
) -> _Verdicts:
    """The verdicts of a table."""
    source = extract_nested(open_source(data), chosen.values(), keep_json=False).as_values()
    columns = _find_columns(source, chosen, {**_COLUMNS, **(_LENGTHS if length else {})})
    if cluster is not None:
        check_group_column(source.schema, cluster, source.name)
    wanted = [*columns.values(), *([] if cluster is None else [cluster])]
    schema = pa.schema([source.schema.field(name) for name in wanted])
    table = pa.Table.from_batches(source.batches(wanted), schema)
    sides = []
    for role in ("a", "b"):
        column = table.column(columns[role]).combine_chunks()
        if column.null_count:
            row = pc.index(column.is_null(), value=True).as_py() + 1
            raise DataError(f"{name_row(source.name, row)}, column {columns[role]!r}: the name of a system is expected")
        sides.append(spell_ids(column, f"{source.name}: column {columns[role]!r}"))
    if not len(table):
        raise DataError(f"{source.name}: no row has a winner")
    encoded = pa.chunked_array(sides).dictionary_encode().unify_dictionaries()
    names = encoded.chunk(0).dictionary.to_pylist()
    first, second = (np.asarray(each.indices).astype(np.int64) for each in encoded.chunks)
    if (same := first == second).any():
        row = int(same.argmax())
        raise DataError(f"{name_row(source.name, row + 1)}: two systems expected, found {names[first[row]]} twice")
    shares = _read_winners(source.name, table.column(columns["winner"]), (sides[0], sides[1]), label_map)
    scored = ~np.isnan(shares)
    if not scored.any():
        raise DataError(f"{source.name}: no row has a winner")
    clusters = None
    if cluster is not None:
        keys = cluster_keys(table.column(cluster).combine_chunks())[scored]
        clusters = np.unique(keys, return_inverse=True)[1].reshape(-1)
    unscored = np.bincount(np.concatenate([first[~scored], second[~scored]]), minlength=len(names))
    longer = _compare_lengths(source.name, table, columns, scored) if length else None
    return _Verdicts(
        source.name, names, first[scored], second[scored], shares[scored], clusters, len(table), unscored, longer
    )


def _compare_lengths(where: str, table: pa.Table, columns: Mapping[str, str], scored: Array) -> Array:
    """The difference of both lengths in the rows with a winner, divided by their sum; 0 for two empty answers."""
    lengths = list[Array]()
    for role in _LENGTHS:
        column = table.column(columns[role]).combine_chunks()
        if is_text(column.type):
            column = pc.utf8_length(column)
        elif not is_number(column.type):
            problem = f"expected answers, or their lengths, found {column.type}"
            raise ColumnError(f"{where}: column {columns[role]!r}: {problem}; --map {role}=COLUMN names another")
        values = column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        wrong = scored & ~((values >= 0) & np.isfinite(values))
        if wrong.any():
            row = int(wrong.argmax())
            value = column[row].as_py()
            expected = f"expected an answer, or its length, found {'none' if value is None else value}"
            raise DataError(f"{name_row(where, row + 1)}, column {columns[role]!r}: {expected}")
        lengths.append(values[scored])
    one, other = lengths
    return divide(one - other, one + other)


def _find_columns(source: Source, chosen: Mapping[str, str], roles: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The column of a, b and winner, and of the lengths where they are among the roles."""
    names = source.schema.names
    for role, name in chosen.items():
        if role not in roles:
            raise SpecError(f"verdicts have no column {role!r}{did_you_mean(role, roles)}")
        if name not in names:
            raise ColumnError(f"{source.name}: no column {name!r} for {role}{did_you_mean(name, names)}")
    columns = dict(chosen)
    for role, known in roles.items():
        fits = [name for name in names if singular(name) in known] or [
            name for name in names if role == "winner" and name.startswith("judge:pairwise") and name.endswith(".label")
        ]
        if role not in columns and len(fits) != 1:
            problem = f"{' and '.join(fits)} fit" if fits else f"of {', '.join(names)}, none fits"
            raise ColumnError(f"{source.name}: {problem} {role!r}: say which, --map {role}=COLUMN (in Python, map=)")
        columns.setdefault(role, *fits[:1])
    return columns


def _read_winners(
    where: str, winners: pa.ChunkedArray, sides: tuple[pa.Array, pa.Array], label_map: Mapping[str, float] | str | None
) -> Array:
    """1 where the first won, 0 where the second did, 0.5 for a tie, NaN where there is no winner, shape (verdicts,)."""
    column = winners.combine_chunks()
    texts = column.cast(pa.string()) if pa.types.is_boolean(column.type) else spell_ids(column, where)
    known = parse_label_map(label_map) if isinstance(label_map, str) else dict(label_map or {})
    words = {} if known else {word: share for group, share in _WORDS for word in group}
    if "2" in pc.unique(texts).to_pylist():  # else 0 may be the second, and 1 a win
        words |= {} if known else _NUMBERS
    shares = np.full(len(texts), np.nan)
    rows = zip(texts.to_pylist(), *(side.to_pylist() for side in sides), strict=True)
    for row, (cell, one, other) in enumerate(rows):
        label = (cell or "").strip()
        if not label:
            continue
        if not known and label in (one, other):
            share: float | None = float(label == one)
        else:
            share = known.get(label, words.get(label.casefold().replace(" ", "_")))
        if share not in (0, 0.5, 1):
            expected = ", ".join(known) if known else f"{one}, {other}, first, second or tie"
            remedy = f"--label-map (in Python, label_map=) says what labels are: '{label}=1' that the first won"
            raise DataError(f"{name_row(where, row + 1)}: a winner expected ({expected}), found {label!r}; {remedy}")
        shares[row] = share
    return shares


def _note(verdicts: _Verdicts, strengths: Strengths, cluster: str | None, *, order_effect: bool) -> Iterator[str]:
    if out := verdicts.n - len(verdicts.shares):
        yield f"{out} of {verdicts.n} rows do not count: they have no winner"
    if cluster is not None:
        yield f"verdicts that share {cluster} are taken together"
    if strengths.order is not None:
        value, low, high = _spell_shares(strengths.order)
        yield f"of two equal systems, the one that stands first wins {value} % [{low}, {high}] of untied verdicts"
    elif order_effect:
        yield "no system stood in both places often enough to tell the effect of the order from strength"
    if strengths.effect is not None:
        value, low, high = _spell_shares(strengths.effect, 1 / 3)
        wins = f"wins {value} % [{low}, {high}] of untied verdicts"
        yield f"of two equal systems, the one whose answer is twice as long {wins}; strengths are those at equal length"
    elif verdicts.longer is not None:
        yield "lengths do not vary enough within pairs of systems to tell their effect from strength"


def _spell_shares(effect: Estimate, by: float = 1.0) -> tuple[str, str, str]:
    """How often the first of two equal systems wins, in per cent, with the interval, where a covariate is `by`."""
    ends = (effect.value or 0.0, effect.low, effect.high)
    value, low, high = (spell(100 / (1 + np.exp(-by * (each or 0.0))), ".1f") for each in ends)
    return value, low, high
