"""An experiment: a task answers every row of a table, and the answers are scored."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from karat.core.context import current_context
from karat.core.errors import ColumnError, DataError, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.data.open import open_source
from karat.data.roles import map_columns
from karat.data.source import Source
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.runs.columns.gold_patch import read_patch
from karat.runs.columns.patched_gold import patch_gold
from karat.runs.experiment.answers import ERROR, REPETITION, ROW, AnsweredRows, answer_rows, open_answers
from karat.runs.experiment.task import RowTask, load_task
from karat.runs.scoring.arguments import Destination, Selection
from karat.runs.scoring.pipeline import carry_out
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.provenance.describe import describe_run
from karat.runs.scoring.result import Result
from karat.runs.scoring.tasks.progress import Progress, RowCounter
from karat.runs.store.folders import REPLIES
from karat.stats.inference import Inference

_GOLD = {"reference", "relevant"}  # the roles that a task cannot answer
_MAX_PAUSE = 60.0  # seconds between two attempts


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
    gold_patch: Any = None,
    output: str | Path | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    run: str | None = None,
    resume: bool = False,
    concurrency: int | None = None,
    repetitions: int = 1,
    timeout: float = 60.0,
    attempts: int = 6,
    progress: Progress | None = None,
) -> Result:
    """Have a task answer every row of a table, and score the answers.

    `task`: a function, or `FILE.py:FUNCTION`. It gets the columns that are named as its parameters; a function whose
    only parameter has another name gets the whole row, a dict. It returns the prediction: text, a list, None, or a dict
    of columns (`prediction`, `contexts`, …). It may be async; other functions run in threads. `concurrency` rows
    run at a time, fewer where the task refuses some; by default 8, and up to 64 while it is not slower.

    Each call may take `timeout` seconds. After an error that may pass (a time-out, a lost connection, HTTP 429 or 5xx)
    it is repeated, up to `attempts` calls, with pauses. If the last call fails, the prediction of the row is null, the
    column `error` says why, and a warning counts such rows.

    `repetitions`: how often each row is answered; the columns `row` and `repetition` identify the answers, and the
    answers to one row are one cluster of the intervals. `run`: the name of a run; answers are stored as they come, and
    `resume` asks only for those that are missing. All other parameters are as in `karat.score`.

    Raises a `karat.KaratError` whose message says what to do.

    >>> capitals = {"France": "Paris", "Italy": "Rome"}
    >>> rows = {"country": ["France", "Italy"], "gold": ["Paris", "Milan"]}
    >>> result = experiment(rows, lambda country: capitals[country], "em")
    >>> result.values["em"].value, result.table.column("prediction").to_pylist()
    (0.5, ['Paris', 'Rome'])
    """
    if repetitions < 1 or timeout <= 0:
        raise SpecError(f"repetitions={repetitions} must be 1 or more, timeout={timeout} more than 0")
    inference, destination = Inference(confidence, seed), Destination(output, run, resume)
    if cluster is None and repetitions > 1:
        cluster = ROW
    patch = None if gold_patch is None else read_patch(gold_patch)
    selection = Selection(data, gold, on, map or {}, by, cluster, where, limit, gold_patch=patch)
    if gold is not None and repetitions > 1:
        raise SpecError("repetitions need the gold in the rows themselves, not in a second table")
    destination.check(selection)
    chosen = parse_all(metrics)
    rows = open_source(data, where=where, limit=limit)
    _check_columns(rows, chosen, selection, repetitions)
    loaded = load_task(task)
    row_task = RowTask(loaded.bind(rows.schema.names), timeout, attempts)
    settings = {"task": loaded.name, "digest": loaded.digest, "repetitions": repetitions}
    with open_answers(run, settings, resume=resume) as folder, ReplyCache(folder / REPLIES) as store:
        governor = Governor(
            concurrency=concurrency,
            attempts=attempts,
            timeout=2 * timeout,  # longer than the time-out of the task itself, which comes first
            row_timeout=attempts * (2 * timeout + _MAX_PAUSE),
            store=store,
            progress=RowCounter(progress, None if rows.rows is None else rows.rows * repetitions).advance,
        )
        if (watched := current_context().watched) is not None:
            watched.append(governor)
        answers = answer_rows(governor, store, folder, rows, row_task, repetitions)
        if not answers.stat().st_size:
            raise DataError(f"{rows.name} has no rows")
        answered = AnsweredRows(rows, open_source(answers), repetitions)
        plan = plan_run(replace(selection, data=answered, where=None, limit=None), chosen, inference, errors=ERROR)
        manifest = None if run is None else describe_run(plan, selection, run, settings)
        result = carry_out(plan, destination, progress, manifest)
        failures = answered.count_errors()
    if failures:
        warnings.warn(_describe(failures, len(answered)), stacklevel=2)
    return result


def _check_columns(rows: Source, metrics: list[Metric], selection: Selection, repetitions: int) -> None:
    """Raise, before the task is called, for missing gold, a patch of other gold, and columns that are added anyway."""
    added = [ERROR] if repetitions == 1 else [ERROR, ROW, REPETITION]
    if taken := [name for name in added if name in rows.schema.names]:
        raise ColumnError(f"{rows.name} has a column {taken[0]!r}, which an experiment adds: rename it")
    if selection.gold is not None:
        return
    for role in _GOLD & {role for metric in metrics for role in metric.definition.columns}:
        named = {role: selection.map[role]} if role in selection.map else {}
        mapping = map_columns(rows.schema.names, [role], named, where=rows.name)
        if role == "reference" and selection.gold_patch is not None:
            patch_gold(rows, selection.gold_patch, mapping, selection.on or "")


def _describe(failures: Counter[str], n: int) -> str:
    most = "; ".join(f"{message} ({count})" for message, count in failures.most_common(3))
    return f"the task failed on {failures.total()} of {n} rows, which have no prediction: {most}"
