"""Which design a headline's interval is narrowest with: questions, prompts, judges and repetitions within a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.columns.variance import variance_components
from karat.core.errors import DataError, SpecError
from karat.data.json.objects import JsonObject
from karat.stats.reliability.components import REPEAT, ROW, Components
from karat.stats.reliability.instrument import half_width

CLOSE = 1e-9  # what rounding may make of a difference that is 0, or of a whole number
MOST_REPEATS = 20


@dataclass(frozen=True)
class Design(JsonObject):
    """`questions` more than there are; with the old ones, each is asked with `prompts` by `judges`, `repeats` times.

    `cost` is of what is not asked yet. `half_width`, half the width of the interval of the mean, is then this, and
    `half_width_now` is what the verdicts at hand give; `error` and `error_now` are the standard errors. `asked_by`: the
    names of the judges, the cheapest ones.
    """

    questions: int
    prompts: int
    judges: int
    repeats: int
    cost: float
    error: float
    error_now: float
    half_width: float
    half_width_now: float
    asked_by: tuple[str, ...]
    confidence: float


def best_design(
    components: Components, budget: float, *, question: float, calls: Mapping[str, float], confidence: float = 0.95
) -> Design:
    """The design with the narrowest interval of the mean that the budget pays for, by trying all of them.

    `question`: the price of one more question, with its answer and whatever else it takes. `calls`: the price of one
    verdict by each judge, in the order of its level. There are at most as many prompts and judges as were tried, since
    nothing is known of others; verdicts that were given cost nothing.

    Raises `SpecError` for prices that are not positive, `DataError` where the budget buys nothing that helps.

    >>> variances = {"row": 0.15, "prompt": 0.0004, "row × prompt": 0.02, "repeat": 0.03}
    >>> found = Components(200, {"prompt": 5}, (2, 1, 1, 1, 1), variances)
    >>> design = best_design(found, 20.0, question=0.05, calls={"a": 0.01})
    >>> design.questions, design.prompts, design.repeats, round(design.half_width_now, 3), round(design.half_width, 3)
    (200, 5, 1, 0.061, 0.047)
    """
    prompts, judges = (components.levels.get(name, 1) for name in ("prompt", "judge"))
    names, each_call = list(calls), np.array(list(calls.values()))
    if len(names) != judges or not (each_call > 0).all() or question < 0:
        raise SpecError(f"a price above 0 for a verdict of each of {judges} judges expected, found {dict(calls)}")
    verdicts = (
        np.array(components.asked).reshape(prompts, judges) if len(components.asked) == prompts * judges else None
    )
    verdicts = np.ones((prompts, judges)) if verdicts is None else verdicts
    cheapest = np.argsort(each_call, kind="stable")
    now = components.parts(components.rows, components.levels, components.repeats)
    widths, best = half_width(components, now, confidence), None
    for prompt in range(1, prompts + 1):
        for judge in range(1, judges + 1):
            by = cheapest[:judge]
            prices, had = each_call[by], verdicts[:prompt, by]
            for repeats in range(1, (MOST_REPEATS if components.repeated else 1) + 1):
                again = components.rows * float(np.maximum(repeats - had, 0).sum(axis=0) @ prices)
                each = question + float(prices.sum()) * prompt * repeats
                if again > budget:
                    break
                more = math.floor((budget - again) / each + CLOSE)
                parts = components.parts(components.rows + more, {"prompt": prompt, "judge": judge}, repeats)
                wide, cost = half_width(components, parts, confidence), again + more * each
                if best is None or (wide, cost) < (best.half_width, best.cost):
                    error, before = (math.sqrt(sum(of.values())) for of in (parts, now))
                    asked_by = tuple(names[each] for each in by.tolist())
                    best = Design(more, prompt, judge, repeats, cost, error, before, wide, widths, asked_by, confidence)
    if best is None or best.half_width >= widths * (1 - CLOSE):
        least = question + float(each_call.min())
        raise DataError(f"{budget:g} buys nothing that narrows the interval: one more question costs {least:g} or more")
    return best


@dataclass(frozen=True)
class VarianceComponents(JsonObject):
    """What the standard error of a mean over questions is made of, where each has several answers.

    `between` and `within` are the variances between questions and between the answers to one. With `answers` to each of
    `questions` the standard error is `error`; however many answers there are to these questions, it is above `least`.
    It is halved by `questions_needed`, with as many answers, or by `answers_needed` to each of these questions; None
    where no number of answers halves it.

    Source: E. Miller, "Adding Error Bars to Evals", arXiv:2411.00640 (2024), section 3.2.
    """

    questions: int
    answers: float
    between: float
    within: float
    error: float
    least: float
    questions_needed: int
    answers_needed: int | None


def plan_answers(sums: Array) -> VarianceComponents:
    """What halves the standard error: more questions, or more answers to each; from sums of `variance_statistics`.

    Raises `DataError` where the variances are not known: of one question, or where no question has two answers.

    >>> from karat.core.columns.variance import variance_statistics
    >>> plan = plan_answers(variance_statistics(np.array([[0.0, 1], [1, 1], [0, 0], [1, 1]])).sum(axis=0))
    >>> plan.questions_needed, plan.answers_needed
    (16, None)
    """
    between, within = (float(each) for each in variance_components(sums))
    if not math.isfinite(between + within):
        raise DataError("two questions, one of them with two answers, expected: their variances are not known")
    questions, answers = int(sums[0]), float(sums[1] / sums[0])
    components = Components(questions, {}, (2,), {ROW: max(0.0, between), REPEAT: within})
    parts = components.parts(questions, {}, answers)
    variance, least = sum(parts.values()), parts[ROW]
    room = variance / 4 - least
    needed = math.ceil(within / (questions * room) * (1 - CLOSE)) if room > CLOSE * variance else None
    error, least = math.sqrt(variance), math.sqrt(least)
    return VarianceComponents(
        questions, answers, components.variances[ROW], within, error, least, 4 * questions, needed
    )
