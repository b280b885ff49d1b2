"""What `karat.examine` returns: pairs of raters, and what was found about each score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.data.json.objects import JsonObject, Printed, to_json
from karat.runs.compare.scored_rows import name_rows, read_texts
from karat.runs.judge.figures import Examined, RaterPair, list_figure_rows, list_tables
from karat.runs.judge.kept_calibration import save_calibrations
from karat.runs.judge.people import HumanAgreement
from karat.runs.judge.raters import Rater, Raters
from karat.runs.judge.reliability.panel import JudgePanel
from karat.runs.table.document import Document
from karat.runs.table.markdown import escape_markdown, markdown_table
from karat.runs.table.notebook import show_tables
from karat.runs.table.table import Table
from karat.stats.agreement.overview import MeasurementLevel
from karat.stats.value import spell

Kind = Literal["false praise", "false blame", "different"]


@dataclass(frozen=True)
class Disagreement:
    """A row that a score and people label differently.

    `kind`: the score is above the label (false praise), below it (false blame), or only another (different). `call` is
    the score's label, `labels` the label of each annotator who gave one.
    """

    score: str
    kind: Kind
    id: str
    question: str | None
    prediction: str | None
    value: float
    call: float
    label: float
    labels: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class Examination(JsonObject):
    """How far raters agree on `n` rows, and what was found about each score.

    `labels` has the score of each label's name; it is empty where labels are numbers. `pairs`: first all rows, then
    slices. `judges`: one for each score. `panel`: several judges together; None where there is one. `errors`: the rows
    that were asked for. `notes`: remarks for the reader. `table`: the rows of judges that were asked, with all votes;
    else None.
    """

    annotators: tuple[str, ...]
    labels: Mapping[str, float]
    n: int
    pairs: tuple[RaterPair, ...]
    judges: tuple[Examined, ...]
    panel: JudgePanel | None
    errors: tuple[Disagreement, ...]
    notes: tuple[str, ...]
    confidence: float
    table: pa.Table | None = None

    printed: ClassVar = Printed(hidden=("table",))

    def judge(self, score: str) -> Examined:
        """What was found about the score of this name; `KeyError` where there is none."""
        for each in self.judges:
            if each.score == score:
                return each
        raise KeyError(f"no score {score}; there are: {', '.join(each.score for each in self.judges)}")

    def pair(self, first: str, second: str = "people", slice: str | None = None) -> RaterPair:  # noqa: A002
        """The pair of these two raters; `KeyError` where there is none."""
        for each in self.pairs:
            if (each.first, each.second, each.slice) == (first, second, slice):
                return each
        pairs = ", ".join(dict.fromkeys(f"{each.first} with {each.second}" for each in self.pairs))
        raise KeyError(f"no pair {first} with {second} in slice {slice}; there are: {pairs}")

    def tables(self) -> list[Table]:
        """The figures as tables: coefficients, slices, confusions, all scores side by side, each score by itself."""
        return list(list_tables(self.pairs, self.judges, self.panel, self.labels, self.confidence))

    def save(self, path: str | Path, *, plus_minus: bool = False, label: str = "") -> None:
        """Write the examination to a file; its ending selects the format.

        `.md`: the sentences and all tables. `.tex`: the first table, mostly of the coefficients, with the rules of
        `booktabs`; with `plus_minus` half the width of intervals, with a `label` as a float. `.html`: what a notebook
        shows, as a page. `.json`: `as_dict`. `.csv`, `.parquet` and the other endings of rows: a row for each figure.

        Raises `DataError` for another ending and for a file that cannot be written, `SpecError` for a label that cannot
        be one.
        """
        first = replace((self.tables() or [Table((), ())])[0], caption=self._title, label=label)
        rows = list(list_figure_rows(self.pairs, self.judges, self.panel))
        document = Document(first, self._repr_html_(), self.as_dict(), rows, tuple(self._markdown()))
        document.save(path, plus_minus=plus_minus)

    @property
    def _title(self) -> str:
        return f"{', '.join(each.score for each in self.judges) or 'People'} on {self.n} rows"

    def _repr_html_(self) -> str:
        tables = self.tables()
        notes = [*self._sentences(), *self.notes, *(note for table in tables for note in table.notes)]
        return show_tables(self._title, tables, notes)

    def _markdown(self) -> Iterator[str]:
        yield from (f"### {escape_markdown(self._title)}", "")
        yield from (f"- {escape_markdown(each)}" for each in (*self._sentences(), *self.notes))
        for table in self.tables():
            yield from ("", *([escape_markdown(table.caption), ""] if table.caption else []))
            yield from (*(markdown_table(table) if table.rows else ()), "", *map(escape_markdown, table.notes))

    def save_calibration(self, path: str | Path) -> None:
        """Write how the judges compare with people to a JSON file, for `examine(calibration=…)`.

        It holds for these judges alone: with another prompt, model or setting, the labels no longer vouch for them.
        Raises `SpecError` where there are no labels, or no judge.
        """
        pairs = [(each.metric, to_json(each.people)) for each in self.judges if each.metric and each.people]
        if not pairs:
            raise SpecError("a calibration compares a judge with people: human (--human) names their labels")
        save_calibrations(path, pairs)

    def __repr__(self) -> str:
        return "\n".join([f"<karat.Examination of {self.n} rows", *self._lines()]) + ">"

    def _lines(self) -> Iterator[str]:
        yield from (f"  {sentence}" for sentence in self._sentences())
        for each in self.pairs if not self.annotators else ():
            figure = next((name for name, value in each.figures.items() if value.value is not None), None)
            shown = "no estimate" if figure is None else f"{figure} {spell(each.figures[figure].value, '.3f')}"
            yield f"  {each.first} with {each.second}: {shown}"

    def _sentences(self) -> Iterator[str]:
        for judge in self.judges:
            yield from (each if each.startswith(judge.score) else f"{judge.score}: {each}" for each in judge.sentences)
        yield from () if self.panel is None else self.panel.sentences


def list_errors(
    raters: Raters, rater: Rater, people: HumanAgreement, calls: Array | None, scale: MeasurementLevel, most: int
) -> Iterator[Disagreement]:
    """At most `most` rows of false praise and as many of false blame, the greatest first; all kinds alike where labels
    are names of more than two things.
    """
    if calls is None:
        return
    label = raters.consensus[0]
    sign = -1 if people.direction == "minimize" else 1
    apart = np.nan_to_num(calls - label) * (1 if people.turned else sign)
    beyond = np.nan_to_num(rater.scores - label) * sign
    kinds: dict[Kind, Array] = {"false praise": apart, "false blame": -apart}
    if scale == "nominal" and len(np.unique(label[~np.isnan(label)])) > 2:
        kinds = {"different": (apart != 0) * 1.0}
    run = raters.run
    for kind, size in kinds.items():
        # of equally wrong rows, first those whose score is farthest from the label
        far = {"false praise": beyond, "false blame": -beyond, "different": np.abs(beyond)}[kind]
        places = [place for place in np.lexsort((-far, -size))[:most].tolist() if size[place] > 0]
        rows = raters.rows[places].tolist()
        texts = read_texts(run, set(rows))
        for place, row, id_ in zip(places, rows, name_rows(run, rows), strict=True):
            labelled = zip(raters.annotators, raters.people[place].tolist(), strict=True)
            yield Disagreement(
                rater.name,
                kind,
                id_,
                *texts[row],
                value=float(rater.scores[place]),
                call=float(calls[place]),
                label=float(label[place]),
                labels={who: score for who, score in labelled if not np.isnan(score)},
            )
