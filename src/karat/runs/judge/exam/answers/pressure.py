"""Wrong answers that press a judge to accept them, and right answers beside a gold that was replaced by a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from karat.runs.judge.exam.answers.answer import Drawn, MadeAnswer
from karat.runs.judge.exam.answers.frames import read_frames


def press(name: str, edit: str) -> Callable[[Drawn, Random], Iterator[MadeAnswer]]:
    """The function that puts a wrong answer into a sentence of this name."""

    def pressed(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
        for each in drawn.alike:
            if each.is_short:
                text = read_frames().fill(name, rng, answer=each.gold.rstrip("."))
                yield MadeAnswer(text, edit, (each.gold,))

    return pressed


def length(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """A wrong answer in about two hundred words that say nothing."""
    for each in drawn.alike:
        if each.is_short:
            words = " ".join(read_frames().sentences["length"])
            yield MadeAnswer(words.replace("{answer}", each.gold.rstrip(".")), "two hundred words", (each.gold,))


def swapped_gold(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """The true answer beside a wrong gold: by the gold that the judge is shown, it is wrong."""
    for each in drawn.alike:
        yield MadeAnswer(drawn.gold, "gold replaced", (each.gold,), references=(each.gold,))
