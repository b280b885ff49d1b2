"""The keys of a TOML table, taken one by one; a wrong one is an error that names the file and the right name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from karat.core.errors import SpecError, did_you_mean

_REQUIRED: Any = object()
_TYPES = {
    str: "a text",
    int: "a whole number",
    dict: "a table",
    list: "a list",
    bool: "true or false",
    float: "a number",
}


@dataclass
class Keys:
    """A table of a file. Its keys are taken one by one; what nobody took in the end is unknown."""

    values: dict[str, Any]
    where: str
    name: str
    known: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise SpecError(f"{self.where}: {self.name}: a table is expected, not {self.values!r:.60}")

    def at(self, key: str) -> str:
        return f"{self.where}: {self.name}.{key}" if self.name else f"{self.where}: {key}"

    def given(self, key: str, default: Any = _REQUIRED) -> Any:
        self.known.append(key)
        if key in self.values:
            return self.values[key]
        if default is _REQUIRED:
            strange = did_you_mean(key, self.values) if self.values else ""
            hint = strange.replace("did you mean", "is it") if "did you" in strange else ""
            raise SpecError(f"{self.at(key)} is missing{hint}")
        return default

    def take(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        value = self.given(key, default)
        fits = isinstance(value, int | float if kind is float else kind) and (
            kind is bool or not isinstance(value, bool)
        )
        if value is not default and not fits:
            raise SpecError(f"{self.at(key)} = {value!r:.60}: {_TYPES[kind]} is expected")
        if kind is str and value is not None and not value.strip():
            raise SpecError(f"{self.at(key)} is empty")
        return value

    def table(self, key: str) -> Keys:
        return Keys(self.take(key, dict), self.where, key)

    def choice(self, key: str, choices: tuple[str, ...], default: Any = _REQUIRED) -> str:
        value: str = self.take(key, str, default)
        if value not in choices:
            raise SpecError(f"{self.at(key)} = {value!r}{did_you_mean(value, choices)}")
        return value

    def worth(self, key: str) -> dict[str, float]:
        """A table of choices and what each is worth."""
        found = self.take(key, dict)
        for choice, worth in found.items():
            if isinstance(worth, bool) or not isinstance(worth, int | float) or not abs(worth) < float("inf"):
                raise SpecError(f"{self.at(key)}.{choice} = {worth!r}: a number is expected")
        if len(found) < 2 or len(set(found.values())) < 2:
            raise SpecError(
                f"{self.at(key)}: two or more choices of unequal worth are expected, such as {{ yes = 1, no = 0 }}"
            )
        return dict(found)

    def pair(self, key: str, names: Iterable[str]) -> tuple[str, str]:
        value = self.take(key, list)
        if len(value) != 2 or value[0] == value[1]:
            raise SpecError(f"{self.at(key)}: two names are expected")
        for name in value:
            if name not in names:
                raise SpecError(f"{self.at(key)}: {name!r} is not there{did_you_mean(str(name), names)}")
        return value[0], value[1]

    def end(self) -> None:
        """Raise `SpecError` for a key that nobody asked for."""
        for key in self.values:
            if key not in self.known:
                raise SpecError(f"{self.at(key)}: there is no such key{did_you_mean(key, self.known)}")
