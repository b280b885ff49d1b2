"""A metric as a value: a definition with its settings, a spec, a signature, and a call that scores columns."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any

from karat.core.columns.kinds import TEXT, to_arrow
from karat.core.errors import SpecError, did_you_mean
from karat.core.metric.definition import Configured
from karat.core.metric.extract import sign_extract
from karat.core.metric.score import score_columns

WORDS = {"true": True, "false": False, "null": None}
"""The words of a spec that are not text."""
_SHOWN = ("__module__", "__name__", "__qualname__", "__doc__")  # what help() and doctest read of a function


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Configured):
    """A definition with a value for each setting. It is frozen: `using` returns another one.

    Calling it with columns (lists, Arrow arrays, pandas and polars series) returns one score for each row as an Arrow
    array of float64, null where a row is unscored. `short`: the short name under which it was found, which is its spec.
    `recipe`: the name of the preset that it was in, as the preset has it.
    """

    short: str = ""
    recipe: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _SHOWN:
            object.__setattr__(self, name, getattr(self.definition.function, name))
        object.__setattr__(self, "__qualname__", self.definition.function.__qualname__.removesuffix(".__wrapped__"))
        object.__setattr__(self, "__wrapped__", self.definition.function)

    @property
    def spec(self) -> str:
        """The text from which `parse` makes this metric again: a short name, else as `full_spec`."""
        return self.short or self.full_spec

    @property
    def full_spec(self) -> str:
        """The name and the settings that are not defaults."""
        defaults = self.definition.settings
        return self._spell({k: v for k, v in self.settings.items() if v != defaults[k].default})

    @property
    def all_specs(self) -> list[str]:
        """The full spec, and the short names that mean the same."""
        short = (self.named(name) for name in self.definition.short)
        return [self.full_spec, *(each.spec for each in short if each == self)]

    @property
    def signature(self) -> str:
        """Every setting, the metric's version and, for text, Unicode's: equal where scores are comparable."""
        known, settings = self.definition.settings, dict(self.settings)
        for name, value in self.settings.items():
            if value is None and known[name].optional:
                del settings[name]
        reads_text = TEXT in self.definition.columns.values() and self.definition.remote is None
        unicode = f"|unicode={unicodedata.unidata_version}" if reads_text else ""
        marks = "".join(f"|{name}={value}" for name, value in self.definition.marks.items())
        extraction = sign_extract(self.settings.get("extract", "none"))
        return f"{self._spell(settings)}|version={self.definition.version}{extraction}{marks}{unicode}"

    def _spell(self, settings: Mapping[str, Any]) -> str:
        k = settings.get("k")
        cutoff = f"@{k}" if isinstance(k, int) and k >= 0 else ""
        known = self.definition.settings
        rest = [_word(value) for name, value in settings.items() if known[name].first]
        named = (name for name in sorted(settings) if not (known[name].first or (name == "k" and cutoff)))
        rest += [f"{name}={_literal(settings[name])}" for name in named]
        return f"{self.name}({', '.join(rest)}){cutoff}" if rest else f"{self.name}{cutoff}"

    def using(self, **settings: Any) -> Metric:
        """The same metric with some settings changed; raises `SpecError` for an unknown setting or invalid value."""
        known, values = self.definition.settings, dict(self.settings)
        for name, value in settings.items():
            if name not in known:
                raise SpecError(f"{self.name} has no setting {name!r}{did_you_mean(name, known)}")
            values[name] = known[name].accept(value, self.name)
        definition = self.definition
        if definition.specialise is not None:
            definition = definition.specialise(definition, values)
        names = {} if not settings else {"short": "", "recipe": ""}
        return replace(self, definition=definition, settings=values, **names)

    def named(self, short: str) -> Metric:
        """The metric with the settings that one of its short names stands for; the same metric for any other name."""
        if (settings := self.definition.short.get(short)) is None:
            return self
        return replace(Metric(self.definition).using(**settings), short=short)

    def __call__(self, *columns: Any, **named: Any) -> Any:
        wanted = self.definition.columns
        inputs = dict(zip(wanted, columns, strict=False))
        if len(columns) > len(wanted):
            raise TypeError(f"{self.name} takes {len(wanted)} columns ({', '.join(wanted)}), {len(columns)} were given")
        for role in wanted:
            for name in (role, role + "s"):
                if name in named:
                    if role in inputs:
                        raise TypeError(f"{self.name}: column {role!r} was given twice")
                    inputs[role] = named.pop(name)
        if missing := [role for role in wanted if role not in inputs]:
            raise TypeError(f"{self.name} lacks the column {missing[0]!r}; it takes {', '.join(wanted)}")
        metric = self.using(**named) if named else self
        (rows,) = score_columns([metric], {role: to_arrow(inputs[role], role, kind) for role, kind in wanted.items()})
        return rows.score_column(metric)

    def __repr__(self) -> str:
        return self.spec

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return self.definition == other.definition and dict(self.settings) == dict(other.settings)

    def __hash__(self) -> int:
        return hash((self.definition.name, self.signature))

    def __reduce__(self) -> tuple[Any, ...]:
        """By name; by its function where another process may not find the name, as in a notebook or a script.

        The function carries its definition: libraries of clusters send functions of notebooks and scripts whole.
        """
        function, settings = self.definition.function, dict(self.settings)
        module = function.__module__
        member = getattr(sys.modules.get(module), self.name, None)
        named = module != "__main__" and isinstance(member, Metric) and member.definition.function is function
        if named or "definition" not in vars(function):  # a judge is made anew by its name
            return _find, (module, self.name, settings, self.short)
        return _define, (function, settings, self.short)


def _find(module: str, name: str, settings: Mapping[str, Any], short: str) -> Metric:
    metric: Metric = getattr(__import__(module, fromlist=[name]), name)
    return replace(metric.using(**settings), short=short)


def _define(function: Callable[..., Any], settings: Mapping[str, Any], short: str) -> Metric:
    return replace(Metric(vars(function)["definition"]).using(**settings), short=short)


def _word(value: Any) -> str:
    """A text as it is where a spec can have it without quotes."""
    plain = isinstance(value, str) and value.isascii() and value.isidentifier() and not iskeyword(value)
    return value if plain and value not in WORDS else _literal(value)


def _literal(value: Any) -> str:
    return f"<{value.__module__}.{value.__qualname__}>" if callable(value) else repr(value)
