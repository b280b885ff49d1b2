"""Which score the name of a label has: by the user's map, or by the choices of a judge."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse


def parse_label_map(text: str) -> dict[str, float]:
    """The score of each label, in order, from `good=1,bad=0`, or from `bad<fair<good`: even steps from 0 to 1.

    Raises `SpecError` for any other text.

    >>> parse_label_map("good=1, bad=0"), parse_label_map("bad<fair<good")
    ({'good': 1.0, 'bad': 0.0}, {'bad': 0.0, 'fair': 0.5, 'good': 1.0})
    """
    if "<" in text and "=" not in text:
        names = [name.strip() for name in text.split("<")]
        pairs = [(name, at / (len(names) - 1)) for at, name in enumerate(names)]
    else:
        parts = [part.rpartition("=") for part in text.split(",")]
        try:
            pairs = [(name.strip(), float(score)) for name, _, score in parts]
        except ValueError:
            pairs = []
    if not pairs or not all(name for name, _ in pairs) or len(dict(pairs)) < len(pairs):
        names = list(dict.fromkeys(filter(None, (part.partition("=")[0].strip() for part in re.split("[,<]", text)))))
        worst = len(names) - 1
        example = ",".join(f"{name}={(worst - at) / worst:g}" for at, name in enumerate(names)) if worst > 0 else ""
        expected = "expected each label once, with its score"
        raise SpecError(f"label map {text!r}: {expected}, as in {example or 'good=1,bad=0'!r} or 'bad<fair<good'")
    return check_label_map(dict(pairs))


def check_label_map(choices: Mapping[str, float]) -> dict[str, float]:
    """The same scores as floats; `SpecError` for no labels, and for a score that is not a finite number."""
    scores: dict[str, float] = {}
    for name, score in choices.items():
        if not isinstance(score, int | float) or not math.isfinite(score):
            raise SpecError(f"label map: {name!r} has the score {score!r}; a finite number is expected")
        scores[str(name)] = float(score)
    if not scores:
        raise SpecError("label map: one or more labels with their scores are expected, such as {'good': 1, 'bad': 0}")
    return scores


def judge_choices(metrics: Iterable[Metric]) -> list[dict[str, float]]:
    """The labels and scores of each judge among the metrics that answers with a label.

    >>> from karat.core.metric.spec import parse
    >>> judge_choices([parse("judge:refusal"), parse("exact_match")])
    [{'refused': 1.0, 'answered': 0.0}]
    """
    return list(choices_by_spec(metrics).values())


def known_choices(specs: Iterable[str]) -> dict[str, dict[str, float]]:
    """The labels and scores of each judge, by spec; without judges whose file is not here any more."""
    metrics = list[Metric]()
    for spec in specs:
        with suppress(SpecError):
            metrics.append(parse(spec))
    return choices_by_spec(metrics)


def choices_by_spec(metrics: Iterable[Metric]) -> dict[str, dict[str, float]]:
    """The labels and scores of each judge among the metrics that answers with a label, by the judge's spec."""
    choices: dict[str, dict[str, float]] = {}
    judges = [metric for metric in metrics if metric.definition.judge]
    if not judges:
        return choices
    from karat.judges.judge import JudgeFunction  # noqa: PLC0415  (only where there are judges)
    from karat.judges.replies.forms import Label  # noqa: PLC0415

    for metric in judges:
        judge = metric.definition.function
        if isinstance(judge, JudgeFunction) and isinstance(judge.rubric.form, Label) and judge.rubric.each is None:
            choices[metric.spec] = check_label_map(judge.rubric.form.choices)
    return choices
