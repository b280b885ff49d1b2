"""Rows whose time would grow with the product of two lengths are unscored beyond one bound, and say why."""

import json

import numpy as np
import pytest

from karat.core.columns.kinds import to_arrow
from karat.core.metric import rows as bound
from karat.core.metric.score import score_rows
from karat.core.metric.spec import parse
from karat.metrics.tools import calls

BOUND = 10_000  # of pairs, in place of 10**10
WORDS = [" ".join(f"{letter}{at % 97}" for at in range(900)) for letter in "ab"]
LETTERS = ["a" * 900, "b" * 900]
CALLS = [[{"name": "f", "arguments": {"x": at}} for at in range(start, start + 300)] for start in (0, 300)]
ITEMS = [json.dumps([{"a": at, "b": [at]} for at in range(start, start + 500)]) for start in (0, 500)]
SPANS = [[f"w{at}" for at in range(start, start + 200)] for start in (0, 200)]
TOO_LONG = {
    **dict.fromkeys(("wer", "rouge_l", "rouge_lsum", "caption_rouge_l", "ter"), WORDS),
    **dict.fromkeys(("cer", "levenshtein", "rouge_l(tokenize='chars')"), LETTERS),
    **dict.fromkeys(("json_fields", "json_match(lists='set', partial=True)"), ITEMS),
    **{f"tool_call_{name}": CALLS for name in ("f1", "match", "f1(partial=True)", "match(mode='ordered')")},
    **{f"trajectory_match(mode={mode!r})": CALLS for mode in ("unordered", "strict")},
    "drop_f1": SPANS,
}


def columns_of(metric, rows):
    roles = list(metric.definition.columns)[:2]
    kinds = metric.definition.columns
    return {
        role: to_arrow(list(cells), role, kinds[role])
        for role, cells in zip(roles, zip(*rows, strict=True), strict=True)
    }


@pytest.mark.parametrize("spec", TOO_LONG)
def test_a_row_that_would_never_end_is_unscored_with_its_length_and_what_to_do(spec, monkeypatch):
    monkeypatch.setattr(bound, "MOST_PAIRS", BOUND)
    monkeypatch.setattr(calls, "MOST_PAIRS", BOUND)
    metric, (one, other) = parse(spec), TOO_LONG[spec]
    if spec == "ter":
        pytest.importorskip("sacrebleu")
    short = one[:1] if isinstance(one, list) else "[1]" if one[0] == "[" else "a0"
    found = score_rows(metric, columns_of(metric, [(one, other), (short, short)]))
    assert np.isnan(found.statistics[0]).all()
    assert "pairs" in found.reasons[0]
    assert "shorten the texts or lists of this row" in found.reasons[0]
    alone = score_rows(metric, columns_of(metric, [(short, short)]))
    assert found.statistics[1].tolist() == alone.statistics[0].tolist()
    assert found.reasons[1] is None


CLOSE = [("a b c d e f", "a x c y e z f"), ("b a", "a b"), ("x", "x"), ("", "a b"), ("c c c c c c c", "d d d d d d d")]


@pytest.mark.parametrize("spec", ["wer", "cer", "levenshtein", "rouge_l", "rouge_lsum", "caption_rouge_l"])
def test_below_the_bound_values_are_as_without_one(spec, monkeypatch):
    metric = parse(spec)
    before = metric(*zip(*CLOSE, strict=True)).to_pylist()
    for most in (10_000, 100, 4):
        monkeypatch.setattr(bound, "MOST_PAIRS", most)
        after = metric(*zip(*CLOSE, strict=True)).to_pylist()
        assert all(new in (None, old) for new, old in zip(after, before, strict=True))
        assert after == before or most < 10_000
    assert after != before


def test_equal_texts_of_any_length_are_compared():
    long = "ab " * 300_000
    for spec, best in (("wer", 0), ("levenshtein", 1)):
        metric = parse(spec)
        assert metric([long], [long]).to_pylist() == [best]
        assert metric([long], [long[::-1]]).to_pylist() == [None]


def test_metrics_of_linear_time_have_no_bound():
    assert parse("jaro_winkler")(["ab" * 450_000], ["ba" * 450_000]).to_pylist() == pytest.approx([5 / 6])


def test_pairs_of_one_row_do_not_count_for_the_next():
    texts = [json.dumps([{"a": at} for at in range(start, start + 1_500)]) for start in (0, 1)]
    assert parse("json_fields")(texts[:1] * 3, texts[1:] * 3).null_count == 0


def test_the_ideal_ranking_of_very_many_documents_is_not_looked_for():
    documents = {f"d{at}": {"1": 1} for at in range(40_000)}
    metric = parse("alpha_ndcg(ideal='judged')")
    kinds = metric.definition.columns
    roles = list(kinds)
    cells = [[["d1"], ["a"]], [documents, {"a": {"1": 1}}]]
    found = score_rows(
        metric, {role: to_arrow(each, role, kinds[role]) for role, each in zip(roles, cells, strict=True)}
    )
    assert found.reasons[0].startswith("40,000 x 40,000 judged documents")
    assert found.statistics[1].tolist() == [1]
    assert parse("alpha_ndcg(ideal='judged')@5")([["d1"]], [documents]).null_count == 0
