"""`percentile(NAME, p=)`: exact values in every engine and format, comparisons, and what has no answer."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.runs.compare.rows_needed import plan_rows

SPEC = "percentile(seconds, p=95, direction=minimize)"
KEPT = "percentile(seconds, direction='minimize', p=95)"


def table(seed=0, n=400, factor=1.0):
    seconds = np.random.default_rng(seed).lognormal(0, 0.8, n) * factor
    return {"id": [f"q{at}" for at in range(n)], "seconds": seconds, "topic": ["x", "y"] * (n // 2)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("percentile", r"percentile needs the name of a column of numbers: percentile\(NAME\)"),
        ("percentile(seconds, p=0)", "p=0 does not lie between 0 and 100"),
        ("percentile(seconds, p=0.95)", None),
        ("percentile(seconds, p=100)", "p=100 does not lie"),
        ("percentile(seconds, q=95)", "no setting 'q'"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(text, message):
    if message is None:
        assert parse(text).finish.share == 0.0095
        return
    with pytest.raises(SpecError, match=message):
        parse(text)


def test_values_groups_and_intervals_are_those_of_the_numbers():
    rows = table()
    result = karat.score(rows, [SPEC, "percentile(seconds)"], by="topic")
    tail, median = result.values.values()
    assert [tail.value, median.value] == pytest.approx(np.quantile(rows["seconds"], [0.95, 0.5]))
    assert tail.low < tail.value < tail.high
    assert next(iter(result.values)) == KEPT
    assert result.groups[KEPT]["x"].value == pytest.approx(np.quantile(rows["seconds"][::2], 0.95))
    assert result.table[KEPT].to_pylist() == rows["seconds"].tolist()


def test_tasks_and_runs_give_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = table(n=30_000)
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet", row_group_size=4_000)
    one = karat.score(rows, SPEC, by="topic", run="one")
    parts = karat.score(tmp_path / "rows.parquet", SPEC, by="topic", run="parts", engine="threads")
    assert one.values == parts.values
    assert one.groups == parts.groups
    compared = karat.compare("one", "parts").findings[0].comparison
    assert (compared.difference, compared.p, compared.a) == (0, 1, one.values[KEPT].value)


def test_files_and_runs_are_compared_with_slices(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, factor in (("a", 1.0), ("b", 1.6)):
        rows = table(factor=factor)
        lines = (json.dumps(dict(zip(rows, each, strict=True))) for each in zip(*rows.values(), strict=True))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
        karat.score(rows, SPEC, run=name)
    by_file, by_run = karat.compare("a.jsonl", "b.jsonl", metrics=SPEC, by="topic"), karat.compare("a", "b", by="topic")
    assert [each.comparison for each in by_file.findings] == [each.comparison for each in by_run.findings]
    assert [each.comparison.test for each in by_run.findings] == ["exceedance"] * 3
    assert by_run.findings[0].verdict == "worse"
    assert "b is worse than a by" in by_run.findings[0].sentence


def test_what_is_not_known_of_percentiles_is_refused():
    one, other = (karat.score(table(factor=factor), SPEC) for factor in (1, 2))
    with pytest.raises(SpecError, match="percentiles and curves, which are not computed from sums"):
        plan_rows(one, 0.1)
    assert plan_rows((one, other), 0.1)[KEPT].rows > 0
    clustered = karat.score({**table(), "person": list(range(40)) * 10}, SPEC, cluster="person").values[KEPT]
    assert (clustered.low, clustered.high) == (None, None)
