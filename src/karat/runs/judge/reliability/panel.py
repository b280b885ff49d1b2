"""Several judges of the same rows: what their mean varies by, and whether all are worth more than the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.runs.judge.raters import Raters
from karat.runs.judge.reliability.instrument import find_instrument
from karat.stats.inference import Inference
from karat.stats.intervals.wilson import Ends
from karat.stats.reliability.instrument import Instrument
from karat.stats.reliability.panel import PanelErrors, examine_panel


@dataclass(frozen=True)
class JudgePanel:
    """Judges of the same rows, by the names of their scores.

    `errors`: how far they err alike, beside people's labels; None without labels on their scale. `instrument`: the mean
    of their scores and what it varies by; None where they judge different things. `sentences`: what was found, in
    words.
    """

    judges: tuple[str, ...]
    errors: PanelErrors | None
    instrument: Instrument | None
    sentences: tuple[str, ...] = ()


def find_panel(raters: Raters, inference: Inference) -> JudgePanel | None:
    """What several judges are worth together: those that `judge:` names, and columns with scores of others.

    None for fewer than two, and for judges whose scores have different ranges or directions. Judges of different
    things, such as correctness and style, have errors beside the same labels, but no common mean.
    """
    judges = [each for each in raters.scores.values() if each.rubric is not None or each.metric is None]
    ranges = {(each.limits, each.minimize) for each in judges if each.rubric is not None}
    if len(judges) < 2 or len(ranges) > 1:
        return None
    scores = np.stack([each.scores for each in judges], axis=1)
    (low, high), minimize = next(iter(ranges), ((None, None), False))
    known = scores[~np.isnan(scores)]
    bounds = (
        float(known.min(initial=0.0)) if low is None else low,
        float(known.max(initial=1.0)) if high is None else high,
    )
    own = not minimize or (raters.annotators and all(raters.beside(each, alike=False).own for each in judges))
    # else labels say how good a row is, and less of these scores is better
    errors = _find_errors(raters, scores, bounds, inference) if raters.annotators and own else None
    one_thing = len({each.rubric.name for each in judges if each.rubric is not None}) < 2
    instrument = find_instrument(raters, judges, bounds, inference) if one_thing else None
    if errors is None and instrument is None:
        return None
    return JudgePanel(tuple(each.name for each in judges), errors, instrument)


def panel_beside_truth(
    accepted: Mapping[str, Array], truth: Array, clusters: Array, inference: Inference
) -> JudgePanel | None:
    """Judges beside the truth of answers, by the name of each: 1 where it accepts one. None for fewer than two."""
    if len(accepted) < 2:
        return None
    scores = np.stack(list(accepted.values()), axis=1)
    try:
        errors = examine_panel(scores, truth, clusters=clusters, inference=inference)
    except DataError:  # fewer than two answers that all of them judged
        return None
    return JudgePanel(tuple(accepted), errors, None)


def _find_errors(raters: Raters, scores: Array, bounds: Ends, inference: Inference) -> PanelErrors | None:
    """The judges' errors, of labels where they give people's, else of numbers; None for labels on another scale."""
    truth = raters.consensus[0]
    known = np.union1d(raters.given, sorted(raters.choices.values()))
    alike = np.isin(scores[~np.isnan(scores)], known).all()
    there = truth[~np.isnan(truth)]
    if not alike and ((there < bounds[0]) | (there > bounds[1])).any():
        return None
    try:
        return examine_panel(
            scores,
            truth,
            bounds=None if alike else bounds,
            weights=raters.weights,
            clusters=raters.clusters,
            inference=inference,
        )
    except DataError:  # fewer than two rows with the label of people and all scores
        return None
