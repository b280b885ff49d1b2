"""Which answers of a row mean the same, and how each stands to the gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from karat.runs.gold.rows import GoldRow
from karat.runs.judge.exam.answers.gold_types import read_date
from karat.runs.judge.exam.answers.guard import why_right, words_of
from karat.text.numbers import parse_number

NearGold: TypeAlias = Literal["hit", "same", "near", "apart", "none"]
"""How an answer stands to the gold: the metric says that it is the gold (hit), rules say that it means the same or
contains it (same), it shares words, letters or numbers with it (near), nothing (apart), or there is no answer."""
SAME = {
    "it is the same text", "it has the same name", "it has the same initials", "it is the same date",
    "it is the same number", "it is the same list", "it contains a reference",
}  # fmt: skip
"""What `why_right` says of an answer that means the gold."""
_SENTENCE = 5  # words from which on an answer may hold another one whole


@dataclass(frozen=True)
class RowAnswers:
    """What the systems of a row say beside its gold.

    `confirmed`: how many answers are the gold or mean it. `others`: how many do not. `members`: the systems, by number,
    whose answers beside the gold mean the same as most do, `answer` is the shortest of these, and `relation` how it
    stands to the gold. `relations` and `reasons` are of each system's answer.
    """

    confirmed: int
    others: int
    members: tuple[int, ...]
    answer: str
    relation: NearGold
    relations: tuple[NearGold, ...]
    reasons: tuple[str | None, ...]

    @property
    def size(self) -> int:
        """How many answers beside the gold agree."""
        return len(self.members)


Same: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]
"""Whether the two answers of each pair mean the same."""


def find_agreement(row: GoldRow, normalise: Callable[[str], str] = str, same: Same | None = None) -> RowAnswers:
    """Group the answers of a row that mean the same, and find the largest group beside the gold.

    Answers mean the same where they have the same words after `normalise`, are the same number or date, where a longer
    one contains a shorter one whole, or where `same` says so.
    """
    texts = [each.answer for each in row.answers]
    related = [_relate(each.answer, each.hit, row.references) for each in row.answers]
    relations = tuple(relation for relation, _ in related)
    beside = [at for at, relation in enumerate(relations) if relation in {"near", "apart"}]
    members = _find_largest({at: normalise(texts[at] or "") for at in beside}, same)
    near = any(relations[at] == "near" for at in members)
    return RowAnswers(
        confirmed=sum(relation in {"hit", "same"} for relation in relations),
        others=len(beside),
        members=members,
        answer=min((texts[at] or "" for at in members), key=len, default=""),
        relation="near" if near else "apart" if members else "none",
        relations=relations,
        reasons=tuple(reason for _, reason in related),
    )


def is_supported(row: GoldRow) -> bool | None:
    """Whether a passage of the row has its gold in it, word by word; None where there are no passages or no gold."""
    texts, golds = (
        [words for each in texts if (words := words_of(each))] for texts in (row.contexts or (), row.references)
    )
    if not texts or not golds:
        return None
    joined = [f" {' '.join(words)} " for words in texts]
    return any(f" {' '.join(gold)} " in text for text in joined for gold in golds)


def _find_largest(answers: Mapping[int, str], same: Same | None) -> tuple[int, ...]:
    groups = _group(answers.items(), same)
    largest: list[int] = max(groups, key=lambda each: (len(each), -each[0])) if groups else []
    return tuple(largest)


def _relate(answer: str | None, hit: bool | None, references: tuple[str, ...]) -> tuple[NearGold, str | None]:
    if answer is None or not answer.strip() or hit is None:
        return "none", None
    if hit:
        return "hit", None
    reason = _why(answer, references)
    if reason is None or reason == "there is nothing to compare":
        return "apart", None
    return ("same" if reason in SAME else "near"), reason


@lru_cache(1 << 16)
def _why(answer: str, references: tuple[str, ...]) -> str | None:
    return why_right(answer, references)


def _group(answers: Iterable[tuple[int, str]], same: Same | None) -> list[list[int]]:
    """The numbers of the answers that mean the same, in groups."""
    groups = dict[str, list[int]]()
    texts = dict[str, str]()
    for at, text in answers:
        groups.setdefault(key := _key(text), []).append(at)
        texts.setdefault(key, text)
    _join_sentences(groups)
    if same is not None and len(groups) > 1:
        _join_same(groups, texts, same)
    return list(groups.values())


@lru_cache(1 << 16)
def _key(text: str) -> str:
    """What answers that mean the same have in common: their number, their date, or their words."""
    number = parse_number(text)
    if number is not None and not number.unit:
        return f"number {number.value}{'%' if number.percent else ''}"
    if (date := read_date(text)) is not None:
        return f"date {date.year} {date.month} {date.day} {date.decade}"
    return " ".join(words_of(text)) or text.strip()


def _join_sentences(groups: dict[str, list[int]]) -> None:
    """Put each long answer into the largest group whose whole answer it contains."""
    sizes = Counter({key: len(members) for key, members in groups.items()})
    for key in [key for key in groups if key.count(" ") >= _SENTENCE - 1]:
        inside = [other for other in groups if other != key and f" {other} " in f" {key} "]
        if inside:
            largest = max(inside, key=lambda other: (sizes[other], len(other)))
            groups[largest] = sorted(groups[largest] + groups.pop(key))


def _join_same(groups: dict[str, list[int]], texts: dict[str, str], same: Same) -> None:
    """Join groups, the smaller into the larger, whose answers `same` calls the same."""
    keys = sorted(groups, key=lambda key: -len(groups[key]))
    pairs = [(one, other) for at, one in enumerate(keys) for other in keys[at + 1 :]]
    verdicts = same([(texts[other], texts[one]) for one, other in pairs])
    for (one, other), equal in zip(pairs, verdicts, strict=True):
        if equal and one in groups and other in groups:
            groups[one] = sorted(groups[one] + groups.pop(other))
