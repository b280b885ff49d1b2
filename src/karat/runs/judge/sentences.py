"""What was found about a score, in words: only what the intervals leave no doubt of, and what could not be found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from karat.runs.judge.people import Gap, HumanAgreement, Slice
from karat.runs.judge.reliability.panel import JudgePanel
from karat.runs.judge.reliability.single import Bias
from karat.stats.reliability.instrument import Instrument
from karat.stats.value import Estimate, spell

if TYPE_CHECKING:
    from karat.runs.judge.figures import Examined

_TITLES = {
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "spearman": "Spearman's rho",
    "closeness": "closeness to people's mean label",
}
_MERIT = "; that may be merit: labels by people (human, --human) tell"


def describe(
    examined: Examined, figures: Mapping[str, Estimate], among_people: Mapping[str, Estimate]
) -> Iterator[str]:
    """The sentences on a score: what it failed to answer, how it compares with people, noise, biases, wording.

    `figures` are the coefficients of the score with people, `among_people` of people among themselves.
    """
    if (replies := examined.replies) is not None:
        for reason, count in list(replies.errors.items())[:3]:
            yield f"{count} requests got no reply: {reason}"
        if replies.unreadable.value:
            yield f"{_percent(replies.unreadable)} of its verdicts could not be read; such a row is unscored"
    if examined.people is not None:
        yield from _describe_people(examined.score, examined.people, figures, among_people)
    if examined.noise is not None and examined.noise.flips.value:
        yield f"asked again, it gives another verdict with a probability of {_percent(examined.noise.flips)}"
    if examined.position is not None and (way := _sure(first := examined.position.first_place)):
        yield f"it prefers the {'first' if way > 0 else 'second'} place: an answer scores {_size(first)} more there"
    for unit, bias in (examined.length or {}).items():
        if way := _sure(bias.slope):
            per = "each doubling of its length" if unit == "doubling" else f"each {unit} more"
            raised = f"{'raises' if way > 0 else 'lowers'} an answer's score by {_size(bias.slope)}"
            yield f"{per} {raised}{_beyond(bias)}"
            break
    if examined.own_answers is not None and (way := _sure(examined.own_answers.slope)):
        more = f"{_size(examined.own_answers.slope)} {'more' if way > 0 else 'less'} than others'"
        yield f"answers by its own model score {more}{_beyond(examined.own_answers)}"
    if examined.rewordings is not None and _sure(beyond := examined.rewordings.beyond_noise) > 0:
        flips = f"harmless changes flip {_percent(beyond)} more than asking again"
        yield f"its verdicts depend on the prompt's wording: {flips}"
    if examined.instrument is not None:
        yield from _describe_instrument(examined.instrument)
    if examined.kept is not None:
        yield str(examined.kept)


def _describe_instrument(instrument: Instrument) -> Iterator[str]:
    """The interval that other prompts and judges are part of, where their part is known."""
    components = instrument.components
    if not components.facets or instrument.value.value is None or instrument.value == instrument.rows_alone:
        return
    several = " and ".join(f"{name}s" for name in components.facets)
    tried = " and ".join(str(components.levels[name]) for name in components.facets)
    fixed = f"[{spell(instrument.rows_alone.low, '.3f')}, {spell(instrument.rows_alone.high, '.3f')}]"
    shown = f"its mean score is {_number(instrument.value)} where the {several} could be others ({tried} were tried)"
    yield f"{shown}, {fixed} where they are fixed; {_share(instrument.share)} of the variance is the instrument's"


_PARTS = {2: "half", 3: "a third", 4: "a quarter"}


def describe_panel(panel: JudgePanel) -> Iterator[str]:
    """What several judges are worth together, in words."""
    if (errors := panel.errors) is not None:
        number, best = len(panel.judges), panel.judges[errors.best]
        if errors.effective.value is None:
            yield f"{number} judges: {errors.effective.reason}"
        else:
            alike = f"their errors correlate by {_number(errors.correlation)}"
            yield f"{number} judges are about {_number(errors.effective)} effective votes: {alike}"
        both = f"{spell(errors.alone.value, '.3f')} against {spell(errors.together.value, '.3f')} of all"
        apart = f"error {both}, difference {_number(errors.difference)}"
        part = _PARTS.get(number, f"1/{number}")
        if _sure(errors.difference) > 0:
            yield f"all together err less than the best of them, {best}, alone: {apart}"
        elif _sure(errors.difference) < 0:
            yield f"{best} alone errs less than all together, for {part} of the calls: {apart}"
        elif errors.difference.low is not None:
            yield f"{best} alone may do as well, for {part} of the calls: {apart}"
    if panel.instrument is not None:
        yield from (f"{line.replace('its mean', 'their mean')}" for line in _describe_instrument(panel.instrument))


def _describe_people(
    score: str, people: HumanAgreement, figures: Mapping[str, Estimate], among_people: Mapping[str, Estimate]
) -> Iterator[str]:
    if people.value.value is None:
        yield f"{score}: nothing can be said: {people.value.reason}"
        return
    tied = [f"{people.tied} rows are tied"] if people.tied else []
    yield "; ".join([_describe_level(score, people), *tied, *_describe_chance(figures)])
    if people.reversal is not None:
        yield people.reversal
    yield from _describe_company(score, people, among_people)
    yield from _describe_errors(people)
    yield from _describe_cut(score, people)
    yield from _describe_calibration(people)
    for name, each in people.slices.items():
        if each.fails:
            yield f"{score} is worse in {name}: {_describe_slice(people, each)}"


def _describe_level(score: str, people: HumanAgreement) -> str:
    value = people.value
    rows = f"{value.n} rows{' on which most people agree' if people.tied else ''}"
    if people.figure == "accuracy":
        return f"{score} gives the label of people in {_percent(value)} of {rows}"
    if people.figure == "auroc":
        pairs = f"of two rows that people tell apart in {_percent(value)} of such pairs"
        word = "lower" if people.direction == "minimize" else "higher"
        return f"{score} is {word} for the better one {pairs} (AUROC, {rows})"
    less = ", less for better," if people.turned else ""
    return f"{score}{less} orders {rows} as people do with Spearman's rho {_number(value)}"


def _describe_chance(figures: Mapping[str, Estimate]) -> Iterator[str]:
    kappa = figures.get("cohen_kappa")
    if kappa is None or kappa.low is None:
        return
    shown = f"corrected for chance, Cohen's kappa is {_number(kappa)}"
    yield shown if kappa.low > 0 else f"{shown}: that it is better than chance could not be shown"


def _describe_company(score: str, people: HumanAgreement, among_people: Mapping[str, Estimate]) -> Iterator[str]:
    """The score beside people, as people beside each other."""
    gap = people.with_people
    if gap is None:
        if not among_people:
            yield "what people reach among themselves is not known: let a second person label some of these rows"
        return
    apart = gap.difference
    if apart.low is None or apart.high is None:
        yield f"how {score} compares with people among themselves is not known: {apart.reason}"
        return
    words = (
        "less than" if apart.high < 0 else "more than" if apart.low > 0 else "and no less or more could be shown than"
    )
    shown = f"alpha {_describe_gap(gap)}, {gap.value.n} rows"
    if (same := people.same_label) is not None:
        shown = f"the same label in {_percent(same.value)} against {_percent(same.other)}, {shown}"
    yield f"{score} agrees with a person {words} people agree with each other: {shown}"


def _describe_gap(gap: Gap) -> str:
    return f"{_number(gap.value)} against {_number(gap.other)}, difference {_number(gap.difference)}"


def _describe_slice(people: HumanAgreement, part: Slice) -> str:
    here, there = (_number(each) for each in (part.value, part.other))
    alike = part.figure == "accuracy" and people.same_label is not None
    title = "agreement with a person" if alike else _TITLES[part.figure]
    return f"{title} {here} in {part.value.n} rows, {there} in the others, difference {_number(part.difference)}"


def _describe_errors(people: HumanAgreement) -> Iterator[str]:
    praise, blame, bias = people.false_praise, people.false_blame, people.bias
    parts = []
    if praise is not None and blame is not None and people.labels:
        worst, best = people.labels[0], people.labels[-1]
        below, above = (worst, best) if len(people.labels) == 2 else (f"below {best}", f"above {worst}")
        if people.error_cut is not None and (people.cut is None or people.cut.value is None):
            below, above = "bad", "good"
        parts = [
            f"false {word}: {_percent(each)} of the {each.n} rows that people label {rest}"
            for word, each, rest in (("praise", praise, below), ("blame", blame, above))
            if each.value is not None
        ]
        if parts and people.error_cut is not None:
            parts.append(describe_cut(people.error_cut, people.on_cut))
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


def _describe_cut(score: str, people: HumanAgreement) -> Iterator[str]:
    cut = people.cut
    if cut is None:
        return
    if cut.value is None:
        yield f"no threshold of {score}: {cut.reason}"
        return
    side = "≤" if people.turned else "≥"
    place, low, high = (spell(each, ".4g") for each in (cut.value, cut.low, cut.high))
    shown = f"{score} {side} {place} [{low}, {high}] tells yes from no best"
    other = f"{_share(cut.accuracy.apparent.value)} on those that did"
    yield f"{shown}: accuracy {_percent(cut.accuracy.corrected)} on rows that did not choose it, {other}"


def _describe_calibration(people: HumanAgreement) -> Iterator[str]:
    if people.calibration is None:
        return
    error, chance = people.calibration.ece, people.calibration.ece_by_chance
    verdicts = {part.score for part in people.calibration.bins} <= {0.0, 1.0}  # of yes and no, said above
    if chance is not None and _sure(error) and not verdicts:
        yield f"its scores are {_size(error)} off what people say; on so few rows chance alone gives {chance:.2g}"


def _sure(estimate: Estimate) -> int:
    """1 or -1 where the interval is wholly above or below 0, else 0."""
    if estimate.low is None or estimate.high is None:
        return 0
    return (estimate.low > 0) - (estimate.high < 0)


def _size(estimate: Estimate) -> str:
    """The absolute value and its interval."""
    value, *ends = (spell(abs(each or 0.0), ".3f") for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{', '.join(sorted(ends))}]"


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


def _beyond(bias: Bias) -> str:
    return " beyond what people say" if bias.of == "error" else _MERIT
