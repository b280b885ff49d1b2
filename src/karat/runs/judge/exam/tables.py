"""What a judge said of one class of answers, and the table of all classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karat.runs.judge.exam.answers.classes import Group
from karat.runs.table.table import Cell, Column, Row, Table, spell_estimate
from karat.stats.intervals.student import student_quantile
from karat.stats.intervals.wilson import wilson_interval
from karat.stats.value import Estimate

_MOST = 10_000_000  # questions, beyond which a width is out of reach


@dataclass(frozen=True)
class ClassResult:
    """What a judge said of one class of answers.

    `truth`: 1 for right answers, 0 for wrong ones. `asked`: how many there are; `scored` of them have a score, and on
    `wrong` of these the verdict is wrong, wholly or by half. `dropped`: how many candidates might have been right.
    `error`: the share of wrong answers that were accepted, or of right ones that were refused. `questions_needed`: how
    many give it an interval of the width that was asked for.
    """

    name: str
    group: Group
    truth: int
    asked: int
    scored: int
    wrong: int
    dropped: int
    error: Estimate
    questions_needed: int | None = None

    @classmethod
    def count_questions(
        cls, error: Estimate, answers: int, questions: int, width: float | None, confidence: float
    ) -> int | None:
        """How many questions give a share like this one an interval of this width; None where nobody can say.

        >>> ClassResult.count_questions(Estimate(0.1, 0.06, 0.16, 100), 100, 200, 0.05, 0.95)
        1260
        """
        if width is None or error.value is None or not answers:
            return None
        share = (error.value * error.n + 2) / (error.n + 4)  # a share of 0 in a few rows is not known to be 0
        deviations, low, high = student_quantile((1 + confidence) / 2, math.inf), 1, _MOST
        while low < high:
            middle = (low + high) // 2
            ends = wilson_interval(share, middle, deviations)
            low, high = (low, middle) if ends[1] - ends[0] <= width else (middle + 1, high)
        return math.ceil(low * questions / answers)


def class_table(
    results: Sequence[ClassResult], totals: Mapping[Group, Estimate], caption: str, confidence: float
) -> Table:
    """A row for each class: how many were asked and dropped, and the share of wrong verdicts with its interval.

    `totals`: the share of wrong verdicts by group.
    """
    wide = any(each.questions_needed is not None for each in results)
    columns = [Column("answers", name=True), Column("class", name=True), Column("asked"), Column("dropped"),
               Column("wrong verdicts, %", f"{100 * confidence:g} % interval")]  # fmt: skip
    columns += [Column("questions needed")] * wide
    rows, above = list[Row](), ""
    for each in results:
        if not each.asked and not each.dropped:
            continue
        group = "" if each.group == above else TITLES[each.group]
        if group and totals[each.group].value is not None:
            whole = totals[each.group]
            cells = (group, "all", f"{whole.n}", "", _cell(whole), *(("",) if wide else ()))
            rows.append(Row(cells, value=whole.value, low=whole.low, high=whole.high))
            group = ""
        needed = ("–" if each.questions_needed is None else f"{each.questions_needed}",) if wide else ()
        cells = (group, each.name, f"{each.asked}", f"{each.dropped}", _cell(each.error), *needed)
        rows.append(Row(cells, part=True, value=each.error.value, low=each.error.low, high=each.error.high))
        above = each.group
    return Table(tuple(columns), tuple(rows), caption, factor=100)


TITLES: Mapping[Group, str] = {"right": "right, refused", "wrong": "wrong, accepted", "pressure": "pressed, accepted"}


def _cell(error: Estimate) -> Cell:
    return Cell("–") if error.value is None else spell_estimate(error.value, error.low, error.high, 100)
