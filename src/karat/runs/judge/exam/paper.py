"""The exam as a table of answers: `make_exam` draws questions, makes answers of each class and drops doubtful ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.data.write import write
from karat.runs.judge.exam.answers.answer import Drawn, MadeAnswer, Question, number_of
from karat.runs.judge.exam.answers.classes import CLASSES, AnswerClass, choose_classes
from karat.runs.judge.exam.answers.gold_types import GoldType
from karat.runs.judge.exam.answers.guard import contains_words, why_right
from karat.runs.judge.exam.questions import GoldRows, read_gold
from karat.runs.scoring.arguments import Selection

QUESTIONS = 200
"""How many questions an exam has by default."""
_POOL = 2000  # questions from whose gold wrong answers come, the exam's own among them
_ALIKE, _OTHERS = 24, 8  # candidates for a wrong answer
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # an odd number: multiplied by it, no two numbers become one
COLUMNS = {"exam_id": pa.string(), "exam_question": pa.string(), "exam_class": pa.string(), "exam_truth": pa.int64(),
           "exam_edit": pa.string()}  # fmt: skip


@dataclass(frozen=True)
class Paper:
    """An exam: a row for each answer in `table`, with the columns that a judge reads, and `COLUMNS`.

    `questions` is how many were drawn from `source`. `asked` has the number of answers by class, `dropped` the number
    of candidates that might have been right, by class, and `types` the number of questions by type of gold. `selection`
    says which rows were read.
    """

    table: pa.Table = field(repr=False)
    source: GoldRows = field(repr=False)
    questions: int
    asked: Mapping[str, int]
    dropped: Mapping[str, int]
    types: Mapping[GoldType, int]
    selection: Selection = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the table to a file; its ending is the format. Raises `DataError` for one that cannot be written."""
        write(self.table.to_batches(), self.table.schema, path)


def make_exam(rows: Any, *, questions: int = QUESTIONS, classes: Collection[str] = (), seed: int = 0) -> Paper:
    """Make an exam from rows with gold: answers of known truth, by class.

    `rows`: what `karat.score` reads, or a `Selection` of it. `questions`: how many are drawn. `classes`: names of
    classes or of their groups (right, wrong, pressure), by default all. `seed`: of the draws. A question gets at most
    one answer in each class. What is drawn for a question depends on its text and the seed, and on other rows only as
    far as its wrong answers come from these.

    Raises `SpecError` for an unknown class and for less than one question, `ColumnError` and `DataError` where there is
    no gold.

    >>> rows = {"question": ["Which metal is red?", "Which metal is liquid?"], "gold": ["copper", "mercury"]}
    >>> paper = make_exam(rows, classes=["gold", "other gold"])
    >>> for row in paper.table.to_pylist():
    ...     print(row["question"], row["prediction"], row["exam_truth"], row["exam_edit"])
    Which metal is liquid? mercury 1 as it is
    Which metal is liquid? copper 0 another other
    Which metal is red? copper 1 as it is
    Which metal is red? mercury 0 another other
    """
    if questions < 1:
        raise SpecError(f"questions={questions!r}: a whole number from 1 is expected")
    chosen = choose_classes(classes)
    selection = rows if isinstance(rows, Selection) else Selection(rows)
    source = read_gold(selection, max(questions, _POOL), seed)
    drawn, counts, dropped = source.questions[:questions], Counter[str](), Counter[str]()
    pool = _Pool(source.questions, seed)
    made_rows = []
    for question in drawn:
        candidates = pool.draw(question)
        for name, kind in chosen.items():
            answer = _make(candidates, name, kind, seed, dropped)
            if answer is not None:
                counts[name] += 1
                made_rows.append(_row(question, name, kind, answer))
    types = Counter(each.type for each in drawn)
    table = _tabulate(made_rows, source.mapping)
    return Paper(table, source, len(drawn), {name: counts[name] for name in chosen},
                 {name: dropped[name] for name in chosen}, dict(types.most_common()),
        selection)  # fmt: skip


class _Pool:
    """Questions from whose gold wrong answers come, all and by what a wrong answer should be alike in.

    Each has a number; a question takes those that come first when the numbers are mixed with its own.
    """

    def __init__(self, questions: Sequence[Question], seed: int) -> None:
        groups = dict[tuple[str, ...], list[Question]]()
        for each in questions:
            groups.setdefault(_shape(each), []).append(each)
        self.seed = seed
        self.every = self._number(questions)
        self.alike = {shape: self._number(group) for shape, group in groups.items()}

    def draw(self, question: Question) -> Drawn:
        """The question with candidates for wrong answers."""
        own = np.uint64(number_of(question.key, self.seed, "pool"))

        def first(pool: tuple[Sequence[Question], Array], most: int) -> list[Question]:
            order = np.argsort((pool[1] ^ own) * _MIXER, kind="stable")[: most + 1].tolist()
            return [pool[0][at] for at in order if pool[0][at].key != question.key][:most]

        return Drawn(question, first(self.alike[_shape(question)], _ALIKE), first(self.every, _OTHERS))

    def _number(self, questions: Sequence[Question]) -> tuple[Sequence[Question], Array]:
        return questions, np.array([number_of(each.key, self.seed) for each in questions], np.uint64)


def _shape(question: Question) -> tuple[str, ...]:
    """The type of the gold; of other gold also whether it is a name, a few words, or a text, and why or how of what."""
    if question.type != "other":
        return (question.type,)
    words = question.gold.split()
    size = "text" if len(words) > 8 else "phrase" if len(words) > 2 else "word"
    opening = next((word for word in ("why", "how", "who") if (question.text or "").lower().startswith(word)), "")
    return ("other", opening, size if size == "text" else f"{size}, {'name' if words[-1][0].isupper() else 'no name'}")


def _make(drawn: Drawn, name: str, kind: AnswerClass, seed: int, dropped: Counter[str]) -> MadeAnswer | None:
    """The first answer of a class that cannot be right; None where there is none."""
    number = number_of(drawn.question.key, seed, name)
    alike = sorted(drawn.alike, key=lambda each: number_of(each.key, number))  # each class begins with another
    for answer in kind.make(Drawn(drawn.question, alike, drawn.others), Random(number)):  # noqa: S311  (nothing secret)
        if not _is_doubtful(answer, drawn.question.references):
            return answer
        dropped[name] += 1
    return None


def _is_doubtful(answer: MadeAnswer, references: Sequence[str]) -> bool:
    """Whether a wrong answer might be right: one of its claims might, or the words around them name a reference."""
    if any(why_right(claim, references, edited=answer.edited) for claim in answer.claims):
        return True
    around = bool(answer.claims) and not answer.edited and answer.references is None
    return around and any(contains_words(answer.text, each) for each in references)


def _row(question: Question, name: str, kind: AnswerClass, answer: MadeAnswer) -> dict[str, Any]:
    return {
        "exam_id": f"{number_of(question.key):016x} {name}",
        "exam_question": question.key,
        "exam_class": name,
        "exam_truth": kind.truth,
        "exam_edit": answer.edit,
        "question": question.text,
        "contexts": question.contexts,
        "reference": answer.references or question.references,
        "prediction": answer.text,
    }


def _tabulate(rows: Sequence[Mapping[str, Any]], mapping: Mapping[str, str]) -> pa.Table:
    types = dict(COLUMNS)
    if "question" in mapping:
        types["question"] = pa.string()
    if "contexts" in mapping:
        types["contexts"] = pa.list_(pa.string())
    types |= {"reference": pa.list_(pa.string()), "prediction": pa.string()}
    return pa.Table.from_pylist([dict(each) for each in rows], schema=pa.schema(list(types.items())))


def list_classes(paper: Paper) -> Iterator[tuple[str, AnswerClass, int, int]]:
    """Each class with its answers and how many candidates were dropped."""
    yield from ((name, CLASSES[name], count, paper.dropped[name]) for name, count in paper.asked.items())
