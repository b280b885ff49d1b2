"""All metrics by name: karat's own, installed plugins', and metrics defined in this process.

A name that is not registered is looked for in the indexes of packages, then in all plugins (`karat.core.plugins`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from karat.core.errors import SpecError, did_you_mean, is_misspelt, name_words
from karat.core.metric.metric import Metric
from karat.core.plugins import load_own_plugin, load_plugins

Dialect: TypeAlias = Callable[[str], tuple[str, ...]]
"""From another tool's name to karat's specs, several for a metric at several cut-offs; none for an unknown name."""


class Index(Protocol):
    """A module that knows where the metrics of its package are defined, without importing them."""

    __package__: str | None

    def import_metric(self, name: str) -> None:
        """Import what may define the metric of this name or alias."""

    def import_all(self) -> None:
        """Import every metric of the package."""


@dataclass(frozen=True)
class Preset:
    """A name for the metrics, with settings, that a benchmark's own script computes."""

    name: str
    specs: tuple[str, ...]
    summary: str  # what the script does with the data, also where no metric does it
    source: str  # the script


PRESET = "preset:"

_SHOWN = 3  # metrics in a message
_GENERAL = {  # words of a name that say that it is a metric, or of what kind
    *("metric", "metrics", "measure", "score", "scores", "scorer", "scoring", "grader", "check", "checker", "value"),
    *("evaluator", "evaluation", "evaluate", "eval", "evals", "compute", "calculate", "create", "get", "retrieval"),
    *("retriever", "binary", "multiclass", "multilabel"),
}
_WEAK = {  # words that many names have, which make no two of them alike
    *("match", "rate", "error", "mean", "average", "all", "any", "of", "at", "in", "by", "is", "number"),
}

_metrics: dict[str, Metric] = {}
_aliases: dict[str, str] = {}
_dialects: dict[str, Dialect] = {}
_makers: dict[str, Callable[[str], Metric]] = {}
_indexes: list[Index] = []
_presets: dict[str, Preset] = {}


def register(metric: Metric) -> None:
    """Add a metric; raises `SpecError` if another one has its name or one of its aliases.

    Defining the same function again, as in a notebook, replaces the metric.
    """
    definition = metric.definition
    if not definition.function.__module__.startswith("karat."):
        load_own_plugin()
    for name in (definition.name, *definition.aliases):
        for index in _indexes:
            if not definition.function.__module__.startswith(f"{index.__package__}."):
                index.import_metric(name)  # so that a name which is in use, but not imported yet, is refused
        taken = _get(name)
        if taken is not None and _origin(taken) != _origin(metric):
            raise SpecError(f"there is a metric {name!r} already, defined in {_origin(taken)}")
    _metrics[definition.name] = metric
    _aliases.update(dict.fromkeys(definition.aliases, definition.name))


def find(name: str) -> Metric:
    """The metric of that name or alias, with its default settings, or with the settings that a short name stands for.

    Raises `SpecError` with the nearest name.
    """
    prefix, colon, rest = name.partition(":")
    if colon:
        if prefix not in _makers:
            load_plugins()
        if prefix not in _makers:
            raise SpecError(f"there is no metric {name!r}{did_you_mean(prefix, [*_makers, 'preset'])}")
        return _makers[prefix](rest)
    if (metric := _look_up(name)) is None:
        load_plugins()
        metric = _look_up(name)
    if metric is None:
        raise SpecError(f"there is no metric {name!r}{_nearest(name)}")
    return metric.named(name)


def _nearest(name: str) -> str:
    """The tail of an error message: what the name is without general words, else the nearest names, if any is near."""
    words = [word for word in name_words(name) if word not in _GENERAL]
    plain = "_".join(words)
    try:
        specs = translations(plain) if plain != name else []
    except SpecError as error:
        return f": {error}"
    if specs:
        return f"; did you mean {' or '.join(map(repr, specs[0]))}?"
    names = [*known_names(), *_presets]  # among all of them
    if near := [each for each in names if is_misspelt(plain, each)] or _sharing(words, names):
        return f"; did you mean {' or '.join(map(repr, near[:_SHOWN]))}?"
    word = re.compile(rf"\b{re.escape(name)}(?=[^`]*(?:`[^`]*`[^`]*)*$)", re.IGNORECASE)  # not in code
    mentioning = [each.name for each in all_metrics() if word.search(each.definition.summary)][:_SHOWN]
    nearest = f"; is it {' or '.join(mentioning)}" if mentioning else ""
    column = f'a column of numbers is a metric too: -m "column({name})"'
    return f'{nearest}; "karat metrics" lists all {len(_metrics)}; {column}'


def _sharing(words: list[str], names: list[str]) -> list[str]:
    """The names that say the same as some words but for more words on one side, the nearest first.

    What they share is at least half of the letters of the words.
    """
    wanted = {word for word in words if len(word) > 1} - _WEAK
    sharing = []
    for name in names:
        own = {word for word in name_words(name) if len(word) > 1} - _WEAK
        letters = sum(map(len, own & wanted))
        if own and (own <= wanted or wanted <= own) and 2 * letters >= sum(map(len, wanted)) > 0:
            sharing.append((-letters, len(name), name))
    return [name for *_, name in sorted(sharing)]


def known_names() -> list[str]:
    """The names and aliases of all metrics."""
    all_metrics()
    return [*_metrics, *_aliases]


def add_index(index: Index) -> None:
    """Let a package import its metrics when they are asked for, instead of all at once."""
    if index not in _indexes:
        _indexes.append(index)


def add_maker(prefix: str, make: Callable[[str], Metric]) -> None:
    """Define `prefix:NAME` as the metric that `make` returns for NAME, which may be the name of a file."""
    _makers[prefix] = make


def add_preset(name: str, *specs: str, summary: str, source: str) -> None:
    """Define `preset:NAME`, and NAME where no metric has it, for the metrics of a benchmark's own script."""
    _presets[name] = Preset(name, specs, summary, source)


def find_preset(text: str) -> Preset | None:
    """The preset that a text names: `preset:NAME`, or NAME alone unless it is a metric's; None for any other text.

    Raises `SpecError` with the nearest name where there is no preset of that name.
    """
    name = text.strip().removeprefix(PRESET)
    if name == text.strip():
        return _presets.get(name) if name in _presets and _look_up(name) is None else None
    if name not in _presets:
        load_plugins()
    if name not in _presets:
        raise SpecError(f"there is no preset {name!r}{did_you_mean(name, _presets)}")
    return _presets[name]


def all_presets() -> list[Preset]:
    """Every preset, sorted by name."""
    load_plugins()
    return [_presets[name] for name in sorted(_presets)]


def add_dialect(translate: Dialect) -> None:
    """Accept the names that another tool has for metrics, where karat has no metric of that name."""
    _dialects[f"{translate.__module__}.{translate.__qualname__}"] = translate


def translations(text: str) -> list[tuple[str, ...]]:
    """The specs of what each tool calls by this name, for the tools that know the name."""
    all_metrics()
    return [specs for translate in _dialects.values() if (specs := translate(text))]


def all_metrics() -> list[Metric]:
    """Every registered metric, sorted by name."""
    load_plugins()
    for index in _indexes:
        index.import_all()
    return [_metrics[name] for name in sorted(_metrics)]


def is_known(name: str) -> bool:
    """Whether a metric has that name or alias."""
    if _look_up(name) is None:
        load_plugins()
    return _look_up(name) is not None


def _get(name: str) -> Metric | None:
    return _metrics.get(_aliases.get(name, name))


def _look_up(name: str) -> Metric | None:
    """The metric of that name, imported by an index if it is not registered yet."""
    for index in _indexes if _get(name) is None else ():
        index.import_metric(name)
    return _get(name)


def asks_a_model(name: str, judge: str) -> SpecError:
    """The error for the name of a judge without `judge:`: that a model is asked is never guessed."""
    of_own = ", a file of your own," if judge.endswith(".toml") else ""
    return SpecError(
        f"{name} asks a language model: -m judge:{judge}{of_own} --model NAME (in Python, Judge({judge!r}))"
    )


def _origin(metric: Metric) -> str:
    return f"{metric.definition.function.__module__}.{metric.definition.function.__qualname__}"
