"""Check the gold of rows by what systems answer: which of it is probably wrong, ambiguous or incomplete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import match_spec, parse
from karat.runs.columns.gold_patch import read_patch
from karat.runs.gold.answers import Same, find_agreement, share_near
from karat.runs.gold.consequence import ReportedRows, find_consequence
from karat.runs.gold.doubtful import DoubtfulGold, DoubtfulRow, GivenAnswer
from karat.runs.gold.doubts import NO_LAW, add_judge, doubt_rows, order_rows
from karat.runs.gold.reasons import find_reasons
from karat.runs.gold.rows import read_rows
from karat.runs.match.match import Matched, match
from karat.runs.match.systems import System, name_systems
from karat.stats.inference import Inference
from karat.text.normalise import NORMALIZERS, keep


def gold(
    *systems: System,
    metric: str | Metric | None = None,
    judge: str | Metric | None = None,
    alike: str | Metric | None = None,
    on: str | None = None,
    common: bool = False,
    fdr: float = 0.1,
    first: int = 20,
    confidence: float = 0.95,
    gold_patch: Any = None,
    **named: System,
) -> DoubtfulGold:
    """Find rows whose gold is probably wrong, ambiguous or incomplete, from the answers of systems to the same rows.

    `metric`, by default the first that all systems were scored with, says which answers are the gold: those whose score
    is nearer to the best than to the worst. `judge`: a metric that was scored too, by which an answer that is not the
    gold may be right. `alike`: a metric that says which answers mean the same, such as `math_match` or a similarity;
    by default their words, numbers and dates do. `fdr`: the share of the reported rows whose gold is right that is
    accepted, on average. `first`: so many rows are listed in any case, the most doubtful ones. Rows are matched as in
    `karat.compare`. One system is enough with a `judge`.

    Of two systems the result also says what the reported rows, or where none is reported those that are listed, change
    for the verdict of `karat.compare` (`consequence`): left out, and decided for the system that loses; with
    `gold_patch`, as in `karat.score`, also with gold that people patched.

    Raises `SpecError` for one system without a judge and for a share that is not between 0 and 1, and what
    `karat.compare` raises for systems whose rows do not match.

    >>> import karat
    >>> rows = {"id": range(60), "gold": ["yes"] * 60}
    >>> wrong = [f"no {at}" for at in range(30)]
    >>> one, two, three = (["yes"] * 28 + ["no"] * 2 + wrong[at:] + wrong[:at] for at in range(3))
    >>> scored = [karat.score({**rows, "prediction": each}, "em") for each in (one, two, three)]
    >>> found = karat.gold(*scored, first=2)
    >>> [(row.id, row.reasons[0].says) for row in found.rows][0]
    ('28', '3 of 3 systems agree on “no”')
    """
    if not 0 < fdr < 1:
        raise SpecError(f"fdr: a share between 0 and 1 is expected, found {fdr:g}")
    every = [*systems, *named.values()] if len(systems) + len(named) == 1 else name_systems(systems, named, gold)
    wanted = () if metric is None else tuple(each for each in (metric, judge) if each is not None)
    matched = match(every, wanted, on, cluster="none", common=common)
    if len(matched.runs) < 2 and judge is None:
        raise SpecError("the gold is checked by several systems, or by one and a judge of its answers: judge=SPEC")
    found = check_matched(matched, judge, alike, fdr=fdr, first=first, confidence=confidence)
    if len(matched.runs) != 2 and gold_patch is not None:
        raise SpecError(f"gold_patch (--gold-patch) says what two systems lose or win, found {len(matched.runs)}")
    if len(matched.runs) != 2 or not found.rows:
        return found
    patch = None if gold_patch is None else read_patch(gold_patch)
    reported = [row.id for row in found.rows if row.reported]
    rows = ReportedRows(reported) if reported else ReportedRows([row.id for row in found.rows], "most doubtful")
    return replace(found, consequence=find_consequence(matched, found.metric, rows, Inference(confidence), patch))


def check_matched(
    matched: Matched,
    judge: str | Metric | None = None,
    alike: str | Metric | None = None,
    *,
    fdr: float = 0.1,
    first: int = 20,
    confidence: float = 0.95,
) -> DoubtfulGold:
    """Check the gold of systems whose rows are matched, by their first metric, as `gold` does."""
    shared = {each.spec: each for each in matched.metrics}
    judged = None if judge is None else shared.pop(match_spec(judge if isinstance(judge, str) else judge.spec, shared))
    if not shared:
        raise SpecError(f"a metric is expected beside the judge {judge}, which says which answers are the gold")
    by = next(iter(shared.values()))
    rows = read_rows(matched, by, judged)
    same = None if alike is None and not _is_formula(by.spec) else _means_same(alike or by.spec)
    agreements = [find_agreement(row, _find_normaliser(by.spec), same) for row in rows]
    doubts = doubt_rows(agreements, share_near(rows, agreements), confidence)
    values = doubts.doubts if judged is None else add_judge(doubts.doubts, rows, confidence)
    reasons = find_reasons(rows, agreements, doubts.ps)
    order = [at for at in order_rows(agreements, values) if reasons[at]]
    reported = [at for at in order if doubts.is_reported(at, fdr)]
    several = len(matched.runs) > 1
    return DoubtfulGold(
        systems=matched.names,
        metric=by.spec,
        by=matched.rows.key,
        n=len(rows),
        tested=sum(p is not None for p in doubts.ps),
        share=doubts.share,
        fdr=fdr,
        confidence=confidence,
        reported=len(reported),
        notes=(*matched.notes, *([NO_LAW] if several and doubts.law is None else ())),
        rows=tuple(
            DoubtfulRow(
                id=rows[at].id,
                question=rows[at].question,
                reference=rows[at].references,
                doubt=None if (doubt := values[at]) is None else doubt.value,
                low=None if doubt is None else doubt.low,
                high=None if doubt is None else doubt.high,
                p_adjusted=doubts.adjusted[at],
                reported=doubts.is_reported(at, fdr),
                reasons=reasons[at],
                answers=tuple(GivenAnswer(each.system, each.answer, each.score) for each in rows[at].answers),
                contexts=rows[at].contexts,
            )
            for at in order[: max(first, len(reported))]
        ),
    )


def _is_formula(spec: str) -> bool:
    return spec.partition("(")[0] in {"math_match", "math"}


def _find_normaliser(spec: str) -> Callable[[str], str]:
    """The normaliser of a metric; texts stay as they are where it has none."""
    with suppress(SpecError):
        return NORMALIZERS.get(str(parse(spec).settings.get("normalize")), keep)
    return keep


def _means_same(metric: str | Metric) -> Same:
    """Whether answers mean the same by a metric: its score is nearer to the best than to the worst."""
    chosen = parse(metric) if isinstance(metric, str) else metric
    known = chosen.definition
    if [*known.columns] != ["prediction", "reference"] or known.low is None or known.high is None or chosen.asks_model:
        raise SpecError(
            f"alike={chosen.spec}: expected a metric with bounds, of a prediction and a reference, no judge"
        )
    middle = (known.low + known.high) / 2

    def same(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        scores = chosen([one for one, _ in pairs], [other for _, other in pairs]).to_pylist()
        return [
            score is not None and (score >= middle if known.direction == "maximize" else score <= middle)
            for score in scores
        ]

    return same
