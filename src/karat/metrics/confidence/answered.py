"""Answers that decline: how many questions were attempted, and how good the attempts are."""

# ruff: noqa: ARG001  (a metric declares settings that decide its definition and its finish, not its counts)
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_list
from karat.core.columns.kinds import Array, Counts, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.rows import NOTHING, Rows
from karat.core.metric.score import Inner
from karat.core.metric.setting import NotNegative, Range
from karat.metrics.confidence.pairs import check_share

AnsweredMeasure: TypeAlias = Literal[
    "coverage", "accuracy", "f", "correct", "score", "declined_answerable", "declined_unanswerable", "answerable"
]
LABELS = (
    *("wrong", "partly correct", "correct", "not attempted"),
    *("answered the unanswerable", "declined the unanswerable"),
)
NOT_ATTEMPTED = ("not_attempted", "not attempted", "refused")
"""The labels of a column that say, by default, that an answer declines."""
_SORRY = "(?:(?:i['’]m |i am )?sorry,? (?:but )?)?"
_QUESTION = "(?: (?:this|that|the|your) question)?"
_CANNOT = "(?:cannot|can['’]t|can not)"
PHRASES = (
    rf"{_SORRY}(?:i|we) (?:do not|don['’]t) know(?: the answer)?",
    rf"{_SORRY}(?:i|we) {_CANNOT} answer{_QUESTION}",
    rf"{_SORRY}(?:i am|i['’]m) (?:not able|unable) to answer{_QUESTION}",
    rf"(?:the|this|that) question {_CANNOT} be answered",
    r"(?:no answer|unanswerable|not answerable)",
    rf"(?:there is )?(?:not enough|insufficient) information(?: to answer{_QUESTION})?",
)
"""What declines by default, where it is the whole prediction: patterns of RE2, without regard to case."""


def _measure_of(totals: Array, *, measure: str, penalty: float, threshold: float | None) -> Array:
    """A measure from five counts: answerable rows, those attempted, their scores; unanswerable rows, those declined."""
    answerable, attempted, score, unanswerable, declined = np.moveaxis(totals, -1, 0)
    every, tried = answerable + unanswerable, attempted + unanswerable - declined
    if measure == "score":
        lost = penalty if threshold is None else threshold / (1 - threshold)
        return _divide(score + declined - lost * (tried - score), every)
    parts: Mapping[str, tuple[Array, Array]] = {
        "coverage": (tried, every),
        "accuracy": (score, tried),
        "f": (2 * score, every + tried),
        "correct": (score + declined, every),
        "declined_answerable": (answerable - attempted, answerable),
        "declined_unanswerable": (declined, unanswerable),
        "answerable": (score, answerable),
    }
    return _divide(*parts[measure])


def _divide(part: Array, whole: Array) -> Array:
    """`part / whole`, and NaN where `whole` is 0."""
    ratio: Array = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole != 0)
    return ratio


def _specialise(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the column of labels, if one is named, and the range and the direction of the measure."""
    check_share(definition)
    measure, threshold, name = settings["measure"], settings["threshold"], settings["column"]
    if threshold is not None and settings["penalty"] != 1:
        raise SpecError("answered: threshold=T is penalty=T / (1 - T): give one of them")
    columns = {role: kind for role, kind in definition.columns.items() if role != "verdict"}
    role = f"answered({name})"
    if name:
        columns[role] = definition.columns["verdict"]
    elif "prediction" not in columns:
        inner = definition.inner.name if definition.inner else ""
        raise SpecError(f"answered: {inner} reads no prediction; column=NAME names a column that says what declines")
    lost = settings["penalty"] if threshold is None else threshold / (1 - threshold)
    inner_roles = definition.inputs.named
    return replace(
        definition,
        columns=MappingProxyType(columns),
        composite=definition.composite and replace(definition.composite, own=(role,) if name else ()),
        inputs=replace(
            definition.inputs,
            nulls=("prediction",) if settings["null"] == "declines" else (),
            named=MappingProxyType({**inner_roles, role: name} if name else inner_roles),
        ),
        low=-float(lost) if measure == "score" else 0.0,
        direction="minimize" if measure == "declined_answerable" else "maximize",
    )


@metric(
    source=(
        "Wei et al. 2024, Measuring Short-Form Factuality in Large Language Models, arXiv:2411.04368; unanswerable "
        "questions as in SQuAD 2.0, arXiv:1806.03822; the penalty: Kalai et al. 2025, arXiv:2509.04664"
    ),
    inner="exact_match",
    finish=_measure_of,
    details=lambda _: {"label": pa.string()},
    specialise=_specialise,
)
def answered(
    scored: Inner,
    verdict: Text = None,
    *,
    measure: AnsweredMeasure = "coverage",
    abstain: list | None = None,  # type: ignore[type-arg]
    column: str = "",
    null: Literal["unscored", "declines"] = "unscored",
    penalty: NotNegative = 1.0,
    threshold: Annotated[float | None, Range(0, 0.999)] = None,
) -> Counts:
    """The share of questions that were attempted, or how good the attempts are, with counts of correct and wrong.

    A prediction declines where it is empty, or where all of it, but for white space, full stops and exclamation marks
    at the end, is one of a few phrases such as "I don't know". `abstain` gives other patterns (RE2, whole text, any
    case). `column` names a column of labels instead, such as a judge's, and `abstain` the labels that decline; they are
    "not_attempted", "not attempted" and "refused" by default. A row without a prediction (null) is unscored; with
    `null="declines"` it declines. A question whose references are an empty list, or empty texts, is unanswerable: to
    decline it is correct, any answer is wrong.

    `measure`: "coverage": the share attempted. "accuracy": the mean score of the attempts. "f": twice the scores,
    divided by the questions and the attempts: SimpleQA's F. "correct": the mean score of all questions; declining
    scores where it is correct, and else 0. "score": the same less `penalty` for what is wrong; with `threshold=t` the
    penalty is t / (1 - t), which rewards answers above that confidence alone. "answerable": the mean score of the
    answerable. "declined_answerable", "declined_unanswerable": the share of these that were declined.

    >>> import karat
    >>> rows = {"prediction": ["Paris", "Rome", "I don't know."], "reference": ["Paris", "Lyon", "Nice"]}
    >>> result = karat.score(rows, ["answered(exact_match)", "answered(exact_match, measure=accuracy)"])
    >>> [round(value.value, 4) for value in result.values.values()]
    [0.6667, 0.5]
    >>> result.counts["answered"]
    {'label': {'correct': 1, 'wrong': 1, 'not attempted': 1}}
    """
    inner = scored.score()
    score, n = inner.scores(scored.metric), len(inner.statistics)
    declines = _declines(scored, abstain, null=null == "declines") if verdict is None else _is_one_of(verdict, abstain)
    impossible = _unanswerable(scored, n)
    known: Array = ~np.isnan(score) | declines | impossible
    reasons = np.full(n, None, dtype=object) if inner.reasons is None else inner.reasons.copy()
    reasons[known] = None
    beyond = known & ~declines & ~impossible & ((score < 0) | (score > 1))
    reasons[beyond] = f"the score of {scored.metric.name} is not from 0 to 1"
    tried = ~impossible & ~declines
    score = np.where(tried, score, 0.0)
    counts = np.column_stack([~impossible, tried, score, impossible, impossible & declines]).astype(np.float64)
    counts[~np.equal(reasons, NOTHING)] = np.nan
    place = np.where(declines, 3, np.where(score == 1, 2, np.where(score == 0, 0, 1)))
    place = np.where(impossible, 4 + declines, place)
    labels = pa.array(LABELS).take(from_numpy(place, np.equal(reasons, NOTHING)))
    return Rows(counts, reasons, {"label": labels})


def _declines(scored: Inner, abstain: list[str] | None, *, null: bool) -> Array:
    """Whether each prediction declines to answer."""
    predictions = scored.columns["prediction"]
    if is_list(predictions.type):
        raise SpecError("answered: one prediction a row is expected, found lists")
    patterns = PHRASES if abstain is None else tuple(abstain)
    either = "|".join((*(f"(?:{each})" for each in patterns), ""))
    try:
        declines = pc.match_substring_regex(predictions, rf"(?is)^\s*(?:{either})[\s.!]*$")
    except pa.ArrowInvalid as error:
        raise SpecError(f"answered: abstain={abstain!r} are not patterns: {error}") from None
    return np.asarray(declines.fill_null(null))


def _is_one_of(verdicts: pa.Array, labels: list[str] | None) -> Array:
    """Whether each text is one of the labels that decline."""
    wanted = pa.array(NOT_ATTEMPTED if labels is None else labels, verdicts.type)
    return np.asarray(pc.is_in(verdicts, wanted))


def _unanswerable(scored: Inner, n: int) -> Array:
    """Whether each row has no reference, or only empty ones."""
    references = scored.columns.get("reference")
    if references is None:
        return np.zeros(n, dtype=bool)
    lists = is_list(references.type)
    texts = references.flatten() if lists else references
    filled = np.asarray(pc.greater(pc.utf8_length(texts), 0).fill_null(False))
    if not lists:
        return ~filled
    parents = np.asarray(pc.list_parent_indices(references))
    unanswerable: Array = np.bincount(parents, filled, minlength=n) == 0
    return unanswerable
