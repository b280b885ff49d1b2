"""The baseline of BERTScore: what texts without relation score, which rescaling makes 0."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from karat.core.errors import SpecError
from karat.core.metric.definition import Definition
from karat.data.storage.files import read_small

SimilarityFigure: TypeAlias = Literal["f1", "precision", "recall"]
PARTS = ("precision", "recall", "f1")  # in the order of a file of baselines
HEADER = ["LAYER", "P", "R", "F"]


def check_baseline(value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (value is None or isinstance(value, str) or (number and -1 < value < 1)):
        raise SpecError("a number between -1 and 1 or a file of baselines is expected")


Baseline: TypeAlias = Annotated[Any, check_baseline]


def read_baseline(rescale: float | str | None, layers: int | None, part: str) -> float:
    """The baseline of a layer; 0 where nothing is rescaled. Raises `SpecError` for a file that does not have it."""
    if not isinstance(rescale, str):
        return rescale or 0.0
    if layers is None:
        raise SpecError(f"token_similarity: rescale={rescale!r} needs layers=N, the line of the file that is meant")
    try:
        header, *lines = csv.reader(read_small(Path(rescale).expanduser()).decode().splitlines())
        baselines = {int(layer): [float(each) for each in parts] for layer, *parts in lines}
    except (OSError, ValueError) as error:
        raise SpecError(f"token_similarity: {rescale} is not a file of baselines: {error}") from None
    if header != HEADER or any(len(parts) != len(PARTS) for parts in baselines.values()):
        raise SpecError(f"token_similarity: {rescale} must begin with {','.join(HEADER)}, found {','.join(header)}")
    if layers not in baselines:
        raise SpecError(
            f"token_similarity: {rescale} has no line for layer {layers}, only for {', '.join(map(str, baselines))}"
        )
    baseline = baselines[layers][PARTS.index(part)]
    check_baseline(baseline)
    return baseline


def rescale_range(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the range of rescaled scores; the number that a file holds is part of the signature."""
    zero = read_baseline(settings["rescale"], settings["layers"], settings["part"])
    marks = {"baseline": repr(zero)} if isinstance(settings["rescale"], str) else {}
    return replace(definition, low=(-1 - zero) / (1 - zero), marks=MappingProxyType(marks))
