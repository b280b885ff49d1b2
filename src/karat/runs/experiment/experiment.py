"""An experiment: a task answers every row, and the answers are scored."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from karat.core.errors import ColumnError, DataError, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.data.open import open_source
from karat.data.roles import map_columns
from karat.data.source import Source
from karat.data.write import check_output, refuse_overwriting
from karat.models.governor.governor import Governor
from karat.models.reply_cache import Store
from karat.runs.experiment.answers import ERROR, KEPT, REPETITION, ROW, Answered, answering, ask_all
from karat.runs.experiment.task import find_task
from karat.runs.output_columns import Progress
from karat.runs.scoring.model_usage import Asked
from karat.runs.scoring.pipeline import evaluate
from karat.runs.scoring.plan import Plan, plan
from karat.runs.scoring.provenance import describe
from karat.runs.scoring.result import Result
from karat.runs.store.writer import keeping

_GOLD = {"reference", "relevant"}  # what no task gives
_LONGEST = 60.0  # seconds between two attempts, at most


def experiment(
    data: Any,
    task: str | Callable[..., Any],
    metrics: str | Metric | Iterable[str | Metric],
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    gold: Any = None,
    on: str | None = None,
    by: str | None = None,
    cluster: str | None = None,
    where: str | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    run: str | None = None,
    resume: bool = False,
    concurrency: int = 64,
    repetitions: int = 1,
    timeout: float = 60.0,
    attempts: int = 6,
    progress: Progress | None = None,
) -> Result:
    """Have a task answer every row of a table, and score the answers.

    `task`: a function, or `FILE.py:FUNCTION`. It is given the columns that its parameters are called as; one whose only
    parameter is called otherwise is given the row, a dict. What it gives is the prediction: text, a list, None, or a
    dict of columns (`prediction`, `contexts`, …). It may be async; else it is called in threads, so that as many rows
    as `concurrency` allows are under way, fewer while what it asks is slow or refuses.

    Each call may take `timeout` seconds. Where asking again may help (a time-out, a lost connection, HTTP 429 or 5xx)
    it is called up to `attempts` times, with pauses. An error that stays is the row's: its prediction is null, the
    column `error` says why, and a warning how many there are.

    `repetitions`: how often each row is answered; columns `row` and `repetition` tell the answers apart, and answers to
    one row are one unit of the intervals. `run`: a name under which all is kept; answers are on the disk as they come,
    and `resume` asks for none of them again. All else is as in `karat.score`.

    Raises a `karat.KaratError` that says what to do.

    >>> capitals = {"France": "Paris", "Italy": "Rome"}
    >>> rows = {"country": ["France", "Italy"], "gold": ["Paris", "Milan"]}
    >>> result = experiment(rows, lambda country: capitals[country], "em")
    >>> result.values["em"].value, result.table.column("prediction").to_pylist()
    (0.5, ['Paris', 'Rome'])
    """
    if not 0 < confidence < 1 or seed < 0 or repetitions < 1 or timeout <= 0:
        raise SpecError(
            f"confidence={confidence} must lie between 0 and 1, seed={seed} be 0 or more, repetitions={repetitions} "
            f"1 or more, timeout={timeout} more than 0"
        )
    if resume and run is None:
        raise SpecError("resume goes on with a run that was stopped: run='NAME' says which")
    if gold is not None and repetitions > 1:
        raise SpecError("repetitions need the gold in the rows themselves, not in a second table")
    if output is not None:
        check_output(output)
        refuse_overwriting(output, data, gold)
    chosen = parse_all(metrics)
    rows = open_source(data, where=where, limit=limit)
    _check_columns(rows, chosen, map or {}, repetitions, gold)
    found = find_task(task)
    call = found.bind(rows.schema.names)
    made = {"task": found.name, "digest": found.digest, "repetitions": repetitions}
    with answering(run, made, resume=resume) as folder, Store(folder / KEPT) as store:
        governor = Governor(
            concurrency=concurrency,
            attempts=attempts,
            timeout=2 * timeout,  # the task's own time is over before
            row_timeout=attempts * (2 * timeout + _LONGEST),
            store=store,
            progress=_counting(progress, rows.rows, repetitions),
        )
        told = ask_all(governor, store, folder, rows, call, repetitions, timeout, attempts)
        if not told.stat().st_size:
            raise DataError(f"{rows.name} has no rows")
        answered = Answered(rows, open_source(told), repetitions)
        if cluster is None and repetitions > 1:
            cluster = ROW

        def planned(table: Any) -> Plan:
            return replace(plan(table, chosen, map or {}, gold, on, by, cluster, None, None, seed), errors=ERROR)

        spelled = planned(answered.outline()).text & answered.lossy_columns
        decided = planned(replace(answered, text=frozenset(spelled)))
        settings: dict[str, Any] = {"on": on, "by": by, "cluster": cluster, "where": where, "limit": limit}
        settings |= {"confidence": confidence, "seed": seed, **made}
        if run is None:
            result = evaluate(decided, confidence, output, progress, None, keep=output is None)
        else:
            manifest = describe(decided, run, data, gold, settings)
            manifest = replace(manifest, sources={**manifest.sources, "task": found.name})
            asked = Asked(decided.metrics)
            with keeping(manifest, decided.metrics, resume=resume) as keeper:
                result = evaluate(decided, confidence, output, progress, keeper, keep=False)
                result = replace(result, run=keeper.finish(result.as_dict(), asked.since()))
        failures = answered.failures()
    if failures:
        warnings.warn(_said(failures, len(answered)), stacklevel=2)
    return result


def _check_columns(rows: Source, metrics: list[Metric], given: Mapping[str, str], repetitions: int, gold: Any) -> None:
    """Raise `ColumnError`, before anything is asked, for missing gold and for a column that is there and is to come."""
    added = [ERROR] if repetitions == 1 else [ERROR, ROW, REPETITION]
    if taken := [name for name in added if name in rows.schema.names]:
        raise ColumnError(f"{rows.name} has a column {taken[0]!r}, which an experiment adds: give it another name")
    for role in _GOLD & {role for metric in metrics for role in metric.definition.columns} if gold is None else ():
        map_columns(rows.schema.names, [role], {role: given[role]} if role in given else {}, where=rows.name)


def _counting(progress: Progress | None, rows: int | None, repetitions: int) -> Callable[[int], None] | None:
    """Told of rows one by one, `progress` is told of all that are done."""
    if progress is None:
        return None
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        progress(done, None if rows is None else rows * repetitions)

    return advance


def _said(failures: Counter[str], n: int) -> str:
    most = "; ".join(f"{message} ({count})" for message, count in failures.most_common(3))
    return f"the task failed on {failures.total()} of {n} rows, which have no prediction: {most}"
