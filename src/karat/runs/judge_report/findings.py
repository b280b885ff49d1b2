"""What was found about one judge: its figures, and in words what they leave no doubt of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from karat.core.metric.metric import Metric
from karat.judges.judge import JudgeFunction
from karat.runs.agreement.sentences import describe_cut
from karat.runs.judge_report.examined import Examined
from karat.runs.judge_report.figures import FIGURES, Bias, Figures, People
from karat.runs.judge_report.kept_calibration import KeptCalibration
from karat.stats.value import Estimate, spell

_MERIT = "; that may be merit: labels by people (human, --human) tell"


@dataclass(frozen=True)
class JudgeFindings:
    """What was found about one judge.

    Each figure is an `Estimate`: `value`, `low` and `high`, `n` rows, and the `reason` where there is none.

    `unreadable`: the share of verdicts that could not be read; `errors`: requests without a reply, by reason.
    `flips`: how probably a second verdict on a row is another one; `flipping_rows`: the share of rows with two
    different verdicts; `noise_share`: the share of the scores' variance that is the judge's own. `first_place`: how
    much higher the score of an answer is where it stands first of two; `order_matters`: the share of rows on which the
    orders give different verdicts. `length`: by unit, how much the score depends on the answer's length; `own_answers`:
    on its author being the judge's model, None without a column of authors. `rewording_flips`: how probably the verdict
    is another one after a harmless rewording of the prompt; `rewording_beyond_noise`: by how much that is more than
    `flips`; `rewordings`: how much each raises the score. `people`: the judge beside people, None without labels.
    `kept`: what a file of calibrations says of it. `criteria`: for a judge of criteria with points, how many verdicts
    `passed` and `failed` each, and of how many rows its verdicts `differ`; those that fail most often come first.
    """

    judge: Metric
    n: int
    asked: int
    unreadable: Estimate
    errors: Mapping[str, int]
    flips: Estimate
    flipping_rows: Estimate
    noise_share: Estimate
    first_place: Estimate
    order_matters: Estimate
    length: Mapping[str, Bias]
    own_answers: Bias | None
    rewording_flips: Estimate
    rewording_beyond_noise: Estimate
    rewordings: Mapping[str, Estimate]
    people: People | None
    kept: KeptCalibration | None = None
    criteria: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, examined: Examined, kept: KeptCalibration | None) -> JudgeFindings:
        """All figures of an examined judge."""
        figures, votes = Figures(examined), examined.votes
        found: dict[str, Any] = {each.name: getattr(figures, each.name) for each in fields(cls) if each.name in FIGURES}
        found |= {"errors": votes.errors, "kept": kept, "criteria": votes.criteria}
        return cls(examined.judge, len(votes.scores), int(votes.asked.sum()), **found)

    @property
    def pairs(self) -> bool:
        """Whether the judge says which of two answers is better."""
        function = self.judge.definition.function
        return isinstance(function, JudgeFunction) and function.rubric.swap is not None

    @property
    def sentences(self) -> list[str]:
        """What was found, in words; only what the intervals leave no doubt of."""
        return list(_describe(self))

    def as_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        found = {name: as_json(value) for name, value in vars(self).items() if name != "judge"}
        return {"spec": self.judge.spec, "signature": self.judge.signature, **found, "sentences": self.sentences}


def as_json(value: Any) -> Any:
    """A figure as JSON values."""
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if is_dataclass(value):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    return {name: as_json(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def _describe(found: JudgeFindings) -> Iterator[str]:
    """A sentence for each finding whose interval leaves no doubt, and for what the judge failed to do."""
    for reason, count in list(found.errors.items())[:3]:
        yield f"{count} requests got no reply: {reason}"
    if found.unreadable.value:
        yield f"{_percent(found.unreadable)} of its verdicts could not be read; such a row is unscored"
    if found.flips.value:
        yield f"asked again, it gives another verdict with a probability of {_percent(found.flips)}"
    if way := _sure(found.first_place):
        place = "first" if way > 0 else "second"
        yield f"it prefers the {place} place: an answer scores {_size(found.first_place)} more there"
    for unit in ("doubling", "100 characters"):
        if way := _sure(found.length[unit].slope):
            per = "each doubling of its length" if unit == "doubling" else f"each {unit} more"
            raised = f"{'raises' if way > 0 else 'lowers'} an answer's score by {_size(found.length[unit].slope)}"
            yield f"{per} {raised}{_beyond(found.length[unit])}"
            break
    if found.own_answers is not None and (way := _sure(found.own_answers.slope)):
        more = f"{_size(found.own_answers.slope)} {'more' if way > 0 else 'less'} than others'"
        yield f"answers by its own model score {more}{_beyond(found.own_answers)}"
    if _sure(found.rewording_beyond_noise) > 0:
        beyond = _percent(found.rewording_beyond_noise)
        yield f"its verdicts depend on the prompt's wording: harmless changes flip {beyond} more than asking again"
    if found.people is not None:
        yield from _beside_people(found.people)
    if found.kept is not None:
        yield str(found.kept)


def _beside_people(people: People) -> Iterator[str]:
    if people.reversal is not None:
        yield people.reversal
    if way := _sure(people.bias):
        yield f"it scores {_size(people.bias)} {'more' if way > 0 else 'less'} than people do"
    praise, blame = people.false_praise, people.false_blame
    if praise.value is not None and blame.value is not None:
        cut = "" if people.error_cut is None else f", {describe_cut(people.error_cut, people.on_cut)}"
        yield f"false praise of {_percent(praise)} of what people find bad{cut}"
        yield f"false blame of {_percent(blame)} of what people find good{cut}"
    error, chance = people.calibration.ece, people.calibration.ece_by_chance
    verdicts = {part.score for part in people.calibration.bins} <= {0.0, 1.0}  # of yes and no, said above
    if chance is not None and _sure(error) and not verdicts:
        yield f"its scores are {_size(error)} off what people say; on so few rows chance alone gives {chance:.2g}"
    for name, each in people.slices.items():
        if each.fails:
            yield f"it fails in slice {name}: it agrees {_size(each.difference)} less with people than elsewhere"


def _sure(estimate: Estimate) -> int:
    """1 or -1 where the interval is wholly above or below 0, else 0."""
    if estimate.low is None or estimate.high is None:
        return 0
    return (estimate.low > 0) - (estimate.high < 0)


def _size(estimate: Estimate) -> str:
    """The absolute value and its interval."""
    ends = sorted(abs(each) for each in (estimate.low or 0.0, estimate.high or 0.0))
    return f"{spell(abs(estimate.value or 0.0), '.2g')} ({spell(ends[0], '.2g')} – {spell(ends[1], '.2g')})"


def _percent(estimate: Estimate) -> str:
    value, low, high = (100 * (each or 0.0) for each in (estimate.value, estimate.low, estimate.high))
    return f"{spell(value, '.1f')} % ({spell(low, '.1f')} – {spell(high, '.1f')} %)"


def _beyond(bias: Bias) -> str:
    return " beyond what people say" if bias.of == "error" else _MERIT
