"""Check the gold of rows by what systems answer: which of it is probably wrong, ambiguous or incomplete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import match_spec, parse
from karat.runs.columns.gold_patch import GoldPatch, read_patch
from karat.runs.gold.answers import Same, find_agreement
from karat.runs.gold.consequence import Consequence, ReportedRows, find_consequence
from karat.runs.gold.doubtful import DoubtfulGold, DoubtfulRow, GivenAnswer
from karat.runs.gold.doubts import doubt_rows
from karat.runs.gold.reasons import Reason, find_reasons
from karat.runs.gold.rows import GoldRow, is_near_best, read_rows
from karat.runs.gold.verdicts import read_verdicts, share_wrong
from karat.runs.match.match import Matched, match
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import System, name_systems
from karat.stats.inference import Inference
from karat.stats.reliability.selection import adjust_by_labels
from karat.text.normalise import NORMALIZERS, keep

NO_LAW = "too few rows say how often answers agree by chance where the gold is right: only people can tell"
_Listed: TypeAlias = list[tuple[int, tuple[Reason, ...]]]


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

    `gold_patch`, as in `karat.score`: what people say of some of the rows that were listed, looked at in random order,
    as `karat label --gold` shows them. Then the reported rows follow from that alone.

    Of two systems the result also says what the reported rows, or where none is reported those that are listed, change
    for the verdict of `karat.compare` (`consequence`): left out, decided for the system that loses, and with the patch.

    Raises `SpecError` for one system without a judge and for a share that is not between 0 and 1, `DataError` and
    `JoinError` for a patch of other rows or other gold, and what `karat.compare` raises for systems whose rows do not
    match.

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
    patch = None if gold_patch is None else read_patch(gold_patch)
    by, judged = _find_metrics(matched, judge)
    rows = read_rows(matched, by, judged)
    same = None if alike is None and not _is_formula(by.spec) else _means_same(alike or by.spec)
    normalise = _find_normaliser(by.spec)
    agreements = [find_agreement(row, normalise, same) for row in rows]
    doubts = doubt_rows(rows, agreements)
    verdicts = {} if patch is None else read_verdicts(patch, matched, rows)
    reported = {at for at, p in enumerate(doubts.adjusted) if p is not None and p <= fdr and not verdicts}
    listed = _list(doubts.order, find_reasons(rows, agreements, doubts.ps), first, reported | verdicts.keys())
    by_people = [verdicts.get(at) for at, _ in listed]
    share, adjusted = share_wrong(by_people, first, confidence), [doubts.adjusted[at] for at, _ in listed]
    if share is not None:
        labels = [None if each is None else not each.numbers["right"] for each in by_people]
        adjusted = adjust_by_labels(labels) if share.reason is None else [0.0 if each else None for each in labels]
    doubtful = [
        DoubtfulRow(
            id=rows[at].id,
            question=rows[at].question,
            reference=rows[at].references,
            doubt=0.0 if verdict is not None and verdict.numbers["right"] else None if p is None else 1 - p,
            reported=p is not None and p <= fdr,
            reasons=reasons if verdict is None else (verdict, *reasons),
            answers=tuple(GivenAnswer(each.system, each.answer, each.score) for each in rows[at].answers),
            contexts=rows[at].contexts,
        )
        for (at, reasons), verdict, p in zip(listed, by_people, adjusted, strict=True)
    ]
    tested = sum(each.confirmed == 0 and each.others >= 2 for each in agreements)
    shown = tuple(row for at, row in enumerate(doubtful) if at < first or row.reported)
    return DoubtfulGold(
        systems=matched.names,
        metric=by.spec,
        by=matched.rows.key,
        n=len(rows),
        tested=tested,
        fdr=fdr,
        confidence=confidence,
        reported=sum(row.reported for row in doubtful),
        share=share,
        reach=max((at for at, each in enumerate(by_people, 1) if each is not None), default=0),
        notes=(*matched.notes, *_note_copies(rows), *([NO_LAW] if tested and not any(doubts.ps) else ())),
        rows=shown,
        consequence=_find_consequence(matched, by.spec, shown, Inference(confidence), patch),
    )


def _find_metrics(matched: Matched, judge: str | Metric | None) -> tuple[SharedMetric, SharedMetric | None]:
    """The metric that says which answers are the gold, and the judge."""
    shared = {each.spec: each for each in matched.metrics}
    judged = None if judge is None else shared.pop(match_spec(judge if isinstance(judge, str) else judge.spec, shared))
    if not shared:
        raise SpecError(f"a metric is expected beside the judge {judge}, which says which answers are the gold")
    return next(iter(shared.values())), judged


def _list(order: Sequence[int], reasons: Callable[[int], tuple[Reason, ...]], first: int, wanted: set[int]) -> _Listed:
    """The first rows with reasons, and so many more that all `wanted` ones are among them, with their reasons."""
    listed, left = _Listed(), set(wanted)
    for at in order:
        if len(listed) >= first and not left:
            break
        left.discard(at)
        if own := reasons(at):
            listed.append((at, own))
    return listed


def _find_consequence(
    matched: Matched, spec: str, rows: Sequence[DoubtfulRow], inference: Inference, patch: GoldPatch | None
) -> Consequence | None:
    if len(matched.runs) != 2 or not rows:
        return None
    reported = [row.id for row in rows if row.reported]
    doubtful = ReportedRows(reported) if reported else ReportedRows([row.id for row in rows], "most doubtful")
    return find_consequence(matched, spec, doubtful, inference, patch)


def _note_copies(rows: Sequence[GoldRow]) -> Iterator[str]:
    """Systems that give the same answers to all rows."""
    copies = defaultdict[tuple[str | None, ...], list[str]](list)
    for each in zip(*(row.answers for row in rows), strict=True):
        copies[tuple(answer.answer for answer in each)].append(each[0].system)
    for names in copies.values():
        if len(names) > 1:
            yield f"{', '.join(names)} answer alike in all rows, and agree for that reason: leave out all but one"


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
    low, high = known.low, known.high

    def same(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        scores = chosen([one for one, _ in pairs], [other for _, other in pairs]).to_pylist()
        return [bool(is_near_best(score, low, high, known.direction)) for score in scores]

    return same
