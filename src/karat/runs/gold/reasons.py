"""What speaks against the gold of a row: each reason by its name, in words, and with its numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from karat.data.json.objects import JsonObject, Printed
from karat.runs.gold.answers import RowAnswers, is_supported
from karat.runs.gold.rows import GoldRow
from karat.runs.judge.exam.answers.gold_types import find_dates, list_items
from karat.runs.judge.exam.answers.guard import contains_words, why_right, words_of
from karat.stats.ranking.rasch import find_misfit, fit_abilities

ReasonName: TypeAlias = Literal["agreement", "judge", "strength", "spelling", "question", "contexts", "form", "people"]
_MARKUP = re.compile(
    r"<[a-zA-Z/][^<>]*>|&(?:[a-z]+|#\d+);|\[\[|\{\{|\*\*|\\(?:text|frac|boxed)|https?://|^\s*[-*#] ", re.MULTILINE
)
_LONG = 8  # words of a gold that is a sentence, where answers are shorter by half
_SHOWN = 60
_MISFIT = 2.5  # standard deviations
_SYSTEMS = 64  # of more, the probability of each set is not computed


@dataclass(frozen=True)
class Reason(JsonObject):
    """One reason: its name, what it says of the row, and the numbers that it rests on.

    - `agreement`: systems agree with one another, and not with the gold; or no two agree.
    - `judge`: a judge accepts answers that the metric does not.
    - `strength`: weak systems have the gold, and strong ones miss it, more than chance explains.
    - `spelling`: answers mean the gold, by rules on names, numbers and dates, but not by the metric.
    - `question`: another row has the same question and other gold.
    - `contexts`: no passage of the row has the gold in it.
    - `form`: no answer is likely to be spelled as the gold is: a sentence, a list in one text, markup.
    - `people`: what people say of the gold.
    """

    reason: ReasonName
    says: str
    numbers: Mapping[str, float] = field(default_factory=dict)

    printed: ClassVar = Printed(sparse=("numbers",))


def find_reasons(
    rows: Sequence[GoldRow],
    agreements: Sequence[RowAnswers],
    ps: Sequence[float | None],
) -> Callable[[int], tuple[Reason, ...]]:
    """What gives the reasons of a row by its number; `ps`: the p of its agreement."""
    twice, misfits = _same_questions(rows), _find_misfits(agreements)

    def reasons(at: int) -> tuple[Reason, ...]:
        row, agreement = rows[at], agreements[at]
        return (
            *_agreement(agreement, ps[at]),
            *_judge(row),
            *_strength(row, agreement, misfits[at]),
            *_spelling(row, agreement),
            *twice.get(at, ()),
            *_contexts(row, agreement),
            *_form(row, agreement),
        )

    return reasons


def _agreement(agreement: RowAnswers, p: float | None) -> Iterator[Reason]:
    answered = agreement.confirmed + agreement.others
    if agreement.size < 2:
        if not agreement.confirmed and answered >= 2:
            yield Reason("agreement", f"none of {answered} systems has the gold, and no two agree", {"of": answered})
        return
    says = f"{agreement.size} of {answered} systems agree on {_quote(agreement.answer)}"
    if agreement.relation == "near":
        says += f", which resembles the gold ({agreement.reasons[agreement.members[0]] or 'in part'})"
    if agreement.confirmed:
        says += f", {agreement.confirmed} on the gold"
    numbers = {"systems": agreement.size, "of": answered, "gold": agreement.confirmed}
    yield Reason("agreement", says, numbers if p is None else numbers | {"p": p})


def _judge(row: GoldRow) -> Iterator[Reason]:
    taken = [each.answer or "" for each in row.answers if each.accepted and each.hit is False]
    if taken:
        count = f"{len(taken)} answer{'s' * (len(taken) > 1)}"
        yield Reason(
            "judge", f"the judge accepts {count} that the metric does not: {_quote(taken[0])}", {"answers": len(taken)}
        )


def _find_misfits(agreements: Sequence[RowAnswers]) -> Sequence[float]:
    """How far the systems that have the gold of each row are weaker than expected of so many, in deviations."""
    if not 3 <= len(agreements[0].relations if agreements else ()) <= _SYSTEMS:
        return [0.0] * len(agreements)
    hits = np.array([[each in {"hit", "same"} for each in row.relations] for row in agreements])
    abilities = fit_abilities(hits)
    known = dict[bytes, float]()
    for own in hits:
        if (key := own.tobytes()) not in known:
            known[key] = find_misfit(own, abilities)
    return [known[own.tobytes()] for own in hits]


def _strength(row: GoldRow, agreement: RowAnswers, misfit: float) -> Iterator[Reason]:
    if misfit >= _MISFIT:
        right = [each.system for each, relation in zip(row.answers, agreement.relations, strict=True)
                 if relation in {"hit", "same"}]  # fmt: skip
        says = f"weak systems have the gold ({', '.join(right[:3])}), and strong ones miss it"
        yield Reason("strength", says, {"deviations": round(misfit, 3), "systems": len(right)})


def _spelling(row: GoldRow, agreement: RowAnswers) -> Iterator[Reason]:
    same = [at for at, relation in enumerate(agreement.relations) if relation == "same"]
    if same:
        why = agreement.reasons[same[0]] or ""
        count = f"{len(same)} answer{'s' * (len(same) > 1)}"
        example = _quote(row.answers[same[0]].answer or "")
        says = f"{count} may mean the gold, and the metric does not see it: of {example}, {why}"
        yield Reason("spelling", says, {"answers": len(same)})


def _same_questions(rows: Sequence[GoldRow]) -> dict[int, list[Reason]]:
    """A reason for each row whose question, about the same passages, another row has too with unlike gold."""
    by_question = defaultdict[tuple[tuple[str, ...], tuple[str, ...] | None], list[int]](list)
    for at, row in enumerate(rows):
        if row.question and any(map(str.strip, row.references)) and (words := words_of(row.question)):
            by_question[words, row.contexts].append(at)
    reasons = dict[int, list[Reason]]()
    for places in by_question.values():
        for at in places:
            own = rows[at].references
            others = [rows[each] for each in places if not any(why_right(gold, own) for gold in rows[each].references)]
            if others:
                golds = _quote(", ".join(others[0].references))
                says = f"row {others[0].id} has the same question, and the gold {golds}"
                reasons[at] = [Reason("question", says, {"rows": len(others)})]
    return reasons


def _contexts(row: GoldRow, agreement: RowAnswers) -> Iterator[Reason]:
    if is_supported(row) is not False:
        return
    passages = [each for each in row.contexts or () if each.strip()]
    there = agreement.size and any(contains_words(text, agreement.answer) for text in passages)
    says = "no passage has the gold in it" + (f", and one has {_quote(agreement.answer)}" if there else "")
    yield Reason("contexts", says, {"passages": len(passages)})


def _form(row: GoldRow, agreement: RowAnswers) -> Iterator[Reason]:
    if not row.references or "hit" in agreement.relations:
        return
    if any(_MARKUP.search(gold) for gold in row.references):
        yield Reason("form", "the gold has markup in it, which answers have not")
    lengths = sorted(len(each.answer.split()) for each in row.answers if each.answer)
    shortest, usual = min(len(gold.split()) for gold in row.references), lengths[len(lengths) // 2] if lengths else 0
    if len(row.references) == 1 and len(items := list_items(row.references[0])) > 1:
        yield Reason("form", f"the gold is a list of {len(items)} in one text", {"items": len(items)})
    elif shortest >= _LONG and 0 < 2 * usual <= shortest:
        says = f"the gold is a text of {shortest} words, and answers have {usual}"
        yield Reason("form", says, {"words": shortest, "answers": usual})
    elif "same" in agreement.relations and (dated := [gold for gold in row.references if find_dates(gold)]):
        reasons = {why for why in agreement.reasons if why}
        if reasons <= {"it is the same date", "it is the same text"}:
            yield Reason("form", f"all answers spell the date otherwise than the gold, {_quote(dated[0])}")


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'}”"
