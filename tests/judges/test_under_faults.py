"""With faults in the requests, every row has a score or a reason, no row is scored twice, and the totals add up."""

import json
import os
from collections import Counter

import pytest

import karat
from karat.judges import Judge, use_governor
from karat.models.governor.governor import Governor
from karat.models.governor.retry import RetryPolicy
from karat.models.testing.fake import FakeServer

ROWS = int(os.environ.get("KARAT_FAULTY_ROWS", "60"))  # 5000 for the whole exercise
PASSING = [
    "429",
    "429-after",
    "500",
    "503",
    "503-after",
    "reset",
    "cut",
    "page",
    "drip",
    "fenced",
    "prose",
    "order",
    "hang",
]
FAILING = ["refusal", "filter", "length", "truncated", "empty", "keys", "types", "context", "filtered"]


def truth(row):
    return "correct" if row % 3 else "incorrect"


def judged(messages):
    asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
    row = int(json.loads(asked.partition("\n")[2].rpartition("\n")[0])["question"])
    return {"explanation": f"row {row}", "label": truth(row)}


def run(monkeypatch, rows, faults, timeout=60.0, seed=0):
    monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.01)
    table = [{"id": n, "question": str(n), "prediction": "p", "reference": ["r"]} for n in range(rows)]
    with FakeServer(judged, faults=faults, wait=0.01, price=(1.0, 2.0), seed=seed) as server:
        governor = Governor(timeout=timeout, attempts=12)
        with use_governor(governor, base_url=server.url):
            result = karat.score(table, Judge("correctness", model="small"))
        return result, governor.totals, server


def check(result, totals, server, rows):
    spec = result.metrics[0].spec
    table = result.table.to_pylist()
    value = result.values[spec]
    assert [row["id"] for row in table] == list(range(rows))
    scored = [row for row in table if row[spec] is not None]
    failed = [row for row in table if row[spec] is None]
    assert all(row[f"{spec}.label"] == truth(row["id"]) for row in scored)
    assert all(row[f"{spec}.explanation"] == f"row {row['id']}" for row in scored)
    assert all(row["reason"] and row["reason"] == row[f"{spec}.error"] for row in failed)
    assert (value.n, value.scored, value.unscored) == (rows, len(scored), len(failed))
    total = sum(row[spec] for row in scored)
    assert (value.worst, value.best) == pytest.approx((total / rows, (total + len(failed)) / rows))
    assert Counter(row["reason"] for row in failed) == result.reasons[spec]
    for name in ("input_tokens", "output_tokens", "cost"):
        assert sum(row[f"{spec}.{name}"] or 0 for row in table) == pytest.approx(getattr(totals, name) or 0)
    assert totals.calls >= rows
    return failed


@pytest.mark.parametrize("fault", PASSING)
def test_a_transient_fault_fails_no_row(fault, monkeypatch):
    result, totals, server = run(monkeypatch, ROWS, {fault: 0.3}, timeout=0.5 if fault == "hang" else 60.0)
    assert check(result, totals, server, ROWS) == []


@pytest.mark.parametrize("fault", FAILING)
def test_a_faulty_reply_fails_its_own_row_only(fault, monkeypatch):
    result, totals, server = run(monkeypatch, ROWS, {fault: 0.3})
    failed = check(result, totals, server, ROWS)
    assert len(failed) < 0.5 * ROWS


def test_all_faults_at_once(monkeypatch):
    rows = max(600, 4 * ROWS)
    faults = dict.fromkeys([each for each in PASSING + FAILING if each not in ("hang", "drip")], 0.3 / 20)
    result, totals, server = run(monkeypatch, rows, faults, seed=7)
    assert len(check(result, totals, server, rows)) < 0.1 * rows
