"""What doubtful rows change: every verdict is that of `karat.compare` on rows that were changed by hand."""

import pytest

import karat
from karat.core.errors import SpecError
from karat.runs.columns.gold_patch import read_patch
from karat.runs.gold.consequence import ReportedRows, find_consequence
from karat.runs.match.match import match
from karat.stats.inference import Inference

ROWS = 60
GOLD = ["g"] * ROWS
FIRST = ["x"] * 20 + ["g"] * 40  # wrong in 20 rows
SECOND = ["y"] * 6 + ["g"] * 50 + ["z"] * 4  # wrong in 10: right in 14 that the first has wrong, and the reverse in 4


def table(answers, gold=GOLD):
    return {"id": range(ROWS), "prediction": answers, "gold": gold}


def score(answers, gold=GOLD, spec="em", **more):
    return karat.score(table(answers, gold), spec, **more)


def outcomes(first, second, ids, patch=None):
    matched, rows = match([first, second]), ReportedRows([str(at) for at in ids])
    found = find_consequence(matched, matched.metrics[0].spec, rows, Inference(), patch)
    return found, {each.rows: (each.verdict, each.difference, each.p) for each in found.outcomes}


def verdict(first, second):
    finding = karat.compare(first, second).findings[0]
    return finding.verdict, finding.comparison.difference, finding.comparison.p


def test_each_outcome_is_a_comparison_of_rows_that_were_changed_by_hand():
    first, second, doubtful = score(FIRST), score(SECOND), [*range(6, 16)]
    patch = read_patch([{"id": at, "old": "g", "new": "x", "verdict": "wrong"} for at in doubtful[:8]])
    found, shown = outcomes(first, second, doubtful, patch)
    assert shown["as scored"] == verdict(first, second)
    missing = [None if at in doubtful else "g" for at in range(ROWS)]
    assert shown["left out"] == verdict(score(FIRST, missing), score(SECOND, missing))
    patched = ["x" if at in doubtful[:8] else "g" for at in range(ROWS)]
    assert shown["patched by list"] == verdict(score(FIRST, patched), score(SECOND, patched))
    decided = ["x" if at in doubtful else "g" for at in range(ROWS)]
    assert shown["decided for A"] == verdict(score(FIRST, decided), score(SECOND, decided))
    assert list(shown) == ["as scored", "left out", "patched by list", "decided for A"]
    assert found.changes
    assert found.sentence == (
        "em: as scored, B is better than A; with the 10 doubtful rows left out or patched by list, "
        "no difference could be shown; with them decided for A, B is worse than A"
    )


def test_rows_that_both_answer_alike_decide_nothing():
    alike = [*range(20, 56)]  # both answer g
    _, shown = outcomes(score(FIRST), score(SECOND), alike)
    assert shown["decided for A"] == shown["as scored"]


def test_where_no_difference_is_shown_the_rows_are_decided_for_either():
    first, second = score(FIRST), score(["x"] * 19 + ["g"] * 41)
    found, shown = outcomes(first, second, range(20))
    assert list(shown) == ["as scored", "left out", "decided for A", "decided for B"]
    assert {verdict for verdict, _, _ in shown.values()} == {"unclear"}
    assert not found.changes
    assert found.sentence.endswith("left out, decided for A or decided for B, no difference could be shown")


def test_what_was_not_tried_is_said():
    patch = read_patch([{"id": 0, "old": "g", "new": "x", "verdict": "wrong"}])
    first, second = (score(answers, gold_patch=patch) for answers in (FIRST, SECOND))
    assert "the gold is patched as scored" in outcomes(first, second, [1], patch)[0].note
    judged = [karat.score({**table(answers), "x": [0.5] * ROWS}, "column(x)") for answers in (FIRST, SECOND)]
    assert "column(x) reads no gold" in outcomes(*judged, [1], patch)[0].note
    corpus = match([score(answers, spec="bleu") for answers in (FIRST, SECOND)])
    assert find_consequence(corpus, "bleu", ReportedRows(["1"]), Inference()) is None
    with pytest.raises(SpecError, match="of two systems, found 1"):
        find_consequence(match([first]), "em", ReportedRows(["1"]), Inference())


def test_metrics_of_counts_have_no_worst(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    first, second = (score(answers, spec="wer", run=name) for name, answers in (("a", FIRST), ("b", SECOND)))
    found, shown = outcomes(first, second, range(6, 16))
    assert list(shown) == ["as scored", "left out"]
    assert "wer has no bounds of a row's score, so the worst is not known" in found.sentence
