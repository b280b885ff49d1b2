"""Scores for the batch endpoint of Langfuse's API (api.reference.langfuse.com, `POST /api/public/ingestion`)."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from karat.core.columns.ids import SPAN_IDS, TRACE_IDS
from karat.core.errors import ColumnError, DataError
from karat.models.governor.faults import Fault, classify
from karat.models.governor.retry import RetryPolicy, retry_blocking
from karat.runs.compare.scored_rows import ScoredRow, read_scored_rows
from karat.runs.match.systems import System, open_system

_TRACES = (*TRACE_IDS, "traceId")
_SPANS = ("observationId", "observation_id", *SPAN_IDS)
_BATCH = 100  # scores a request, as Langfuse's own clients
_TIMEOUT = 60.0
_RETRIES = RetryPolicy(6, longest_pause=15.0, unreachable_attempts=1)


def send_scores(system: System, *, trace: str | None = None, host: str | None = None) -> int:
    """Send each row's score by each metric as a score of the row's trace; the number that was sent.

    `trace` is the column of the ids of traces, by default `trace_id`; with a column `observation_id` or `span_id` a
    score belongs to an observation. Rows without an id, and without a score, send none. A score's name is the metric's
    spec and its comment the judge's explanation; the label of a judge is a categorical score `SPEC.label`. Sending
    again replaces: the id of a score follows from the trace, the observation and the metric's signature. `host` is by
    default `LANGFUSE_HOST`; `LANGFUSE_PUBLIC_KEY` and `LANGFUSE_SECRET_KEY` are the keys.

    Raises `ColumnError` without a column of traces, `DataError` where a key is missing and for scores that Langfuse
    did not take.
    """
    run = open_system(system)
    trace = trace or next((name for name in _TRACES if name in run.schema.names), None)
    if trace is None:
        expected = f"{' or '.join(_TRACES)} is expected, or trace=COLUMN says which one does"
        raise ColumnError(f"{run.name}: no column holds the id of each row's trace: {expected}")
    span = next((name for name in _SPANS if name in run.schema.names), None)
    signatures = {metric.spec: metric.signature or metric.spec for metric in run.manifest.metrics}
    columns = [trace] if span is None else [trace, span]
    scores = [
        score
        for row in read_scored_rows(run, columns)
        if row.columns[trace]
        for score in _scores(row, row.columns[trace], span and row.columns[span], signatures)
    ]
    send = partial(
        _send, (host or os.environ.get("LANGFUSE_HOST") or "https://cloud.langfuse.com").rstrip("/"), _keys()
    )
    for first in range(0, len(scores), _BATCH):
        send(scores[first : first + _BATCH])
    return len(scores)


def _keys() -> str:
    names = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
    if missing := [name for name in names if not os.environ.get(name)]:
        raise DataError(f"{missing[0]} is not set: Langfuse's project settings show both keys")
    return b64encode(":".join(os.environ[name] for name in names).encode()).decode()


def _scores(row: ScoredRow, trace: str, span: str | None, signatures: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    place = {"traceId": trace, **({"observationId": span} if span else {})}
    for spec, signature in signatures.items():
        score, details = row.scores[spec], row.details.get(spec, {})
        if score is None:
            continue
        comment = details.get("explanation", details.get("statements"))
        about = {**place, **({"comment": comment} if comment else {})}
        key = str(uuid5(NAMESPACE_URL, "\n".join([trace, span or "", signature])))
        yield {"id": key, "name": spec, "value": score, "dataType": "NUMERIC", **about}
        if "label" in details:
            label = str(uuid5(NAMESPACE_URL, f"{key}\nlabel"))
            yield {
                "id": label,
                "name": f"{spec}.label",
                "value": str(details["label"]),
                "dataType": "CATEGORICAL",
                **about,
            }


def _send(host: str, keys: str, scores: Sequence[Mapping[str, Any]]) -> None:
    now = datetime.now(UTC).isoformat()
    batch = [{"id": each["id"], "type": "score-create", "timestamp": now, "body": each} for each in scores]
    request = urllib.request.Request(  # noqa: S310  (the user's own server)
        f"{host}/api/public/ingestion",
        json.dumps({"batch": batch}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Basic {keys}"},
    )

    def attempt() -> dict[str, Any] | Fault:
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:  # noqa: S310
                reply: dict[str, Any] = json.load(response)
        except urllib.error.HTTPError as error:
            with error:  # a connection, which is to be closed
                return classify(error)
        except (OSError, ValueError) as error:
            return classify(error)
        return reply

    outcome = retry_blocking(attempt, _RETRIES)
    if isinstance(outcome, Fault):
        raise DataError(f"{host} did not take the scores: {outcome.message}") from outcome.error
    if errors := outcome.get("errors"):
        about = errors[0].get("message") or errors[0].get("error")
        raise DataError(f"{host} did not take {len(errors)} of {len(scores)} scores, the first because: {about}")
