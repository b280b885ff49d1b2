"""A judge that is asked while people label: about which rows, as the prices say, and how."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import NOT_ASKED
from karat.data.roles import map_columns
from karat.runs.labels.narrowing import JudgeBeside
from karat.runs.match.systems import System, open_system
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.pipeline import score
from karat.stats.sequential.two_phase import TwoPhase
from karat.stats.sequential.until import Until

_MOST_SPREAD = 0.25  # the variance of scores from 0 to 1 of which half are 0 and half 1
_ENOUGH = 10  # verdicts that show how much they vary


def read_judge(
    system: System, judge: Metric, until: Until, price_label: float, price_call: float, correlation: float = 0.5
) -> JudgeBeside | None:
    """A judge to ask while people label the rows of a system; None where it has scored all of them.

    `price_label`, `price_call`: of a label and a verdict, in USD. They decide, with how much the verdicts so far vary,
    whether all rows are asked before the first label, or a number of rows for each label: as in `TwoPhase`, for labels
    that vary as the judge's scores do and correlate with them by `correlation`.

    Raises `SpecError` for a metric that is no judge of single rows with a mean as its value, and for one that costs
    more than it can save; what `open_system` raises; `ColumnError` where a column that the judge reads is not found.
    """
    known = judge.definition
    if not known.judge or known.finish is not None or known.low is None or known.high is None:
        raise SpecError(f"{judge.spec}: expected a judge whose value is a mean of scores within bounds")
    run = open_system(system, scored=False)
    roles = {role: name for role, name in run.manifest.mapping.items() if role in known.columns}
    mapping = map_columns(run.schema.names, list(known.columns), roles, where=run.name)
    table, low, size = run.read(list(dict.fromkeys(mapping.values()))), known.low, known.high - known.low
    alike = [each.spec for each in run.manifest.metrics if each.signature == judge.signature]
    verdicts = (run.scores(alike[0]) - low) / size if alike else np.full(len(table), np.nan)
    if not np.isnan(verdicts).any():
        return None

    def ask(rows: Sequence[int]) -> Array:
        result = score(table.take(pa.array(rows)), judge, map=mapping, keep=True, cluster=NONE)
        if any(NOT_ASKED in reason for reason in result.reasons[judge.spec]):
            return np.full(len(rows), np.nan)  # which of them a cap left out may follow from their verdicts
        scores: Array = (open_system(result).scores(judge.spec) - low) / size
        return scores

    ratio = _find_ratio(verdicts, size, until, price_label, price_call, correlation)
    return JudgeBeside(judge.spec, judge.signature, ratio, price_call, verdicts, ask)


def _find_ratio(
    verdicts: Array, size: float, until: Until, price_label: float, price_call: float, correlation: float
) -> int:
    """How many rows are asked for each label; 0 where all of them are better asked at once."""
    rows, left = len(verdicts), int(np.isnan(verdicts).sum())
    spread = float(np.nanvar(verdicts)) if rows - left >= _ENOUGH else _MOST_SPREAD
    variance, share = (spread or _MOST_SPREAD) * size**2, correlation**2
    phases = TwoPhase(price_call, price_label, foretold=share * variance, rest=(1 - share) * variance)
    if phases.ratio < 1:
        problem = f"a verdict for ${price_call:g} beside a label for ${price_label:g} costs more than it saves"
        raise SpecError(f"{problem}: leave --model away")
    ratio = int(min(phases.ratio, rows))
    labels = rows if until.width is None else phases.rows_for(until.width, rows)
    if until.cost is not None:
        labels = min(labels, int(until.cost / (price_label + (ratio + 1) * price_call)))
        if left * price_call + price_label > until.cost:
            return ratio
    return 0 if (ratio + 1) * labels >= rows else ratio
