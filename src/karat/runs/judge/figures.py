"""What was found about pairs of raters and about each score, and these as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar

from karat.core.metric.metric import Metric
from karat.data.json.objects import Printed
from karat.runs.judge.kept_calibration import KeptCalibration
from karat.runs.judge.people import HumanAgreement
from karat.runs.judge.raters import PEOPLE, name_label
from karat.runs.judge.reliability.panel import JudgePanel
from karat.runs.judge.reliability.single import Bias, Noise, Position, Replies, Rewordings
from karat.runs.judge.reliability.tables import PANEL, component_table, list_means, list_panel
from karat.runs.table.table import Cell, Column, Row, Table, spell_estimate
from karat.stats.agreement.confusion import Confusion
from karat.stats.reliability.instrument import Instrument
from karat.stats.value import Estimate, format_value

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
_CRITERIA = 12  # those that fail most often


@dataclass(frozen=True)
class RaterPair:
    """Two raters, over all rows or one slice; `first` and `second` are both `people` for people among themselves.

    `figures` has each coefficient by name. `confusion` counts the labels of both (first: rows, second: columns); None
    where they do not label into the same categories.
    """

    first: str
    second: str
    slice: str | None
    figures: Mapping[str, Estimate]
    confusion: Confusion | None


@dataclass(frozen=True)
class Examined:
    """What was found about one score, mostly a judge's, in `n` rows, of which `scored` have a score.

    `people`: the score beside people. `replies`, `noise`, `position`, `rewordings`: of a judge that was asked again.
    `length`: by unit, how the score depends on the answer's length; `own_answers`: on its author being the judge's
    model. `criteria`: for a judge of criteria with points, how many verdicts `passed` and `failed` each, and of how
    many rows its verdicts `differ`; those that fail most often come first. `instrument`: the mean of all its verdicts
    and what it varies by. `kept`: what a file of calibrations says of
    the judge. A part that is None is in `missing`, with what to give for it. `sentences`: what was found, in words.
    """

    score: str
    signature: str | None
    n: int
    scored: int
    people: HumanAgreement | None
    replies: Replies | None
    noise: Noise | None
    position: Position | None
    length: Mapping[str, Bias] | None
    own_answers: Bias | None
    rewordings: Rewordings | None
    instrument: Instrument | None
    criteria: Mapping[str, Mapping[str, int]]
    kept: KeptCalibration | None
    missing: Mapping[str, str]
    sentences: tuple[str, ...] = ()
    metric: Metric | None = field(default=None, repr=False)

    printed: ClassVar = Printed(hidden=("metric",))


def list_tables(
    pairs: Sequence[RaterPair],
    judges: Sequence[Examined],
    panel: JudgePanel | None,
    labels: Mapping[str, float],
    confidence: float,
) -> Iterator[Table]:
    """The tables that are not empty: coefficients, slices, confusions, scores side by side, each by itself, panels."""
    interval = f"{100 * confidence:g} % interval"
    whole = [pair for pair in pairs if pair.slice is None]
    sliced = [pair for pair in pairs if pair.slice is not None and PEOPLE in (pair.first, pair.second)]
    tables = [
        coefficient_table(whole, interval),
        _tabulate(("slice", "first", "second", "coefficient"), interval, chain.from_iterable(map(_list_slice, sliced))),
        *(_confusion_table(pair, labels) for pair in whole),
        _overview(judges),
        *(table for judge in judges for table in _judge_tables(judge, interval)),
        *(() if panel is None else _panel_tables(panel, interval)),
    ]
    yield from (table for table in tables if table.rows or table.notes)


def coefficient_table(pairs: Sequence[RaterPair], interval: str) -> Table:
    """The coefficients of each pair of raters; the notes say why there are none."""
    rows = (
        ((pair.first, pair.second, TITLES[name]), each)
        for pair in pairs
        for name, each in pair.figures.items()
        if each.value is not None
    )
    reasons = (dict.fromkeys(each.reason for each in pair.figures.values() if each.reason) for pair in pairs)
    notes = [
        f"{pair.first}, {pair.second}: no estimate: {'; '.join(filter(None, why))}"
        for pair, why in zip(pairs, reasons, strict=True)
        if why
    ]
    return _tabulate(("first", "second", "coefficient"), interval, rows, notes=notes)


def list_figure_rows(
    pairs: Sequence[RaterPair], judges: Sequence[Examined], panel: JudgePanel | None
) -> Iterator[dict[str, Any]]:
    """A row for each figure, with its names, for files of rows."""
    for pair in pairs:
        for name, each in pair.figures.items():
            yield {"first": pair.first, "second": pair.second, "slice": pair.slice, "figure": name} | each.as_dict()
    for judge in judges:
        for name, each in list_figures(judge):
            yield {"first": judge.score, "second": None, "slice": None, "figure": name} | each.as_dict()
    for name, each in list_panel(panel) if panel is not None else ():
        yield {"first": PANEL, "second": None, "slice": None, "figure": name} | each.as_dict()


def _tabulate(
    names: Sequence[str], interval: str, rows: Iterator[tuple[Sequence[str], Estimate]], *, notes: Sequence[str] = ()
) -> Table:
    """Estimates under names; a name is blank where the row above has it and all names before it."""
    built, above = list[Row](), [""] * len(names)
    for own, each in rows:
        blank = True
        shown = ["" if (blank := blank and name == last) else name for name, last in zip(own[:-1], above, strict=False)]
        value = spell_estimate(each.value, each.low, each.high) if each.value is not None else Cell(str(each))
        cells: tuple[Cell | str, ...] = (*shown, own[-1], value, f"{each.n}" if each.value is not None else "")
        built.append(Row(cells, value=each.value, low=each.low, high=each.high))
        above = list(own)
    columns = (*(Column(name, name=True) for name in names), Column("value", interval), Column("n"))
    return Table(columns, tuple(built), notes=tuple(notes))


def _list_slice(pair: RaterPair) -> Iterator[tuple[Sequence[str], Estimate]]:
    names = pair.slice or "", pair.first, pair.second
    known = [name for name in _SLICED if name in pair.figures and pair.figures[name].value is not None]
    yield from (((*names, TITLES[name]), pair.figures[name]) for name in known[:2])
    if not known:
        yield (*names, ""), next(iter(pair.figures.values()))


def _confusion_table(pair: RaterPair, choices: Mapping[str, float]) -> Table:
    """The rows of each label of the first rater, by the label of the second."""
    if pair.confusion is None:
        return Table((), ())
    labels = [name_label(choices, value) for value in pair.confusion.labels]
    rows = ([label, *map(str, counts)] for label, counts in zip(labels, pair.confusion.counts, strict=True))
    caption = f"{pair.first} (down) by {pair.second} (across)"
    return replace(Table.of_texts([pair.first, *labels], rows), caption=caption)


def _overview(judges: Sequence[Examined]) -> Table:
    """The figures of several scores beside each other; a note names each."""
    known = [{name: each for name, each in list_figures(judge) if each.value is not None} for judge in judges]
    if len(judges) < 2 or not any(known):
        return Table((), ())
    letters = [chr(ord("A") + at) for at in range(len(judges))]
    rows = (
        [name, *(format_value(each[name].value) if name in each else "–" for each in known)]
        for name in dict.fromkeys(chain.from_iterable(known))
    )
    notes = (f"{letter}: {judge.score}" for letter, judge in zip(letters, judges, strict=True))
    return replace(Table.of_texts(["figure", *letters], rows), notes=tuple(notes))


def _judge_tables(judge: Examined, interval: str) -> Iterator[Table]:
    figures = list(list_figures(judge))
    notes = [f"{name}: {each}" for name, each in figures if each.value is None]
    known = (((name,), each) for name, each in figures if each.value is not None)
    yield _tabulate((judge.score,), interval, known, notes=notes)
    if judge.people is not None and judge.people.calibration is not None:
        bins = judge.people.calibration.bins
        rows = (
            (f"{each.low:.2f} to {each.high:.2f}", f"{each.n}", format_value(each.score),
             spell_estimate(each.people.value, each.people.low, each.people.high))
            for each in bins
        )  # fmt: skip
        columns = Column("score", name=True), Column("n"), Column("mean score"), Column("people's mean", interval)
        yield Table(columns, tuple(map(Row, rows)), f"Calibration of {judge.score}")
    if judge.instrument is not None:
        yield component_table(judge.score, judge.instrument)
    if judge.criteria:
        more = len(judge.criteria) - _CRITERIA
        note = "passed, failed: verdicts of the repetitions; differ: rows where these are not alike"
        note += f"; {more} more criteria are in JSON" if more > 0 else ""
        counts = [[each, *map(str, counts.values())] for each, counts in judge.criteria.items()]
        shown = Table.of_texts(["criterion", "passed", "failed", "differ"], counts[:_CRITERIA])
        yield replace(shown, notes=(note,))


def _panel_tables(panel: JudgePanel, interval: str) -> Iterator[Table]:
    figures = list(list_panel(panel))
    notes = [f"{name}: {each}" for name, each in figures if each.value is None]
    yield _tabulate(
        (PANEL,), interval, (((name,), each) for name, each in figures if each.value is not None), notes=notes
    )
    if panel.instrument is not None:
        yield component_table("all judges", panel.instrument)


def list_figures(judge: Examined) -> Iterator[tuple[str, Estimate]]:
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
    if judge.instrument is not None:
        yield from list_means(judge.instrument)


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
