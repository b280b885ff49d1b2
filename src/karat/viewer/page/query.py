"""What the page asks for: the parameters of an address, or the JSON of a body, with their types checked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from karat.core.errors import DataError, KaratError, SpecError, did_you_mean

MOST_RUNS = 8
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
    """The named parts of a request; each method raises `SpecError` where a part is not what it should be."""

    data: Mapping[str, Any]

    def check(self, known: Collection[str]) -> None:
        """Refuse parts that are not known: a name that is spelled wrong would change the answer in silence."""
        for name in self.data:
            if name not in known:
                raise SpecError(f"there is no parameter {name[:80]!r}{did_you_mean(name[:80], known)}")

    def runs(self) -> tuple[str, ...]:
        """The ids of runs: a list, or a text with commas between them."""
        found = self.data.get("runs", self.data.get("run"))
        ids = found.split(",") if isinstance(found, str) else found
        if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
            raise SpecError("runs: a list of ids is expected")
        if not 1 <= len(ids) <= MOST_RUNS or len(set(ids)) < len(ids):
            raise SpecError(f"runs: from 1 to {MOST_RUNS} different ids are expected")
        return tuple(ids)

    def text(self, name: str) -> str | None:
        """A text; None where it is missing, null or empty."""
        value = self.data.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > _LONGEST):
            raise SpecError(f"{name}: a text of up to {_LONGEST} characters is expected")
        return value or None

    def number(self, name: str, most: int) -> int | None:
        """A whole number from 0 to `most`; None where it is missing or null."""
        value = self.data.get(name)
        if isinstance(value, str) and value.isdecimal() and len(value) < 16:
            value = int(value)
        if value is not None and (type(value) is not int or not 0 <= value <= most):
            raise SpecError(f"{name}: a whole number from 0 to {most} is expected")
        return value

    def flag(self, name: str) -> bool:
        """Whether something holds: true, false, or 1 and 0 in an address."""
        value = self.data.get(name, False)
        if value not in (True, False, "1", "0", ""):
            raise SpecError(f"{name}: true or false is expected")
        return value in {True, "1"}
