"""The share of answers that are right, from the share that a judge accepts and its two error rates.

Unlike people's labels of the same answers (`estimate`), the error rates may come from other answers, such as an
exam's. Then they hold for these answers only as far as the judge errs on both alike.

Source: W. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American Journal of
Epidemiology 107 (1978).
"""

from __future__ import annotations

from karat.stats.aggregate import Bounds
from karat.stats.intervals.inversion import last_kept
from karat.stats.intervals.mover import joint_reach
from karat.stats.intervals.wilson import Ends
from karat.stats.value import Estimate


def rogan_gladen(
    share: Estimate, accepts_wrong: Estimate, accepts_right: Estimate, *, correlation: float = 0.0
) -> Estimate:
    """The share of answers that are right, with an interval that carries the uncertainty of all three shares.

    `share` is the share of these answers that the judge accepts, `accepts_wrong` and `accepts_right` are its shares
    among answers known to be wrong and right; each has its own interval, for clusters where there are any, and the
    result's has their confidence. `correlation`: of the two rates, where they come from the same questions. `share` is
    taken to be independent of both; if it goes with them, the interval is too wide.

    The value is (share - accepts_wrong) / (accepts_right - accepts_wrong), from 0 to 1. Its interval holds each true
    share θ with which 0 is in the interval of share - (1 - θ)·accepts_wrong - θ·accepts_right, as in Fieller's theorem;
    that interval follows from the three (MOVER). It is close to the interval of Z. Lang and J. Reiczigel, "Confidence
    limits for prevalence of disease adjusted for estimated sensitivity and specificity", Preventive Veterinary Medicine
    113 (2014), and covers as often; theirs takes no clusters.

    There is no estimate where the judge may accept wrong answers as often as right ones, nor where no share of right
    answers goes with these rates.

    >>> wrong, right = Estimate(0.2, 0.15, 0.26, 200), Estimate(0.9, 0.85, 0.94, 200)
    >>> found = rogan_gladen(Estimate(0.6, 0.55, 0.65, 400), wrong, right)
    >>> print(found)
    0.5714 (0.4830 – 0.6604)
    >>> rogan_gladen(found, Estimate(0.5, 0.4, 0.6, 90), Estimate(0.55, 0.45, 0.65, 90)).reason
    'the judge accepts 0.500 of wrong answers and 0.550 of right ones: it may not tell them apart'
    """
    for each in (share, accepts_wrong, accepts_right):
        if each.value is None or each.low is None or each.high is None:
            return Estimate.missing(each.reason or "an interval of each share is needed", share.n)
    p, wrong, right = (_known(each) for each in (share, accepts_wrong, accepts_right))
    rates = f"the judge accepts {wrong[0]:.3f} of wrong answers and {right[0]:.3f} of right ones"
    if right[0] - wrong[0] <= joint_reach([right[0] - right[1], wrong[2] - wrong[0]], [-correlation]):
        return Estimate.missing(f"{rates}: it may not tell them apart", share.n)

    def excluded(truth: float) -> bool:
        terms = ((1.0, p), (truth - 1, wrong), (-truth, right))
        apart = sum(factor * each[0] for factor, each in terms)
        side = 1 if apart > 0 else 2  # the end towards 0 of a positive term; of a negative one, the other
        reaches = [factor * (each[0] - each[side if factor > 0 else 3 - side]) for factor, each in terms]
        return abs(apart) > joint_reach([abs(each) for each in reaches], [0.0, 0.0, correlation])

    value = min(1.0, max(0.0, (p[0] - wrong[0]) / (right[0] - wrong[0])))
    if excluded(value):
        return Estimate.missing(f"{rates}, but {p[0]:.3f} of these: its error rates on these are others", share.n)
    return Estimate(value, last_kept(value, 0.0, excluded), last_kept(value, 1.0, excluded), share.n)


def implied_range(share: float, accepts_wrong: Bounds, accepts_right: Bounds) -> Ends:
    """The least and the greatest share of right answers that goes with rates in these intervals; 0 to 1 at most.

    `share`: of these answers, as the judge accepts them. It is wider than an interval for independent rates: both may
    be at their ends. From 0 to 1 where the intervals meet, or one is not known.

    >>> [round(end, 3) for end in implied_range(0.6, (0.15, 0.26), (0.85, 0.94))]
    [0.5, 0.643]
    >>> implied_range(0.6, (0.4, 0.6), (0.45, 0.65))
    (0.0, 1.0)
    """
    (low, high), (least, most) = accepts_wrong, accepts_right
    if low is None or high is None or least is None or most is None or high >= least:
        return 0.0, 1.0
    corners = [(share - wrong) / (right - wrong) for wrong in (low, high) for right in (least, most)]
    lowest, highest = (min(1.0, max(0.0, corner)) for corner in (min(corners), max(corners)))
    return lowest, highest


def _known(estimate: Estimate) -> tuple[float, float, float]:
    """Value, low and high."""
    assert estimate.value is not None  # noqa: S101  (for the type checker: checked before)
    assert estimate.low is not None  # noqa: S101
    assert estimate.high is not None  # noqa: S101
    return estimate.value, estimate.low, estimate.high
