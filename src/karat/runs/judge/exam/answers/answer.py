"""A question of the exam with all that answers are made from, and one answer made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from karat.runs.judge.exam.answers.gold_types import GoldType, find_type

_LONGEST = 25


@dataclass(frozen=True)
class Question:
    """A question with its gold: `references` are all that are acceptable, the first is the gold.

    `text` is None where the rows have no questions, `contexts` where they have no passages.
    """

    text: str | None
    references: tuple[str, ...]
    contexts: tuple[str, ...] | None = None

    @property
    def gold(self) -> str:
        """The first reference."""
        return self.references[0]

    @cached_property
    def type(self) -> GoldType:
        """The type of the gold."""
        return find_type(self.gold, self.text)

    @property
    def is_short(self) -> bool:
        """Whether the gold fits into a sentence: it has at most 25 words."""
        return len(self.gold.split()) <= _LONGEST

    @property
    def key(self) -> str:
        """What tells the question apart: its text, or else its gold."""
        return self.gold if self.text is None else self.text


@dataclass(frozen=True)
class Drawn:
    """A question of the exam, and questions of the same table from which wrong answers come.

    `alike` have gold of the same type, `others` any gold, each in an order that the question and the seed decide.
    """

    question: Question
    alike: Sequence[Question]
    others: Sequence[Question]

    @property
    def gold(self) -> str:
        """The gold of the question."""
        return self.question.gold

    def asks(self, *words: str) -> bool:
        """Whether the question has one of these words.

        >>> Drawn(Question("Which is NOT a metal?", ("wood",)), (), ()).asks("not", "never")
        True
        """
        question = (self.question.text or "").lower().replace("?", " ").replace(",", " ").split()
        return any(word in question for word in words)


@dataclass(frozen=True)
class MadeAnswer:
    """An answer of known truth: its text, how it was made, and, if wrong, what it says that the gold does not.

    `claims` may not be right, or the answer is dropped; `edited`: they were made from the gold. `references` are those
    that the judge is shown in place of the question's.
    """

    text: str
    edit: str
    claims: tuple[str, ...] = ()
    edited: bool = False
    references: tuple[str, ...] | None = None


def number_of(*parts: object) -> int:
    """A number of 64 bits that these parts alone decide.

    >>> number_of("a", 0) == number_of("a", 0), number_of("a", 0) == number_of("a", 1)
    (True, False)
    """
    return int.from_bytes(blake2b("\x1f".join(map(str, parts)).encode("utf-8", "replace"), digest_size=8).digest())
