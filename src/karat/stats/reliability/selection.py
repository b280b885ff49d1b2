"""Which of ranked rows to report, so that few of the reports are false, from labels of some rows drawn at random."""

from __future__ import annotations

from collections.abc import Sequence


def adjust_by_labels(labels: Sequence[bool | None]) -> list[float | None]:
    """The least share of false reports, on average, at which each row is reported; None where it never is.

    `labels`: of each row, the most suspicious first, whether people find that the suspicion is true; None where nobody
    looked. Of the rows before the last labelled one, those that people looked at must be drawn at random; the ranking
    must not depend on the labels. Then, however good the ranking is, at most a share q of all rows with a value up to q
    is false, on average over the draws. A row that people confirm has 0; one that they clear, and every row after the
    last labelled one, has None.

    With a of n labelled rows cleared up to a place, about (1 + a) / (n + 1) of the m others are false and stand there;
    they are divided by all rows up to there that are not cleared.

    Source: Y. Jin and E. J. Candès, "Selection by prediction with conformal p-values", JMLR 24 (2023), which is the
    procedure of Benjamini and Hochberg on (1 + a) / (n + 1). Here rows that people confirm count as reported too.

    >>> adjust_by_labels([None, True, None, True, None, False, None, True])
    [0.2, 0.0, 0.2, 0.0, 0.2, None, 0.3333333333333333, 0.0]
    """
    last = max((at for at, label in enumerate(labels) if label is not None), default=0)
    inside = labels[:last]
    labelled = sum(label is not None for label in inside)
    others, cleared, shares = last - labelled, 0, list[float]()
    for at, label in enumerate(inside, 1):
        cleared += label is False
        shares.append((1 + cleared) / (1 + labelled) * others / max(1, at - cleared))
    adjusted: list[float | None] = [0.0 if label else None for label in labels]
    least = 1.0
    for at in reversed(range(last)):
        least = min(least, shares[at])
        adjusted[at] = least if labels[at] is None else adjusted[at]
    return adjusted
