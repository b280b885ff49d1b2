"""A verdict on a score in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karat.runs.agreement.verdict import Gap, Verdict
from karat.stats.value import Estimate, spell


def describe_verdict(
    verdict: Verdict, figures: Mapping[str, Estimate], people: Mapping[str, Estimate]
) -> tuple[str, ...]:
    """The sentences: how good the score is, compared with people, its errors, its threshold, and the slices it fails.

    `figures` are those of the score with people, `people` those of people among themselves.
    """
    if verdict.value.value is None:
        return (f"{verdict.score}: nothing can be said: {verdict.value.reason}",)
    return (
        "; ".join(
            [
                _describe_level(verdict),
                *([f"{verdict.tied} rows are tied"] if verdict.tied else []),
                *_describe_chance(figures),
            ]
        ),
        *([verdict.reversal] if verdict.reversal else []),
        *_describe_people(verdict, people),
        *_describe_errors(verdict),
        *_describe_cut(verdict),
        *(f"{verdict.score} is worse in {name}: {_describe_gap(verdict, gap)}" for name, gap in verdict.weak.items()),
    )


def _describe_level(verdict: Verdict) -> str:
    value = verdict.value
    rows = f"{value.n} rows{' on which most people agree' if verdict.tied else ''}"
    if verdict.figure == "accuracy":
        return f"{verdict.score} gives the label of people in {_percent(value)} of {rows}"
    if verdict.figure == "auroc":
        pairs = f"of two rows that people tell apart in {_percent(value)} of such pairs"
        word = "lower" if verdict.direction == "minimize" else "higher"
        return f"{verdict.score} is {word} for the better one {pairs} (AUROC, {rows})"
    less = ", less for better," if verdict.turned else ""
    return f"{verdict.score}{less} orders {rows} as people do with Spearman's rho {_number(value)}"


def _describe_chance(figures: Mapping[str, Estimate]) -> Iterator[str]:
    kappa = figures.get("cohen_kappa")
    if kappa is None or kappa.low is None:
        return
    shown = f"corrected for chance, Cohen's kappa is {_number(kappa)}"
    yield shown if kappa.low > 0 else f"{shown}: that it is better than chance could not be shown"


def _describe_people(verdict: Verdict, people: Mapping[str, Estimate]) -> Iterator[str]:
    gap = verdict.with_people
    if gap is None:
        if not people:
            yield "what people reach among themselves is not known: let a second person label some of these rows"
        return
    apart = gap.difference
    if apart.low is None or apart.high is None:
        yield f"how {verdict.score} compares with people among themselves is not known: {apart.reason}"
        return
    words = (
        "less than" if apart.high < 0 else "more than" if apart.low > 0 else "and no less or more could be shown than"
    )
    one, other = (_number(each) for each in (gap.value, gap.other))
    shown = f"alpha {one} against {other}, difference {_number(apart)}, {gap.value.n} rows"
    if (same := verdict.same_label) is not None:
        shown = f"the same label in {_percent(same.value)} against {_percent(same.other)}, {shown}"
    yield f"{verdict.score} agrees with a person {words} people agree with each other: {shown}"


def _describe_errors(verdict: Verdict) -> Iterator[str]:
    praise, blame, bias = verdict.false_praise, verdict.false_blame, verdict.bias
    if praise is None or blame is None or not verdict.labels:
        return
    worst, best = verdict.labels[0], verdict.labels[-1]
    below, above = (worst, best) if len(verdict.labels) == 2 else (f"below {best}", f"above {worst}")
    middle = None if verdict.cut is not None and verdict.cut.value is not None else verdict.error_cut
    if middle is not None:
        below, above = "bad", "good"
    shares = ("praise", praise, below), ("blame", blame, above)
    parts = [
        f"false {word}: {_percent(each)} of the {each.n} rows that people label {rest}"
        for word, each, rest in shares
        if each.value is not None
    ]
    if parts and middle is not None:
        parts.append(describe_cut(middle, verdict.on_cut))
    if bias is not None and bias.low is not None and bias.high is not None:
        word = "too kind" if bias.low > 0 else "too hard" if bias.high < 0 else "not shown to be too kind or too hard"
        parts.append(f"on the whole it is {word} ({_number(bias, sign=True)})")
    if parts:
        yield "; ".join(parts)


def describe_cut(cut: float, on_cut: int) -> str:
    """Where a score was cut to count its errors.

    >>> describe_cut(0.5, 120)
    'cut at 0.5, on which 120 scores lie, each half an error'
    """
    lie = "1 score lies" if on_cut == 1 else f"{on_cut} scores lie"
    return f"cut at {spell(cut, '.4g')}" + (f", on which {lie}, each half an error" if on_cut else "")


def _describe_cut(verdict: Verdict) -> Iterator[str]:
    cut = verdict.cut
    if cut is None:
        return
    if cut.value is None:
        yield f"no threshold of {verdict.score}: {cut.reason}"
        return
    apparent, corrected = (each["accuracy"] for each in (cut.apparent, cut.corrected))
    side = "≤" if verdict.turned else "≥"
    place, low, high = (spell(each, ".4g") for each in (cut.value, cut.low, cut.high))
    shown = f"{verdict.score} {side} {place} [{low}, {high}] tells yes from no best"
    other = f"{_share(apparent.value)} on those that did"
    yield f"{shown}: accuracy {_percent(corrected)} on rows that did not choose it, {other}"


def _describe_gap(verdict: Verdict, gap: Gap) -> str:
    here, there = (_number(each) for each in (gap.value, gap.other))
    title = "agreement with a person" if verdict.same_label is not None else verdict.title
    return f"{title} {here} in {gap.value.n} rows, {there} in the others, difference {_number(gap.difference)}"


def _number(estimate: Estimate, *, sign: bool = False) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "?"
    value = spell(estimate.value, "+.3f" if sign else ".3f")
    return f"{value} [{spell(estimate.low, '.3f')}, {spell(estimate.high, '.3f')}]"


def _percent(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "?"
    return f"{_share(estimate.value)} [{spell(100 * estimate.low, '.1f')}, {spell(100 * estimate.high, '.1f')}]"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{spell(100 * value, '.1f')} %"
