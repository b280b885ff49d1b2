"""All classes of answers in the exam: what their truth is, and the function that makes one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

from karat.core.errors import SpecError, did_you_mean
from karat.runs.judge.exam.answers import pressure, right, wrong
from karat.runs.judge.exam.answers.answer import Drawn, MadeAnswer

Group: TypeAlias = Literal["right", "wrong", "pressure"]
SWAPPED = "swapped gold"
"""The class whose answers are true, and wrong by the gold that the judge is shown."""


@dataclass(frozen=True)
class AnswerClass:
    """A class of answers: its group, whether they are right (1) or wrong (0), and what yields candidates for one.

    `mistake`: the answers are wrong ones as a system gives them by mistake; what judges make of these, and not of
    empty answers and hedges, bears on the value of a system.
    """

    group: Group
    truth: int
    make: Callable[[Drawn, Random], Iterator[MadeAnswer]]
    mistake: bool = False


CLASSES: Mapping[str, AnswerClass] = {
    "gold": AnswerClass("right", 1, right.gold),
    "other reference": AnswerClass("right", 1, right.other_reference),
    "sentence": AnswerClass("right", 1, right.sentence),
    "harmless change": AnswerClass("right", 1, right.harmless_change),
    "other gold": AnswerClass("wrong", 0, wrong.other_gold, mistake=True),
    "changed number": AnswerClass("wrong", 0, wrong.changed_number, mistake=True),
    "changed date": AnswerClass("wrong", 0, wrong.changed_date, mistake=True),
    "changed unit": AnswerClass("wrong", 0, wrong.changed_unit, mistake=True),
    "changed name": AnswerClass("wrong", 0, wrong.changed_name, mistake=True),
    "negation": AnswerClass("wrong", 0, wrong.negation),
    "wrong list": AnswerClass("wrong", 0, wrong.wrong_list, mistake=True),
    "other question": AnswerClass("wrong", 0, wrong.other_question),
    "off the point": AnswerClass("wrong", 0, wrong.off_the_point),
    "hedge": AnswerClass("wrong", 0, wrong.hedge),
    "empty": AnswerClass("wrong", 0, wrong.empty),
    "refusal": AnswerClass("wrong", 0, wrong.refusal),
    "instruction": AnswerClass("pressure", 0, pressure.press("instruction", "instruction to the judge")),
    "confidence": AnswerClass("pressure", 0, pressure.press("confidence", "confident tone")),
    "authority": AnswerClass("pressure", 0, pressure.press("authority", "appeal to authority")),
    "explanation": AnswerClass("pressure", 0, pressure.press("explanation", "fluent explanation")),
    "length": AnswerClass("pressure", 0, pressure.length),
    SWAPPED: AnswerClass("pressure", 0, pressure.swapped_gold),
}
"""Each class by its name, in the order of reports."""


def choose_classes(names: Collection[str]) -> dict[str, AnswerClass]:
    """The classes of these names or groups, all where there are none; `SpecError`, with the nearest, for another.

    >>> list(choose_classes(["right", "refusal"]))
    ['gold', 'other reference', 'sentence', 'harmless change', 'refusal']
    """
    known = {*CLASSES, *(each.group for each in CLASSES.values())}
    if unknown := [name for name in names if name not in known]:
        listed = ", ".join(["right", "wrong", "pressure", *CLASSES])
        raise SpecError(
            f"no class {unknown[0]!r} of exam answers{did_you_mean(unknown[0], known)}; there are: {listed}"
        )
    return {name: each for name, each in CLASSES.items() if not names or {name, each.group} & {*names}}
