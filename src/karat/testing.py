"""Assertions about systems, for tests in CI; a failure shows the interval and the worst rows.

>>> import karat
>>> from karat.testing import assert_at_least, assert_better
>>> rows = {"id": range(20), "gold": ["yes"] * 20}
>>> before = karat.score({**rows, "prediction": ["no"] * 15 + ["yes"] * 5}, "em")
>>> after = karat.score({**rows, "prediction": ["no"] * 2 + ["yes"] * 18}, "em")
>>> assert_at_least(0.8, after, "em")
>>> assert_better(after, than=before)
>>> assert_at_least(0.95, after, "em")
Traceback (most recent call last):
    ...
AssertionError: em is 0.9000 [0.6990, 0.9721] on 20 rows; at least 0.95 is expected
the worst rows:
  0.0000  0 → no
  0.0000  1 → no
  ...
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.runs.match.systems import System

WORST = 5  # rows shown by a failure
_LONG = 120  # characters shown of a text


def assert_at_least(bound: float, system: System, metric: str | Metric, *, surely: bool = False) -> None:
    """Fail unless a metric's value is at least `bound`; for metrics that are better when lower, at most `bound`.

    `system` is a `Result`, a run or a scored file. With `surely` the whole interval has to satisfy the bound. A metric
    without a value fails. Raises `SpecError` for a metric that was not scored.
    """
    __tracebackhide__ = True
    from karat.runs.compare.run_values import value_of  # noqa: PLC0415
    from karat.runs.compare.scored_rows import find_rows  # noqa: PLC0415  (heavy)
    from karat.runs.match.systems import open_system  # noqa: PLC0415
    from karat.stats.value import format_value  # noqa: PLC0415

    run = open_system(system, "the result", metric)
    scored = run.manifest.metric(metric if isinstance(metric, str) else metric.spec)
    value, more = value_of(run, scored.spec), scored.direction == "maximize"
    reached = value.value if not surely else value.low if more else value.high
    if reached is not None and (reached >= bound if more else reached <= bound):
        return
    shown = (
        f"{format_value(value.value)} [{format_value(value.low)}, {format_value(value.high)}] on {value.scored} rows"
    )
    missing = f", {value.unscored} have no score" if value.unscored else ""
    expected = f"{'surely ' if surely else ''}at {'least' if more else 'most'} {bound:g} is expected"
    rows = find_rows(run, scored.spec, "worst", WORST)
    worst = [f"  {row.scores[scored.spec]:.4f}  {_row(row.id, row.question, row.prediction)}" for row in rows]
    lines = [f"{scored.spec} is {shown}{missing}; {expected}", *(["the worst rows:", *worst] if worst else [])]
    raise AssertionError("\n".join(lines))


def assert_better(
    system: System, *, than: System, metrics: str | Metric | Iterable[str | Metric] = (), **how: Any
) -> None:
    """Fail unless a system is significantly better than another one in each of the metrics.

    `metrics`: by default all that both were scored with; p is corrected for their number (Holm). `how`: further
    arguments of `karat.compare`, such as `by`, `cluster`, `on`, `confidence`.
    """
    __tracebackhide__ = True
    from karat.runs.compare.compare import compare  # noqa: PLC0415  (heavy)

    compared = compare(than, system, metrics=metrics, **{"flipped": WORST, **how})
    failed = {each.metric: each.comparison.direction for each in compared.findings if each.verdict != "better"}
    if not failed:
        return
    lines = [f"{each.heading}: {each.sentence}" for each in compared.findings if each.verdict != "better"]
    lost = [
        f"  {flip.scores[0]:.4f} → {flip.scores[1]:.4f}  {_row(flip.id, flip.question, flip.predictions[1])}"
        for flip in compared.flipped
        if flip.metric in failed and (flip.scores[1] < flip.scores[0]) == (failed[flip.metric] == "maximize")
    ]
    raise AssertionError("\n".join([*lines, *(["the rows that lose most:", *lost] if lost else [])]))


def assert_no_worse(
    system: System, *, than: System, margin: float, metrics: str | Metric | Iterable[str | Metric] = (), **how: Any
) -> None:
    """Fail unless it is shown, in each metric, that a system is no worse than another one by the `margin` or more.

    `margin` is in the unit of the metrics: 0.02 is 2 points. Few rows show nothing, and fail. `metrics` and `how` are
    as in `assert_better`.
    """
    __tracebackhide__ = True
    from karat.runs.compare.compare import compare  # noqa: PLC0415  (heavy)

    failed = compare(than, system, metrics=metrics, margin=margin, **how).not_shown
    if failed:
        raise AssertionError("\n".join(f"{each.heading}: {each.decisive_sentence}" for each in failed))


def _row(key: str, question: str | None, prediction: str | None) -> str:
    from karat.runs.compare.scored_rows import show_text  # noqa: PLC0415  (heavy)

    shown = f": {show_text(question, _LONG)}" if question is not None and question != key else ""
    return f"{show_text(key, _LONG)}{shown} → {show_text(prediction, _LONG)}"
