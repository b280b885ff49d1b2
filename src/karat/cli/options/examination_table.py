"""An examination of judges as sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from karat.cli.options.item_table import ITEMS
from karat.cli.options.screen import Screen, open_screen
from karat.runs.compare.scored_rows import show_text
from karat.runs.judge.examination import Disagreement, Examination, Examined, RaterPair
from karat.runs.judge.people import HumanAgreement
from karat.runs.judge.raters import PEOPLE, name_label
from karat.runs.labels.choices import judge_choices
from karat.runs.table.table import Table
from karat.stats.value import Estimate, format_value, spell

TITLES = {
    "accuracy": "accuracy",
    "cohen_kappa": "Cohen's kappa",
    "cohen_kappa_linear": "kappa, linear weights",
    "cohen_kappa_quadratic": "kappa, quadratic weights",
    "krippendorff_alpha": "Krippendorff's alpha",
    "krippendorff_alpha_ordinal": "alpha, ordinal",
    "krippendorff_alpha_interval": "alpha, interval",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kendall": "Kendall's tau-b",
    "auroc": "AUROC",
}
_SLICED = ("accuracy", "cohen_kappa", "auroc", "spearman")  # the first two with a value stand for a slice
NOTHING = "no bias was found on these rows; the intervals say how large one may be"
_LONG = 200  # characters of a text that are shown


def print_examination(found: Examination, system: str) -> None:
    """Print what was found of each score in words, the coefficients of pairs and slices, further figures, and errors.

    `system` is what the user named, for the commands that get labels by people.
    """
    screen = open_screen()
    screen.line(f"{found.n} rows, {100 * found.confidence:g} % intervals", "dim")
    for note in found.notes:
        screen.line(note, "dim")
    for judge in found.judges:
        asked = "" if judge.replies is None else f": {judge.replies.asked} verdicts on {judge.n} rows"
        if len(found.judges) > 1 or asked:
            screen.line(f"{judge.score}{asked}")
        for sentence in dict.fromkeys(judge.sentences or [NOTHING] * (judge.replies is not None)):
            screen.line(sentence)
    whole = [pair for pair in found.pairs if pair.slice is None]
    if rows := [cells for pair in whole for cells in _list_figures(pair)]:
        screen.table(Table.of_texts(["first", "second", "coefficient", "value", "interval", "n"], rows, names=3))
    for pair in whole:
        if reasons := dict.fromkeys(each.reason for each in pair.figures.values() if each.reason):
            screen.line(f"{pair.first}, {pair.second}: no estimate: {'; '.join(filter(None, reasons))}", "dim")
    if sliced := [cells for pair in found.pairs if _is_sliced(pair) for cells in _list_slice(pair)]:
        headings = ["slice", "first", "second", "coefficient", "value", "interval", "n"]
        screen.table(Table.of_texts(headings, sliced, names=4))
    for pair in whole:
        _print_confusion(screen, pair, found.labels)
    _print_figures(screen, found.judges)
    for error in found.errors:
        for line in _describe_error(error, found.labels):
            screen.line(line)
    if not found.annotators:
        _print_next_step(screen, found.judges, system)


def _print_figures(screen: Screen, judges: Sequence[Examined]) -> None:
    """Print the figures of single scores, beside each other where there are several, and what to give for others."""
    known = [{name: each for name, each in _figures(judge) if each.value is not None} for judge in judges]
    if len(judges) > 1 and any(known):
        letters = [chr(ord("A") + at) for at in range(len(judges))]
        for letter, judge in zip(letters, judges, strict=True):
            screen.line(f"{letter}  {judge.score}")
        rows = (
            [name, *(format_value(each[name].value) if name in each else "–" for each in known)]
            for name in dict.fromkeys(chain.from_iterable(known))
        )
        screen.table(Table.of_texts(["", *letters], rows))
    for judge, figures in zip(judges, known, strict=True):
        if figures:
            rows = ([name, *_cells(each)] for name, each in figures.items())
            screen.table(Table.of_texts([judge.score, "value", "interval", "n"], rows))
        for name, each in _figures(judge):
            if each.value is None:
                screen.line(f"{name}: {each}", "dim")
        if judge.people is not None and judge.people.calibration is not None:
            screen.line("calibration: rows with a score from – to, their mean, people's mean", "dim")
            for part in judge.people.calibration.bins:
                score = format_value(part.score)
                screen.line(f"  {part.low:.2f} – {part.high:.2f}  n {part.n}  {score}  {part.people}")
        if judge.criteria:
            counts = ([each, *map(str, counts.values())] for each, counts in judge.criteria.items())
            screen.table(Table.of_texts(["criterion", "passed", "failed", "differ"], islice(counts, ITEMS)))
            more = f"; {len(judge.criteria) - ITEMS} more criteria: --json" if len(judge.criteria) > ITEMS else ""
            rows_ = "passed, failed: verdicts of the repetitions; differ: rows where these are not alike"
            screen.line(f"{rows_}{more}", "dim")
    for text in dict.fromkeys(chain.from_iterable(judge.missing.values() for judge in judges)):
        screen.line(f"not examined: {text}", "dim")


def _figures(judge: Examined) -> Iterator[tuple[str, Estimate]]:
    """The name of each figure of a score by itself, and the figure."""
    if (people := judge.people) is not None:
        yield from _figures_of_people(people)
    if judge.replies is not None:
        yield "verdicts that cannot be read", judge.replies.unreadable
    if judge.noise is not None:
        yield "another verdict when asked again", judge.noise.flips
        yield "rows with two verdicts", judge.noise.flipping_rows
        yield "share of the variance that is the judge's", judge.noise.share
    if judge.position is not None:
        yield "score gained by the first place", judge.position.first_place
        yield "rows on which the order decides", judge.position.order_matters
    for unit, bias in (judge.length or {}).items():
        yield f"{bias.of} by {unit} of the answer", bias.slope
    if judge.own_answers is not None:
        yield f"{judge.own_answers.of} by self-preference", judge.own_answers.slope
    if judge.rewordings is not None:
        yield "another verdict when reworded", judge.rewordings.flips
        yield "… more often than when asked again", judge.rewordings.beyond_noise
        for name, shift in judge.rewordings.shifts.items():
            yield f"score gained by rewording: {name}", shift


def _figures_of_people(people: HumanAgreement) -> Iterator[tuple[str, Estimate]]:
    for name, each in (
        ("false praise", people.false_praise),
        ("false blame", people.false_blame),
        ("kinder than people by", people.bias),
    ):
        if each is not None:
            yield name, each
    if people.calibration is not None:
        yield "expected calibration error", people.calibration.ece
        yield "Brier score", people.calibration.brier
    for name, part in people.slices.items():
        yield f"{part.figure} in {name} less elsewhere", part.difference


def _print_next_step(screen: Screen, judges: Sequence[Examined], system: str) -> None:
    """Print how to get labels by people."""
    named = next((each.metric for each in judges if each.metric and judge_choices([each.metric])), None)
    labels = f"-m {named.definition.name}" if named else "--label-map bad=0,good=1"
    screen.line("no labels by people yet: draw rows at random, let people label them, and add --human", "dim")
    screen.line(f"  karat label-next {system} -n 100 -o drawn.csv", "dim")
    screen.line(f"  karat label drawn.csv -o labels.jsonl {labels}", "dim")
    screen.line(f"  karat judge {system} --human labels.jsonl --on id …", "dim")


def _is_sliced(pair: RaterPair) -> bool:
    """Whether a pair is about people in one slice; all others are in --json."""
    return pair.slice is not None and PEOPLE in (pair.first, pair.second)


def _list_figures(pair: RaterPair) -> Iterator[list[str]]:
    names = [pair.first, pair.second]
    for name, each in pair.figures.items():
        if each.value is not None:
            yield [*names, TITLES[name], *_cells(each)]
            names = ["", ""]


def _list_slice(pair: RaterPair) -> Iterator[list[str]]:
    names = [pair.slice or "", pair.first, pair.second]
    known = [name for name in _SLICED if name in pair.figures and pair.figures[name].value is not None]
    for name in known[:2]:
        yield [*names, TITLES[name], *_cells(pair.figures[name])]
        names = ["", "", ""]
    if not known:
        reason = next(iter(pair.figures.values())).reason
        yield [*names, f"no estimate: {reason}", "", "", ""]


def _cells(estimate: Estimate) -> list[str]:
    interval = f"{format_value(estimate.low)} – {format_value(estimate.high)}"
    return [format_value(estimate.value), interval, f"{estimate.n}"]


def _print_confusion(screen: Screen, pair: RaterPair, choices: Mapping[str, float]) -> None:
    """The rows of each label of the first rater, by the label of the second."""
    if pair.confusion is None:
        return
    labels = [name_label(choices, value) for value in pair.confusion.labels]
    screen.line(f"{pair.first} (down) by {pair.second} (across)")
    rows = zip(labels, pair.confusion.counts, strict=True)
    screen.table(Table.of_texts(["", *labels], ([label, *map(str, counts)] for label, counts in rows)))


def _describe_error(error: Disagreement, choices: Mapping[str, float]) -> Iterator[str]:
    question = "" if error.question in (None, error.id) else f": {show_text(error.question, _LONG)}"
    yield f"\n{error.kind} by {error.score}, {show_text(error.id, _LONG)}{question}"
    if error.prediction is not None:
        yield f"  {show_text(error.prediction, _LONG)}"
    people = "  ".join(f"{name}: {name_label(choices, label)}" for name, label in error.labels.items())
    yield f"  {error.score}: {spell(error.value, '.4g')}  {people}"
