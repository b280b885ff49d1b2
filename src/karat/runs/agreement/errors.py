"""The rows that a score and people label differently, with question, prediction and labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.agreement.figures import Scale
from karat.runs.agreement.raters import Raters
from karat.runs.agreement.report import Disagreement
from karat.runs.agreement.verdict import Verdict
from karat.runs.compare.scored_rows import name_rows, read_texts

Kind = Literal["false praise", "false blame", "different"]


def find_errors(
    raters: Raters, verdict: Verdict, calls: Array | None, scale: Scale, most: int
) -> Iterator[Disagreement]:
    """At most `most` rows of false praise and as many of false blame, the greatest first; all kinds alike where labels
    are names of more than two things.
    """
    if calls is None:
        return
    name, label = verdict.score, raters.consensus[0]
    sign = -1 if verdict.direction == "minimize" else 1
    apart = np.nan_to_num(calls - label) * (1 if verdict.turned else sign)
    beyond = np.nan_to_num(raters.scores[name] - label) * sign
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
                name,
                kind,
                id_,
                *texts[row],
                value=float(raters.scores[name][place]),
                call=float(calls[place]),
                label=float(label[place]),
                labels={who: score for who, score in labelled if not np.isnan(score)},
            )
