"""Parses specs: from the text of a metric to the metric.

A spec is ``name`` or ``name(setting=value, ...)``, each with an optional ``@k`` that sets ``k``; a name may have a
prefix (``judge:mine.toml``, or ``mine.toml`` alone); ``preset:NAME`` stands for several specs. Values are Python or
JSON literals; a bare word is text. A metric may have a setting whose value stands first, without its name:
``column(seconds, direction=minimize)``. The value of a setting may be the spec of another metric:
``brier(exact_match)``, in quotes where it has a prefix and a name of more than letters, digits and ``_./-``:
``brier('judge:my own.toml')``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from karat.core.errors import SpecError, did_you_mean
from karat.core.metric.metric import WORDS, Metric
from karat.core.metric.registry import find, find_preset, is_known, translations
from karat.core.plugins import load_file

_PREFIXED = re.compile(r"(?P<name>[a-z]+:(?:.+\.[a-z]+|[^()@]+))(?P<rest>(?:\(.*\))?(?:@\d+)?)", re.DOTALL)
_INNER = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<=[(,=\s])[a-z]+:[\w./-]+""", re.DOTALL)  # or a text
_JUDGE = re.compile(r"(?![a-z]+:)[^()@]+\.toml(\(.*\))?", re.DOTALL)
_FILE = re.compile(r"(?P<file>[^()]+\.py):(?P<spec>(?P<name>[A-Za-z_]\w*)(\(.*\))?(@\d+)?)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z][\w.+-]*")
_MOST = 1_000  # metrics of a call
_FIRST = ""  # the key of a value without the name of its setting


class SpecText(str):
    """The spec of a metric as the value of another one's setting; a spec shows it without quotes where it can.

    `metric` is the metric itself where it was made in Python: its spec may not say all of it, such as a callable.
    """

    __slots__ = ("metric",)
    metric: Metric | None

    def __new__(cls, spec: str, metric: Metric | None = None) -> Self:
        text = super().__new__(cls, spec)
        text.metric = metric
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.metric)

    def __repr__(self) -> str:
        prefixed = _PREFIXED.fullmatch(self)
        return str(self) if prefixed is None or _INNER.fullmatch(f"={prefixed['name']}", 1) else super().__repr__()


def parse(text: str) -> Metric:
    """The metric that a spec names.

    >>> parse("token_f1(normalize=none)")
    token_f1(normalize='none')
    >>> parse("f1"), parse("f1").full_spec, parse("f1") == parse("token_f1")
    (f1, 'token_f1', True)
    >>> parse("token_f1(nomalize=none)")
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: token_f1 has no setting 'nomalize'; did you mean 'normalize'?
    """
    spec, *more = expand(text)
    if more:
        raise SpecError(f"{text} stands for {1 + len(more)} metrics, one is expected: {', '.join([spec, *more])}")
    try:
        return _parse(spec)
    except SpecError:
        readings = translations(text)
        for specs in readings:
            with suppress(SpecError):
                return _parse(*specs)
        if not readings:
            raise
        return _parse(*readings[0])


def expand(text: str) -> tuple[str, ...]:
    """The specs of a preset, or of a name of another tool for several of them; any other text is one spec.

    >>> import karat.metrics
    >>> expand("preset:squad"), expand("f1"), expand("P.5,10")
    (('em', 'f1'), ('f1',), ('precision@5', 'precision@10'))
    """
    if preset := find_preset(text):
        return preset.specs
    if "," in text.partition("(")[0] or (_NAME.fullmatch(text) and not is_known(text)):  # no spec has a comma
        return next((specs for specs in translations(text) if len(specs) > 1), (text,))
    return (text,)


def load(text: str) -> Metric:
    """The metric that `FILE.py:SPEC` names in a file of the user's, which is run.

    Only for what a user types: `parse` reads specs of runs, too, which may be anybody's.
    """
    match = _FILE.fullmatch(text.strip())
    if match is None:
        return parse(text)
    values = vars(load_file(match["file"]))
    if isinstance(metric := values.get(match["name"]), Metric):
        return metric.using(**_split(match["spec"])[1])
    if callable(metric):
        raise SpecError(f"{text}: {match['name']} is a function; @karat.metric before it makes it a metric")
    metrics = [name for name, value in values.items() if isinstance(value, Metric)]
    raise SpecError(f"{match['file']} has no metric {match['name']!r}{did_you_mean(match['name'], metrics)}")


def without_file(text: str) -> str:
    """The spec in `FILE.py:SPEC`; any other text is the same.

    >>> without_file("mine.py:shout(times=3)"), without_file("token_f1")
    ('shout(times=3)', 'token_f1')
    """
    match = _FILE.fullmatch(text.strip())
    return text if match is None else match["spec"]


def match_spec(spec: str, known: Collection[str]) -> str:
    """The one of some specs, as they are stored, that a spec in any spelling means.

    Raises `SpecError` with the nearest one; the metric of a stored spec need not be there any more.

    >>> match_spec("f1", ["exact_match", "token_f1"]), match_spec("theirs(x=1)", ["theirs(x=1)"])
    ('token_f1', 'theirs(x=1)')
    """
    same = without_file(spec)
    if same not in known:
        with suppress(SpecError):
            specs = parse(same).all_specs
            same = next((each for each in specs if each in known), specs[0])
    if same not in known:
        raise SpecError(f"{spec} was not scored{did_you_mean(spec, known)}")
    return same


def parse_own(text: str) -> Metric | None:
    """The metric whose spec is written just so, as columns of scores are named; None, soon, for any other text.

    >>> import karat.metrics
    >>> [parse_own(text) for text in ("token_f1(normalize='none')", "f1", "mrr", "the 7th column")]
    [token_f1(normalize='none'), f1, None, None]
    """
    name = next(names_in(text), "")
    if ":" in name or (name and is_known(name)):
        with suppress(SpecError):
            metric = _parse(text)
            return metric if metric.spec == text else None
    return None


def names_in(text: str) -> Iterator[str]:
    """The name of the metric that a spec means, and of each metric that a value in it may mean; none of another tool's.

    >>> list(names_in("pass_at(judge:mine.toml(samples=3), at=0.5)@4"))
    ['pass_at', 'judge:mine.toml']
    """
    with suppress(SpecError):
        name, settings = _split(text)
        yield name
        yield from _names_among(settings)


def _names_among(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from names_in(value)
    elif isinstance(value, dict | list | tuple | set):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _names_among(each)


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings of a spec."""
    if _JUDGE.fullmatch(text.strip()):  # a file of this kind is nothing else
        text = f"judge:{text.strip()}"
    prefixed = _PREFIXED.fullmatch(text.strip())
    source = f"_{prefixed['rest']}" if prefixed else text.strip()
    source = _INNER.sub(lambda match: match[0] if match[0][0] in "'\"" else repr(match[0]), source)
    try:
        name, settings = _read(ast.parse(source, mode="eval").body, source)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise _no_spec(text) from None
    return prefixed["name"] if prefixed else name, settings


def _parse(text: str) -> Metric:
    name, settings = _split(text)
    metric = find(name)
    if _FIRST in settings:
        first = next((name for name, setting in metric.definition.settings.items() if setting.first), None)
        if first is None or first in settings:
            raise _no_spec(text)
        settings[first] = settings.pop(_FIRST)
    if metric.definition.inner is None and any(isinstance(value, SpecText) for value in settings.values()):
        raise _no_spec(text)
    return metric.using(**settings)


def _no_spec(text: str) -> SpecError:
    expected = "name, name(setting=value, ...) or name@k (for k=...) is expected, one at a time"
    return SpecError(f"{text} is not a metric: {expected}; put text that is more than a word in quotes")


def parse_all(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """The metrics of one or many specs or presets; raises `SpecError` if two are equal, or there are none or too many.

    A metric that is in a preset may be given too, and is there once. `FILE.py:SPEC` is a metric of a file,
    which is run.

    >>> import karat.metrics
    >>> parse_all(["preset:squad", "rouge_l", "token_f1"])
    [em, f1, rouge_l]
    """
    parsed: dict[str, Metric] = {}
    alone: set[str] = set()
    for each in [metrics] if isinstance(metrics, str | Metric) else metrics:
        specs = expand(each) if isinstance(each, str) else ()
        preset = find_preset(each) if isinstance(each, str) else None
        for metric in map(load, specs) if isinstance(each, str) else [each]:
            if not isinstance(metric, Metric):
                raise SpecError(f"{metric!r} is not a metric: a spec such as 'token_f1' or a Metric is expected")
            if specs in ((), (each,)):
                if metric.full_spec in alone:
                    raise SpecError(f"{metric} is given twice")
                alone.add(metric.full_spec)
            parsed.setdefault(metric.full_spec, replace(metric, recipe=preset.name) if preset else metric)
    if not parsed:
        raise SpecError("no metric is given")
    if len(parsed) > _MOST:
        raise SpecError(f"{len(parsed)} metrics are given; at most {_MOST} are scored at a time: use several calls")
    return [*parsed.values()]


def _read(tree: ast.expr, source: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings; a value without a name is under `_FIRST`."""
    match tree:
        case ast.BinOp(left=left, op=ast.MatMult(), right=ast.Constant(value=int() as k)):
            name, settings = _read(left, source)
            if "k" in settings:
                raise ValueError("k twice")
            return name, {**settings, "k": k}
        case ast.Call(func=ast.Name() | ast.Constant() as function, args=[] | [_] as first, keywords=keywords):
            name, _ = _read(function, source)
            words = [(_FIRST, value) for value in first] + [(word.arg, word.value) for word in keywords]
            settings = {key: _value(value, source) for key, value in words if key is not None}
            if len(settings) < len(words):
                raise ValueError("a setting twice, or **")
            return name, settings
        case ast.Name(id=name):
            return name, {}
        case ast.Constant(value=str(name)) if ":" in name:
            return name, {}
    raise ValueError("not a spec")


def _value(tree: ast.expr, source: str) -> Any:
    if isinstance(tree, ast.Name):  # its text: Python takes some letters for others, such as ﬁ for fi
        return WORDS.get(tree.id, ast.get_source_segment(source, tree))
    if isinstance(tree, ast.Call) or (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult)):
        return SpecText(ast.get_source_segment(source, tree) or "")
    return ast.literal_eval(tree)
