"""What the page asks for: a JSON object whose members are checked against the types of `Query`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, Literal

from karat.core.errors import DataError, KaratError, SpecError, did_you_mean
from karat.data.json.typed import check_type
from karat.viewer.rows.fields import Condition, Field, Order, read_field, read_filter, read_order

MOST_ROWS, MOST_FIELDS = 200, 100
_LONGEST = 4_000  # characters of a text


class Unknown(DataError):
    """A run or a row that does not exist, or not any more."""


class Impossible(DataError):
    """What the runs or the labels do not allow, such as a comparison of different rows, though the request is right."""


@contextmanager
def explained() -> Iterator[None]:
    """Raise `Impossible` for what cannot be done with the runs or the labels."""
    try:
        yield
    except KaratError as error:
        raise Impossible(str(error)) from error


@dataclass(frozen=True)
class Query:
    """A request; each address takes what it needs.

    `runs` are ids, `on`, `by` and `cluster` columns; `different`: runs may be scored differently; `margin` is as in
    `karat.compare`. `filter`, `sort`, `offset` and `limit` choose rows, `fields` and `histograms` what is counted, `id`
    one row, `full` with all of its texts. The scores of `metric` are drawn by what `across` names. `at` is the place of
    a row to label, `action` what is done with it, `replace`: also where it has a label; of doubtful gold, `chosen` are
    the places of answers that are right, `gold` is another one.
    """

    runs: tuple[str, ...] = ()
    on: str | None = None
    by: str | None = None
    cluster: str | None = None
    different: bool = False
    margin: float | None = None
    filter: tuple[Condition, ...] = ()
    sort: Order | None = None
    offset: int = 0
    limit: int = 50
    fields: tuple[Field, ...] | None = None
    histograms: tuple[Field, ...] = ()
    id: str = ""
    full: bool = False
    metric: str = ""
    across: str = ""
    at: int | None = None
    action: Literal["label", "skip", "undo"] | None = None
    label: str = ""
    note: str = ""
    replace: bool = False
    chosen: tuple[int, ...] = ()
    gold: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Query:
        """A request from JSON; `DataError` and `SpecError` for members that are not what they should be."""
        known = [each.name for each in dataclass_fields(cls)]
        for name, value in data.items():
            if name not in known:  # one that is spelled wrong would change the answer in silence
                raise SpecError(f"there is no parameter {name[:80]!r}{did_you_mean(name[:80], known)}")
            if isinstance(value, str) and len(value) > _LONGEST:
                raise SpecError(f"{name}: a text of up to {_LONGEST} characters is expected")
        check_type(data, cls, "the request")
        if data.get("limit", 0) > MOST_ROWS or any(len(data.get(name) or ()) > MOST_FIELDS for name in _LISTS):
            raise SpecError(f"a request is of up to {MOST_ROWS} rows and {MOST_FIELDS} fields")
        return cls(**{name: _READ[name](value) if name in _READ else value for name, value in data.items()})


def _read_fields(data: list[Any] | None) -> tuple[Field, ...] | None:
    return None if data is None else tuple(map(read_field, data))


_LISTS = ("fields", "histograms", "chosen")
_READ: Mapping[str, Any] = {
    "runs": tuple,
    "filter": read_filter,
    "sort": read_order,
    "chosen": tuple,
    **dict.fromkeys(("fields", "histograms"), _read_fields),
}
