"""A task that was not filled in is refused before any row is read."""

from pathlib import Path

import pytest

import karat

QUESTIONS = [{"question": "1 + 1?", "gold": "2"}]


def nothing(question):
    """A template."""


def empty(question):
    return ""


async def later(question):
    return None


def template(row):
    question = row["question"]
    raise NotImplementedError(question)


@pytest.mark.parametrize("task", [nothing, empty, later, template])
def test_a_template_is_refused_and_nothing_is_kept(task, kept: Path):
    with pytest.raises(karat.errors.SpecError, match="not filled in and answers nothing; call your system in it"):
        karat.experiment(QUESTIONS, task, "exact_match", run="r")
    assert not list(kept.glob("**/manifest.json"))


def test_tasks_that_do_something_are_called():
    answers = []

    def constant(question):
        return "2"

    def recorded(question):
        answers.append(question)
        return ""

    assert karat.experiment(QUESTIONS, constant, "exact_match").values["exact_match"].value == 1
    assert karat.experiment(QUESTIONS, recorded, "exact_match").values["exact_match"].value == 0
    assert answers == ["1 + 1?"]
