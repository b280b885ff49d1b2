"""What was read from JSON against a type: dataclasses, mappings, tuples and literals are the schema of a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from karat.core.errors import DataError

_WORDS = {str: "a text", int: "a whole number from 0", float: "a number", bool: "true or false", NoneType: "null"}
_LARGEST = 1 << 63
_SHOWN = 40  # characters of what was found


def check_type(value: Any, kind: Any, where: str, *, finite: bool = True) -> None:
    """Raise `DataError` where a value is not of a type: with the field, what was expected, and what was found.

    An object may have more members than a dataclass has fields, and lacks those with a default. A whole number is not
    negative. Of `Annotated` types the annotation counts. `finite`: no number is infinite, or none at all (NaN). `where`
    is the file, for the message.

    >>> check_type({"n": [1, None]}, Mapping[str, tuple[int, ...]], "run.json")
    Traceback (most recent call last):
    karat.core.errors.DataError: run.json: n[1]: expected a whole number from 0, found null
    """
    _Check(where, finite).check(value, kind, "")


@dataclass(frozen=True)
class _Check:
    """A check of one file, with the arguments of `check_type`."""

    where: str
    finite: bool

    def check(self, value: Any, kind: Any, at: str) -> None:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[1]
        options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        fitting = next((each for each in options if self._is_one(value, each)), None)
        if fitting is None:
            expected, shown = " or ".join(map(_spell, options)), json.dumps(value)
            shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
            raise DataError(f"{self.where}: {at or 'the file'}: expected {expected}, found {shown}")
        inner = get_args(fitting)
        if isinstance(value, list):
            kinds = [inner[0] if inner else Any] * len(value) if fitting is Any or inner[-1] is ... else inner
            for number, (each, kind_of) in enumerate(zip(value, kinds, strict=True)):
                self.check(each, kind_of, f"{at}[{number}]")
        elif isinstance(value, dict):
            self._check_members(value, fitting, f"{at}." if at else "")

    def _check_members(self, value: dict[str, Any], kind: Any, prefix: str) -> None:
        known = _members(kind)
        for name, (_, needed) in known.items():
            if needed and name not in value:
                raise DataError(f"{self.where}: {prefix}{name} is missing")
        inner = get_args(kind)
        for name, each in value.items():
            self.check(name, str, f"the name of {prefix}{name!a}")
            self.check(each, known[name][0] if name in known else inner[1] if inner else Any, f"{prefix}{name}")

    def _is_one(self, value: Any, kind: Any) -> bool:
        """Whether a value is of a type, whatever its members."""
        if isinstance(value, str):
            chosen = get_origin(kind) is Literal and value in get_args(kind)
            return (chosen or kind in (str, Any)) and _is_unicode(value)
        if kind is Any:
            return True
        if value is None or isinstance(value, bool):
            return kind is type(value)
        if isinstance(value, int):
            return (kind is int and 0 <= value < _LARGEST) or (kind is float and abs(value) < _LARGEST)
        if isinstance(value, float):
            return kind is float and (math.isfinite(value) or not self.finite)
        if isinstance(value, list):
            inner = get_args(kind)
            return get_origin(kind) is tuple and (inner[-1] is ... or len(inner) == len(value))
        return is_dataclass(kind) or get_origin(kind) is Mapping


def _is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON may spell half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _members(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The type of each field of a dataclass, and whether it has no default; no other type has fields."""
    if not is_dataclass(kind):
        return {}
    kinds = get_type_hints(kind, include_extras=True)
    return {
        each.name: (kinds[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(kind)
    }


def _spell(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        return "a list" if inner[-1] is ... else f"a list of {len(inner)}"
    return _WORDS.get(kind, "an object")
