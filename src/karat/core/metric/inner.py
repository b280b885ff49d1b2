"""Metrics of the scores of another metric, which is the value of their setting `metric`: `brier(exact_match)`.

Such a metric's function takes an `Inner` first, with the scores of the rows, or `Samples`, where each row holds
several answers to one question. It has the columns of the inner metric and its own.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

from karat.core.columns.kinds import NUMBERS, TEXT, TEXTS, Kind
from karat.core.errors import SpecError
from karat.core.metric.definition import Composite, Definition, Details, Remote, Specialise
from karat.core.metric.metric import Metric
from karat.core.metric.score import Inner, beside, find_samples
from karat.core.metric.spec import SpecText, parse

Samples: TypeAlias = Annotated[Inner, "samples"]
"""An `Inner` with a column that holds a list of answers, or of their scores, in each row (`find_samples`)."""


def check_metric(value: Any) -> SpecText:
    """The spec of a metric that has one; raises `SpecError` for anything else."""
    if not isinstance(value, str | Metric):
        raise SpecError("a metric is expected, such as exact_match or token_f1(normalize=none)")
    return SpecText(find_inner(value).full_spec, value if isinstance(value, Metric) else getattr(value, "metric", None))


def find_inner(value: str | Metric) -> Metric:
    """The metric that is the value of the setting `metric`."""
    if isinstance(value, Metric):
        return value
    return (value.metric if isinstance(value, SpecText) else None) or parse(value)


def specialise_by_inner(
    function: Callable[..., Any], own: Mapping[str, Kind], details: Details | None, then: Specialise | None
) -> Specialise:
    """What of a definition follows from its inner metric, and `then` from its other settings.

    `function` takes an `Inner` or `Samples` before its `own` columns, and returns `details` of its own.
    """
    first, *_ = inspect.signature(function).parameters
    samples = typing.get_type_hints(function, include_extras=True).get(first) == Samples

    def specialise(definition: Definition, settings: Mapping[str, Any]) -> Definition:
        inner = find_inner(settings["metric"])
        columns, inputs, remote = dict(inner.definition.columns), inner.definition.inputs, inner.definition.remote
        role = ""
        if samples:
            role = find_samples(inner.definition)
            columns[role] = TEXTS if columns[role] is TEXT else NUMBERS
        specialised = replace(
            definition,
            composite=Composite(inner, tuple(own), role),
            columns=MappingProxyType({**columns, **own}),
            inputs=replace(definition.inputs, json=inputs.json, named=inputs.named, files=inputs.files),
            marks=MappingProxyType({"metric": inner.signature}),
            remote=remote and Remote(asks_model=lambda _: inner.asks_model, governor=inner.governor),
            details=details if samples or inner.judge is None else partial(_add_details, inner, details),
        )
        return specialised if then is None else then(specialised, settings)

    return specialise


def _add_details(inner: Metric, own: Details | None, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The types of a metric's own details, and of its inner metric's, which `Inner` gives."""
    types = {} if own is None else own(settings)
    return {**types, **{beside(name, types): kind for name, kind in inner.details.items()}}
