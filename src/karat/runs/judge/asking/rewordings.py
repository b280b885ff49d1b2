"""Rewordings of a judge's prompt that keep its meaning, so that a fair judge gives the same verdicts.

Their texts are sent to models: a change to one is a different question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from karat.core.errors import SpecError, did_you_mean
from karat.judges.replies.forms import Label, Statements
from karat.judges.rubric import SYSTEM, Rubric, is_file, load

_ROLE = (
    "Your role is that of an exact and impartial judge: judge the material by the criteria below and by nothing else."
)
_REMINDER = "Apply these criteria as they stand, and apply all of them."


def _role(rubric: Rubric) -> Rubric:
    """Other words for the judge's role; a judge with words of its own keeps them."""
    return replace(rubric, system=_ROLE) if rubric.system == SYSTEM else rubric


def _choices(rubric: Rubric) -> Rubric:
    """The labels, or the verdicts on statements, in the opposite order where the form of the reply lists them."""
    form = rubric.form
    if isinstance(form, Label):
        return replace(rubric, form=replace(form, choices=_turn(form.choices)))
    return (
        replace(rubric, form=replace(form, verdicts=_turn(form.verdicts))) if isinstance(form, Statements) else rubric
    )


def _layout(rubric: Rubric) -> Rubric:
    """The task under a heading, with asterisks for the dashes of its lists."""
    return replace(rubric, task="# Task\n\n" + re.sub(r"(?m)^- ", "* ", rubric.task.strip()))


def _reminder(rubric: Rubric) -> Rubric:
    """One more sentence after the task, which asks for nothing new."""
    return replace(rubric, task=f"{rubric.task.strip()}\n\n{_REMINDER}")


def _turn(choices: Mapping[str, float]) -> dict[str, float]:
    return dict(reversed(list(choices.items())))


REWORDINGS: Mapping[str, Callable[[Rubric], Rubric]] = {
    "role": _role,
    "choices": _choices,
    "layout": _layout,
    "reminder": _reminder,
}

ALL = "all"


def reword(rubric: Rubric, names: Iterable[str]) -> dict[str, Rubric]:
    """The rewordings of a rubric by name: of karat's own (`all` are these), those that change it, and judges' files.

    A file must read the same inputs and give the same scores. Raises `SpecError` for one that does not, and for a name
    that is neither.

    >>> from karat.judges.rubric import load
    >>> list(reword(load("completeness"), ["all"])), list(reword(load("tool_call_correctness"), ["all"]))
    (['role', 'choices', 'layout', 'reminder'], ['role', 'layout', 'reminder'])
    """
    reworded = {}
    named = [each for name in names for each in (REWORDINGS if name == ALL else (name,))]
    for name in dict.fromkeys(named):
        if is_file(name):
            reworded[name] = _same_judge(load(name), rubric, name)
        elif name in REWORDINGS:
            reworded[name] = REWORDINGS[name](rubric)
        else:
            raise SpecError(
                f"there is no rewording {name!r} (a file's name ends in .toml){did_you_mean(name, [ALL, *REWORDINGS])}"
            )
    return {name: other for name, other in reworded.items() if other != rubric or _order(other) != _order(rubric)}


def _same_judge(other: Rubric, rubric: Rubric, name: str) -> Rubric:
    for what, theirs, ours in (
        ("inputs", dict(other.inputs), dict(rubric.inputs)),
        ("scores", (type(other.form), other.form.worth), (type(rubric.form), rubric.form.worth)),
        ("swap", other.swap, rubric.swap),
        ("each", other.each, rubric.each),
    ):
        if theirs != ours:
            raise SpecError(f"{name} is not a rewording of judge {rubric.name!r}: its {what} differ")
    return other


def _order(rubric: Rubric) -> str:
    """The order of the choices, which dicts do not compare."""
    return rubric.form.outline
