"""What an exam found, as figures, sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.metric.metric import Metric
from karat.data.json.objects import JsonObject, Printed
from karat.runs.judge.exam.answers.classes import SWAPPED, Group
from karat.runs.judge.exam.answers.gold_types import GoldType
from karat.runs.judge.exam.paper import Paper
from karat.runs.judge.exam.tables import ClassResult, class_table
from karat.runs.judge.reliability.panel import JudgePanel
from karat.runs.judge.sentences import describe_panel
from karat.runs.table.document import Document
from karat.runs.table.markdown import escape_markdown, markdown_table
from karat.runs.table.notebook import show_tables
from karat.runs.table.table import Table
from karat.stats.corrected.rogan_gladen import implied_range, rogan_gladen
from karat.stats.reliability.certificate import Certificate
from karat.stats.value import Estimate, spell

NATURAL = "the exam's answers are not the mix that a system gives, and the rates on its own answers may be others"
_FRIENDLY = 0.5  # a judge that accepts more than this share of a class is said to accept it


@dataclass(frozen=True)
class Implied:
    """The share of right answers among the system's own that a judge's error rates imply.

    `accepted`: the share of these answers that the judge accepts. `value`: corrected by the error rates of the exam
    (Rogan and Gladen), its interval carries that of all three; `low` and `high` are the least and the greatest share
    that goes with the rates, both being anywhere in their intervals.
    """

    accepted: Estimate
    value: Estimate
    low: float
    high: float

    @classmethod
    def of(cls, accepted: Estimate, judge: Examinee) -> Implied | None:
        """What the errors of a judge imply of the share that it accepts; None where that is not known."""
        if accepted.value is None:
            return None
        wrong, right = judge.mistakes, complement(judge.false_blame)
        ends = implied_range(accepted.value, (wrong.low, wrong.high), (right.low, right.high))
        return cls(accepted, rogan_gladen(accepted, wrong, right), *ends)


@dataclass(frozen=True)
class BesidePeople:
    """The same errors by people's labels of the system's own answers."""

    labelled: int
    false_praise: Estimate | None
    false_blame: Estimate | None


@dataclass(frozen=True)
class Examinee:
    """What an exam found of one judge or metric, on `n` answers of which `scored` have a score.

    `false_praise`: the share of wrong answers that it accepts, `pressed` of wrong answers that press it to, both
    without the class of swapped gold; `false_blame`: the share of right answers that it refuses. `mistakes`: the share
    that it accepts of wrong answers as a system gives them by mistake: other gold, and changed gold. `classes`: by
    name. `certificates`: by class of wrong answers, where a limit was named; `alpha` is the level of all together.
    """

    score: str
    signature: str
    n: int
    scored: int
    false_praise: Estimate
    pressed: Estimate
    false_blame: Estimate
    mistakes: Estimate
    classes: Mapping[str, ClassResult]
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    alpha: float | None = None
    implied: Implied | None = None
    people: BesidePeople | None = None
    metric: Metric | None = field(default=None, repr=False)
    wrong: Array | None = field(default=None, repr=False, compare=False)

    printed: ClassVar = Printed(hidden=("metric", "wrong"))

    @property
    def totals(self) -> dict[Group, Estimate]:
        """The share of wrong verdicts by group."""
        return {"right": self.false_blame, "wrong": self.false_praise, "pressure": self.pressed}

    def sentences(self) -> Iterator[str]:
        """What was found, in words."""
        if self.scored < self.n:
            yield f"{self.n - self.scored} of {self.n} answers have no score: left out, not taken for wrong verdicts"
        shares = (
            (self.false_praise, "accepts {} of wrong answers"),
            (self.pressed, "accepts {} of wrong answers that press it to"),
            (self.false_blame, "refuses {} of right answers"),
        )
        if parts := [words.format(percent(each)) for each, words in shares if each.value is not None]:
            yield "; ".join(parts)
        if bad := [each for each in self.worst() if (each.error.low or 0) > _FRIENDLY]:
            names = ", ".join(f"{each.name} ({percent(each.error)})" for each in bad)
            yield f"it is wrong on most answers of: {names}"
        own = self.classes.get(SWAPPED)
        if own is not None and own.error.value is not None:
            yield f"beside a gold that was replaced, it follows its own belief in {percent(own.error)}"
        yield from self._describe_implied()
        yield from self._describe_people()

    def worst(self) -> list[ClassResult]:
        """The classes with errors, the most first."""
        erring = [each for each in self.classes.values() if each.error.value]
        return sorted(erring, key=lambda each: -(each.error.value or 0))

    def _describe_implied(self) -> Iterator[str]:
        if self.implied is None:
            return
        accepted, value = self.implied.accepted, self.implied.value
        line = f"it accepts {percent(accepted)} of the {accepted.n} answers of the file"
        if value.value is None:
            yield f"{line}; what share is right does not follow: {value.reason}"
            return
        rates = (
            f"accepting {percent(self.mistakes)} of mistakes and refusing {percent(self.false_blame)} of right answers"
        )
        yield f"{line}; {rates} implies that {percent(value)} are right ({NATURAL})"

    def _describe_people(self) -> Iterator[str]:
        if (people := self.people) is None:
            return
        pairs = (
            ("false praise", self.false_praise, people.false_praise),
            ("false blame", self.false_blame, people.false_blame),
        )
        for word, ours, theirs in pairs:
            if theirs is not None and theirs.value is not None:
                labels = f"people's labels of {people.labelled} rows"
                yield f"{word}: {percent(ours)} by the exam, {percent(theirs)} by {labels}"


@dataclass(frozen=True)
class WrongVerdict:
    """An answer of the exam on which a judge is wrong; `explanation` is the judge's, where it gave one."""

    judge: str
    answer_class: str
    edit: str
    truth: int
    question: str | None
    references: tuple[str, ...]
    prediction: str
    score: float | None
    explanation: str


@dataclass(frozen=True, repr=False)
class Exam(JsonObject):
    """An exam of judges and metrics: `n` answers of known truth to `questions` questions, drawn from `rows` rows.

    `without_gold`: rows that have none. `types`: the number of questions by type of gold. `judges`: what was found of
    each. `panel`: of several judges together. `errors`: wrong verdicts that were asked for. `mapping`: the column of
    each role. `paper` is the exam itself, `table` its answers with their scores.
    """

    name: str
    questions: int
    rows: int
    without_gold: int
    n: int
    types: Mapping[GoldType, int]
    judges: tuple[Examinee, ...]
    panel: JudgePanel | None
    errors: tuple[WrongVerdict, ...]
    mapping: Mapping[str, str]
    confidence: float
    seed: int
    paper: Paper = field(repr=False)
    table: pa.Table = field(repr=False)

    printed: ClassVar = Printed(hidden=("paper", "table"))

    def judge(self, score: str) -> Examinee:
        """What was found of the judge or metric of this spec or name; `KeyError` where there is none."""
        for each in self.judges:
            if score in {each.score, each.score.partition("(")[0]}:
                return each
        raise KeyError(f"no score {score}; there are: {', '.join(each.score for each in self.judges)}")

    def tables(self) -> list[Table]:
        """A table for each judge, with a row for each class."""
        return [
            class_table(list(each.classes.values()), each.totals, each.score, self.confidence) for each in self.judges
        ]

    def lines(self) -> list[str]:
        """What was found, in words."""
        several = len(self.judges) > 1
        lines = [f"{each.score}: {line}" if several else line for each in self.judges for line in each.sentences()]
        return lines if self.panel is None else [*lines, *describe_panel(self.panel)]

    def save(self, path: str | Path, *, plus_minus: bool = False) -> None:
        """Write the figures to a file: `.md`, `.tex`, `.html`, `.json`, or a row for each class in `.csv`, `.parquet`.

        Raises `DataError` for another ending and for a file that cannot be written.
        """
        tables = self.tables()
        html = show_tables(self._title, tables, self.lines())
        Document(tables[0], html, self.as_dict(), list(self._rows()), tuple(self._markdown())).save(
            path, plus_minus=plus_minus
        )

    @property
    def _title(self) -> str:
        return f"Exam of {', '.join(each.score for each in self.judges)} by {self.questions} questions"

    def _repr_html_(self) -> str:
        return show_tables(self._title, self.tables(), self.lines())

    def __repr__(self) -> str:
        head = f"<karat.Exam of {self.n} answers to {self.questions} questions"
        return "\n  ".join([head, *self.lines()]) + ">"

    def _rows(self) -> Iterator[dict[str, Any]]:
        for judge in self.judges:
            for each in judge.classes.values():
                names = {"score": judge.score, "class": each.name, "group": each.group, "truth": each.truth}
                counts = {"asked": each.asked, "scored": each.scored, "dropped": each.dropped}
                yield {**names, **counts, **each.error.as_dict()}

    def _markdown(self) -> Iterator[str]:
        yield from (f"### {escape_markdown(self._title)}", "")
        yield from (f"- {escape_markdown(each)}" for each in self.lines())
        for table in self.tables():
            yield from ("", escape_markdown(table.caption), "", *markdown_table(table))


def complement(estimate: Estimate) -> Estimate:
    """The other share of two.

    >>> print(complement(Estimate(0.25, 0.2, 0.4, 60)))
    0.7500 (0.6000 – 0.8000)
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    return Estimate(1 - estimate.value, 1 - estimate.high, 1 - estimate.low, estimate.n)


def percent(estimate: Estimate) -> str:
    """A share and its interval in percent.

    >>> percent(Estimate(0.25, 0.2, 0.4, 60))
    '25.0 % [20.0, 40.0]'
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "?"
    value, low, high = (spell(100 * each, ".1f") for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} % [{low}, {high}]"
