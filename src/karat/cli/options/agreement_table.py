"""An agreement as sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from karat.cli.options.screen import Screen, open_screen
from karat.runs.agreement.raters import PEOPLE, name_label
from karat.runs.agreement.report import Agreement, Disagreement, Pair
from karat.runs.compare.scored_rows import show_text
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
_LONG = 200  # characters of a text that are shown


def print_agreement(found: Agreement) -> None:
    """Print the verdict on each score, the coefficients of each pair, those of slices, and the errors."""
    screen = open_screen()
    screen.line(f"{found.n} rows, {100 * found.confidence:g} % intervals", "dim")
    for note in found.notes:
        screen.line(note, "dim")
    for sentence in dict.fromkeys(chain.from_iterable(found.sentences.values())):
        screen.line(sentence)
    whole = [pair for pair in found.pairs if pair.slice is None]
    rows = [cells for pair in whole for cells in _list_figures(pair)]
    screen.table(["first", "second", "coefficient", "value", "interval", "n"], rows, left=3)
    for pair in whole:
        if reasons := dict.fromkeys(each.reason for each in pair.figures.values() if each.reason):
            screen.line(f"{pair.first}, {pair.second}: no estimate: {'; '.join(filter(None, reasons))}", "dim")
    if sliced := [cells for pair in found.pairs if _is_sliced(pair) for cells in _list_slice(pair)]:
        screen.table(["slice", "first", "second", "coefficient", "value", "interval", "n"], sliced, left=4)
    for pair in whole:
        _print_confusion(screen, pair, found.labels)
    for error in found.errors:
        for line in _describe_error(error, found.labels):
            screen.line(line)


def _is_sliced(pair: Pair) -> bool:
    """Whether a pair is about people in one slice; all others are in --json."""
    return pair.slice is not None and PEOPLE in (pair.first, pair.second)


def _list_figures(pair: Pair) -> Iterator[list[str]]:
    names = [pair.first, pair.second]
    for name, each in pair.figures.items():
        if each.value is not None:
            yield [*names, TITLES[name], *_cells(each)]
            names = ["", ""]


def _list_slice(pair: Pair) -> Iterator[list[str]]:
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


def _print_confusion(screen: Screen, pair: Pair, choices: Mapping[str, float]) -> None:
    """The rows of each label of the first rater, by the label of the second."""
    if pair.confusion is None:
        return
    labels = [name_label(choices, value) for value in pair.confusion.values]
    screen.line(f"{pair.first} (down) by {pair.second} (across)")
    rows = zip(labels, pair.confusion.counts.tolist(), strict=True)
    screen.table(["", *labels], [[label, *map(str, counts)] for label, counts in rows], left=1)


def _describe_error(error: Disagreement, choices: Mapping[str, float]) -> Iterator[str]:
    question = "" if error.question in (None, error.id) else f": {show_text(error.question, _LONG)}"
    yield f"\n{error.kind} by {error.score}, {show_text(error.id, _LONG)}{question}"
    if error.prediction is not None:
        yield f"  {show_text(error.prediction, _LONG)}"
    people = "  ".join(f"{name}: {name_label(choices, label)}" for name, label in error.labels.items())
    yield f"  {error.score}: {spell(error.value, '.4g')}  {people}"
