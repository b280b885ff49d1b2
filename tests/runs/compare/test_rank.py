"""`karat.rank`: systems of every kind in an order, equal to comparisons of two, and what is reported and refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.errors import DataError, JoinError, SpecError

N = 80


def table(right, seed=0, **more):
    """Scored rows of a system that has a share of the answers right; hard questions are hard for all."""
    hard, own = np.random.default_rng(1).random(N), np.random.default_rng(seed).random(N)
    answers = np.where(0.6 * hard + 0.4 * own < right, "yes", "no")
    return {"id": range(N), "topic": ["x", "y"] * (N // 2), "gold": ["yes"] * N, "prediction": answers.tolist(), **more}


@pytest.fixture
def results():
    return [
        karat.score(table(right, seed), ["exact_match", "token_f1"]) for seed, right in enumerate((0.3, 0.5, 0.55, 0.9))
    ]


def test_every_pair_is_the_finding_of_a_comparison_of_two(results):
    ranked = karat.rank(*results, metrics="exact_match")
    for pair in ranked.rankings[0].pairs:
        one, other = ("ABCD".index(name) for name in (pair.system, pair.other))
        found = karat.compare(results[other], results[one], metrics="exact_match").findings[0].comparison
        assert (pair.difference, pair.low, pair.high, pair.p) == pytest.approx(
            (found.difference, found.low, found.high, found.p), rel=1e-12
        )
    assert [each.system for each in ranked.rankings[0].systems] == ["D", "C", "B", "A"]
    assert ranked.family == 6


def test_values_are_those_of_the_systems_and_slices_rankings_of_their_own(results):
    ranked = karat.rank(*results, by="topic")
    assert [each.heading for each in ranked.rankings] == [
        f"{spec}{part}" for spec in ("exact_match", "token_f1") for part in ("", ", x", ", y")
    ]
    assert ranked.family == 36
    whole = {each.system: each for each in ranked.rankings[0].systems}
    for name, result in zip("ABCD", results, strict=True):
        value = result.values["exact_match"]
        assert (whole[name].value, whole[name].low, whole[name].high) == (value.value, value.low, value.high)
    assert [each.n for each in ranked.rankings[:3]] == [N, N // 2, N // 2]


def test_runs_and_files_in_any_order_of_rows_rank_as_results_do(results, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    order = np.random.default_rng(0).permutation(N)
    mixed = []
    for at, result in enumerate(results):
        rows = pa.table(table(0.5)).append_column("score", result.table["exact_match"]).take(pa.array(order))
        pq.write_table(rows, tmp_path / f"{at}.parquet")
        mixed.append(tmp_path / f"{at}.parquet")
    by_column = karat.rank(*mixed, metrics="column(score, low=0, high=1)")
    assert [each.p for each in by_column.rankings[0].pairs] == [
        each.p for each in karat.rank(*results, metrics="exact_match").rankings[0].pairs
    ]
    for at, right in enumerate((0.2, 0.9)):
        karat.score(table(right, at), "exact_match", run=f"run{at}")
    assert [each.system for each in karat.rank("run0", "run1").rankings[0].systems] == ["run1", "run0"]


def test_corpus_metrics_and_less_is_better(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = [{"id": n, "gold": "the cat sat on the mat", "prediction": "the cat sat"} for n in range(9)]
    karat.score(rows, "wer", run="short")
    karat.score([{**row, "prediction": "the cat sat on the" if row["id"] else "a"} for row in rows], "wer", run="long")
    ranked = karat.rank("short", "long").rankings[0]
    assert (ranked.direction, ranked.pairs[0].test) == ("minimize", "student")
    assert [(each.system, each.value) for each in ranked.systems] == [("long", pytest.approx(14 / 54)), ("short", 0.5)]
    assert ranked.pairs[0].difference == pytest.approx(14 / 54 - 0.5)


def test_rows_that_a_system_has_no_score_for_do_not_count_and_are_noted():
    scores = np.linspace(0, 1, 20)
    rows = [{"id": np.arange(20), "score": np.where(np.arange(20) < gone, np.nan, scores)} for gone in (0, 3, 1)]
    ranked = karat.rank(*(karat.score(each, "column(score)") for each in rows))
    assert [(each.system, each.missing) for each in ranked.rankings[0].systems] == [("A", 0), ("B", 3), ("C", 1)]
    assert (ranked.rankings[0].n, ranked.rankings[0].scored) == (20, 17)
    assert "column(score): 3 of 20 rows do not count, as a system has no score; 3 for B" in ranked.notes


def test_more_systems_than_letters(results):
    ranked = karat.rank(*[results[0]] * 28)
    assert ranked.systems[-2:] == ("AA", "AB")
    assert {each.groups for each in ranked.rankings[0].systems} == {("a",)}
    assert {(each.rank, each.rank_low, each.rank_high) for each in ranked.rankings[0].systems} == {(1, 1, 28)}


def test_as_frame_and_as_json_have_every_system_and_pair(results):
    ranked = karat.rank(*results, correction="bh")
    assert len(ranked.to_frame()) == 8
    assert len(ranked.to_frame(pairs=True)) == 12
    shown = ranked.as_dict()
    assert (shown["correction"], shown["family"], len(shown["rankings"][0]["pairs"])) == ("bh", 12, 6)
    assert set(shown["rankings"][0]["systems"][0]) == {
        "system", "rank", "rank_low", "rank_high", "groups", "value", "low", "high", "missing",
    }  # fmt: skip


def test_what_cannot_be_ranked_is_refused(results):
    with pytest.raises(SpecError, match="at least two systems"):
        karat.rank(results[0])
    with pytest.raises(JoinError, match="do not have the same rows"):
        karat.rank(results[0], karat.score({**table(0.4), "id": range(1, N + 1)}, "exact_match"))
    with pytest.raises(DataError, match="different gold"):
        karat.rank(results[0], karat.score({**table(0.4), "gold": ["no"] * N}, "exact_match"))
    with pytest.raises(SpecError, match="'holm' or 'bh'"):
        karat.rank(*results, correction="none")
