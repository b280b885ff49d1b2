"""What `karat.examine` returns: pairs of raters, and what was found about each score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.data.json.objects import JsonObject, Printed, to_json
from karat.runs.compare.scored_rows import name_rows, read_texts
from karat.runs.judge.coefficients import MeasurementLevel
from karat.runs.judge.kept_calibration import KeptCalibration, save_calibrations
from karat.runs.judge.people import HumanAgreement
from karat.runs.judge.raters import Rater, Raters
from karat.runs.judge.reliability import Bias, Noise, Position, Replies, Rewordings
from karat.stats.agreement.confusion import Confusion
from karat.stats.value import Estimate, spell

Kind = Literal["false praise", "false blame", "different"]


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


@dataclass(frozen=True)
class Examined:
    """What was found about one score, mostly a judge's, in `n` rows, of which `scored` have a score.

    `people`: the score beside people. `replies`, `noise`, `position`, `rewordings`: of a judge that was asked again.
    `length`: by unit, how the score depends on the answer's length; `own_answers`: on its author being the judge's
    model. `criteria`: for a judge of criteria with points, how many verdicts `passed` and `failed` each, and of how
    many rows its verdicts `differ`; those that fail most often come first. `kept`: what a file of calibrations says of
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
    criteria: Mapping[str, Mapping[str, int]]
    kept: KeptCalibration | None
    missing: Mapping[str, str]
    sentences: tuple[str, ...] = ()
    metric: Metric | None = field(default=None, repr=False)

    printed: ClassVar = Printed(hidden=("metric",))


@dataclass(frozen=True, repr=False)
class Examination(JsonObject):
    """How far raters agree on `n` rows, and what was found about each score.

    `labels` has the score of each label's name; it is empty where labels are numbers. `pairs`: first all rows, then
    slices. `judges`: one for each score. `errors`: the rows that were asked for. `notes`: remarks for the reader.
    `table`: the rows of judges that were asked, with all votes; else None.
    """

    annotators: tuple[str, ...]
    labels: Mapping[str, float]
    n: int
    pairs: tuple[RaterPair, ...]
    judges: tuple[Examined, ...]
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
        for judge in self.judges:
            named = (each if each.startswith(judge.score) else f"{judge.score}: {each}" for each in judge.sentences)
            yield from (f"  {sentence}" for sentence in named)
        for each in self.pairs if not self.annotators else ():
            figure = next((name for name, value in each.figures.items() if value.value is not None), None)
            shown = "no estimate" if figure is None else f"{figure} {spell(each.figures[figure].value, '.3f')}"
            yield f"  {each.first} with {each.second}: {shown}"


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
