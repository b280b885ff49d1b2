"""An examination of judges as sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from karat.cli.options.screen import Screen, open_screen
from karat.runs.compare.scored_rows import show_text
from karat.runs.judge.examination import Disagreement, Examination
from karat.runs.judge.figures import Examined
from karat.runs.judge.raters import name_label
from karat.runs.labels.choices import judge_choices
from karat.stats.value import spell

NOTHING = "no bias was found on these rows; the intervals say how large one may be"
_LONG = 200  # characters of a text that are shown


def print_examination(examination: Examination, system: str) -> None:
    """Print what was found of each score in words, the coefficients of pairs and slices, further figures, and errors.

    `system` is what the user named, for the commands that get labels by people.
    """
    screen = open_screen()
    screen.line(f"{examination.n} rows, {100 * examination.confidence:g} % intervals", "dim")
    for note in examination.notes:
        screen.line(note, "dim")
    for judge in examination.judges:
        verdicts = "" if judge.replies is None else f": {judge.replies.asked} verdicts on {judge.n} rows"
        if len(examination.judges) > 1 or verdicts:
            screen.line(f"{judge.score}{verdicts}")
        for sentence in dict.fromkeys(judge.sentences or [NOTHING] * (judge.replies is not None)):
            screen.line(sentence)
    for sentence in () if examination.panel is None else examination.panel.sentences:
        screen.line(sentence)
    _print_tables(screen, examination)
    for text in dict.fromkeys(chain.from_iterable(judge.missing.values() for judge in examination.judges)):
        screen.line(f"not examined: {text}", "dim")
    for error in examination.errors:
        for line in _describe_error(error, examination.labels):
            screen.line(line)
    if not examination.annotators:
        _print_next_step(screen, examination.judges, system)


def _print_tables(screen: Screen, examination: Examination) -> None:
    for table in examination.tables():
        if table.caption:
            screen.line(table.caption, "dim")
        if table.rows:
            screen.table(table)
        for note in table.notes:
            screen.line(note, "dim")


def _print_next_step(screen: Screen, judges: Sequence[Examined], system: str) -> None:
    """Print how to get labels by people."""
    named = next((each.metric for each in judges if each.metric and judge_choices([each.metric])), None)
    labels = f"-m {named.definition.name}" if named else "--label-map bad=0,good=1"
    screen.line("no labels by people yet: draw rows at random, let people label them, and add --human", "dim")
    screen.line(f"  karat label {system} --next 100 -o drawn.csv", "dim")
    screen.line(f"  karat label drawn.csv -o labels.jsonl {labels}", "dim")
    screen.line(f"  karat judge {system} --human labels.jsonl --on id …", "dim")


def _describe_error(error: Disagreement, choices: Mapping[str, float]) -> Iterator[str]:
    question = "" if error.question in (None, error.id) else f": {show_text(error.question, _LONG)}"
    yield f"\n{error.kind} by {error.score}, {show_text(error.id, _LONG)}{question}"
    if error.prediction is not None:
        yield f"  {show_text(error.prediction, _LONG)}"
    people = "  ".join(f"{name}: {name_label(choices, label)}" for name, label in error.labels.items())
    yield f"  {error.score}: {spell(error.value, '.4g')}  {people}"
