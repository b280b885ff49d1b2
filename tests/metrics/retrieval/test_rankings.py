"""Metrics of rankings: trec_eval's values, their papers' examples, and kernels that equal the definitions."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core.columns.column_cache import column_cache
from karat.core.columns.kinds import IDS
from karat.core.metric.score import score_rows
from karat.core.metric.spec import parse
from karat.errors import RowError, SpecError
from karat.metrics import (
    average_precision,
    bpref,
    err,
    hit_rate,
    interpolated_precision,
    judged,
    ndcg,
    ndcg_at_levels,
    ndcg_at_relevant,
    normalized_gain,
    precision,
    r_precision,
    rank_biased_precision,
    recall,
    reciprocal_rank,
)
from karat.metrics.retrieval import alignment, ranking
from karat.metrics.retrieval.ranking import DEFINITIONS, Formula

pytrec_eval = pytest.importorskip("pytrec_eval")
GAINED = [ndcg_at_relevant, ndcg_at_levels, normalized_gain]
NAMES = {"é", "a", "b", "doc-0000001", "doc-0000002", "xoc-0000002", "a\0", "\0a", "漢字漢字漢字", "/index.html"}
names = st.sampled_from(sorted(NAMES | {f"https://site/{at}/index.html" for at in range(40)}))
judgeable = names.filter(lambda name: "\0" not in name)  # C's texts end there
rankings = st.lists(st.none() | st.just("") | names, max_size=60)
graded = st.lists(st.tuples(names, st.sampled_from([-2.0, 0.0, 0.5, 1.0, 2.0, 3.0, np.nan])), max_size=60)
SPECS = {  # pytrec_eval's name -> a spec
    **{name: name for name in ("map", "recip_rank", "Rprec", "bpref", "set_P", "set_recall", "set_F", "ndcg")},
    **{name: name for name in ("P_5", "recall_5", "map_cut_5", "ndcg_cut_5", "success_5", "relative_P_5")},
    **{name: name for name in ("P_100", "recall_100", "map_cut_100", "ndcg_cut_100", "success_1", "relative_P_100")},
    **{name: name for name in ("11pt_avg", *(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)))},
    **{name: name for name in ("infAP", "binG", "G", "ndcg_rel", "Rndcg", "set_map", "set_relative_P", "utility")},
    **{name: name for name in ("num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")},
    **{f"Rprec_mult_{m}": f"Rprec_mult_{m}" for m in ("0.20", "0.60", "1.00", "1.80")},
}


@cache
def metric_of(spec, rel):
    metric = parse(spec)
    return metric.using(rel=rel) if "rel" in metric.settings else metric


@given(
    st.lists(
        st.tuples(
            st.dictionaries(judgeable, st.integers(0, 5), min_size=1, max_size=50),
            st.dictionaries(judgeable, st.integers(-2, 4), min_size=1, max_size=50).filter(
                lambda grades: max(grades.values()) >= 0  # trec_eval's memory of levels starts there
            ),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 3),
)
def test_every_measure_of_pytrec_eval_topic_by_topic(topics, rel):
    families = {name.rpartition("_")[0] if name[-1].isdecimal() else name for name in SPECS}
    evaluator = pytrec_eval.RelevanceEvaluator(
        {str(at): gold for at, (_, gold) in enumerate(topics)}, families, relevance_level=rel
    )
    found = evaluator.evaluate({str(at): run for at, (run, _) in enumerate(topics)})
    theirs = [found[str(at)] for at in range(len(topics))]
    retrieved = [sorted(run, key=lambda name, run=run: (run[name], name.encode()), reverse=True) for run, _ in topics]
    relevant = [gold for _, gold in topics]
    for name, spec in SPECS.items():
        ours = metric_of(spec, rel)(retrieved, relevant).to_pylist()
        if name == "Rndcg":  # trec_eval does not compute it where no grade is `rel`, though gains need none
            ours = [score * (max(gold.values()) >= rel) for score, gold in zip(ours, relevant, strict=True)]
        np.testing.assert_allclose(ours, [each[name] for each in theirs], rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.skipif(not alignment.COMPILED, reason="nothing is compiled")
@given(
    st.lists(st.tuples(rankings, graded), max_size=8),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_the_compiled_alignment_is_the_definition(rows, skipped, plain, kind):
    retrieved = pa.array([row for row, _ in rows], pa.list_(kind))
    golds = [[name for name, _ in gold] if plain else gold for _, gold in rows]
    relevant = pa.array(golds, pa.list_(kind) if plain else pa.map_(kind, pa.float64()))
    aligned = alignment.align(retrieved.slice(skipped), relevant.slice(skipped))
    expected = [alignment.align_row(row, gold) for (row, _), gold in zip(rows[skipped:], golds[skipped:], strict=True)]
    np.testing.assert_equal(list(aligned.rows()), [(list(matches), list(judged_)) for matches, judged_ in expected])


@given(
    st.lists(st.lists(st.none() | st.integers(-3, 40)), min_size=1),
    st.lists(st.lists(st.integers(-3, 40)), min_size=1),
    st.booleans(),
)
def test_numbers_and_their_text_align_alike(retrieved, relevant, as_text):
    rows = min(len(retrieved), len(relevant))
    numbers = [pa.array(each[:rows], pa.large_list(pa.int64())) for each in (retrieved, relevant)]
    texts = [each.cast(pa.list_(pa.string())) for each in numbers]
    expected = [alignment.align_row(a, b) for a, b in zip(retrieved[:rows], relevant[:rows], strict=True)]
    for given_ in (numbers, texts, [numbers[0], texts[1]] if as_text else [texts[0], numbers[1]]):
        np.testing.assert_equal(list(alignment.align(*given_).rows()), expected)


@pytest.mark.skipif(not ranking.COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("name", DEFINITIONS)
@given(
    rows=st.lists(st.tuples(rankings, graded), min_size=1, max_size=6),
    k=st.none() | st.integers(1, 30),
    setting=st.sampled_from([0.0, 1.0, 2.0, 3.0]),
    other=st.sampled_from([-1.0, 0.0, 0.1, 0.5, 0.8, 1.0, 2.0]),
)
def test_each_compiled_metric_is_its_definition(name, rows, k, setting, other):
    aligned = alignment.align(
        IDS.read([row for row, _ in rows]), pa.array([g for _, g in rows], pa.map_(pa.string(), pa.float64()))
    )
    formula = Formula(name, k, setting, other)
    np.testing.assert_array_equal(formula.score(aligned).statistics, formula.define(aligned))


@pytest.mark.parametrize("compiled", [True, False])
def test_the_name_of_the_python_function_decides_nothing(compiled, monkeypatch):
    monkeypatch.setattr(ranking, "COMPILED", compiled and ranking.COMPILED)
    monkeypatch.setattr(DEFINITIONS["precision"], "__name__", "recall")
    assert precision([["a", "x", "y", "z"]], [["a", "b"]]).to_pylist() == [0.25]


def test_without_a_kernel_the_definitions_are_used(monkeypatch):
    columns = [["a", "x", "b"], []], [{"a": 2, "b": 1, "n": 0}, {"a": 1}]
    compiled = [metric(*columns).to_pylist() for metric in (average_precision, ndcg, bpref, err)]
    monkeypatch.setattr(alignment, "COMPILED", False)
    monkeypatch.setattr(ranking, "COMPILED", False)
    assert [metric(*columns).to_pylist() for metric in (average_precision, ndcg, bpref, err)] == compiled


@pytest.mark.parametrize("compiled", [True, False])
def test_a_gain_too_large_for_a_float_is_unscored(compiled, monkeypatch):
    monkeypatch.setattr(ranking, "COMPILED", compiled and ranking.COMPILED)
    assert ndcg([["a"], ["a"]], [{"a": 1024}, {"a": 1}], gain="exp2").to_pylist() == [None, 1.0]
    assert err([["a"]], [{"a": 2000}], max_grade=2000).to_pylist() == [None]


def test_a_long_ranking_with_many_judged_ids_is_aligned_in_time_linear_in_them():
    many = [f"document-{at:07}-with-the-same-end" for at in range(200_000)]
    assert recall([many], [many[::-2]]).to_pylist() == [1.0]
    assert ndcg([many], [many]).to_pylist() == [1.0]


def test_a_duplicate_counts_at_its_first_rank_and_fills_the_later_one():
    assert precision([["a", "a", "a", "b"]], [["a", "b", "b"]], k=4).to_pylist() == [0.5]
    assert average_precision([["a", "a", "b"]], [["a", "b"]]).to_pylist() == [(1 + 2 / 3) / 2]
    assert recall([["a", "a"]], [["a", "a"]]).to_pylist() == [1.0]


def test_gold_judged_twice_has_its_largest_grade():
    twice = pa.array([[("a", 1.0), ("a", 3.0), ("b", 2.0)]], pa.map_(pa.string(), pa.float64()))
    assert ndcg([["b", "a"]], twice).to_pylist() == ndcg([["b", "a"]], [{"a": 3, "b": 2}]).to_pylist()


def test_null_and_empty_ids_fill_ranks_and_match_nothing():
    assert reciprocal_rank([[None, "", float("nan"), "a"]], [[None, "", float("nan"), "a"]]).to_pylist() == [0.25]
    assert recall([[None]], [[None]]).to_pylist() == [0.0]


@pytest.mark.parametrize("metric", [precision, recall, hit_rate, average_precision, ndcg, bpref, r_precision, err])
def test_rows_without_anything_relevant_are_zero_or_unscored(metric):
    golds = [[], {"a": 0}, {"a": 1}]
    assert metric([["a"]] * 3, golds).to_pylist()[:2] == [0.0, 0.0]
    scores = metric([["a"]] * 3, golds, empty="unscored").to_pylist()
    assert scores[:2] == [None, None]
    assert scores[2] > 0
    result = karat.score({"retrieved": [["a"]], "relevant": [{"a": 0}]}, metric.using(empty="unscored"))
    assert result.reasons[f"{metric.name}(empty='unscored')"] == {"no gold document has the grade of a relevant one": 1}


def test_an_empty_ranking_scores_zero_and_none_is_unscored():
    for metric in (precision, recall, ndcg, average_precision, judged):
        assert metric([[], None], [["a"], ["a"]]).to_pylist() == [0.0, None]


def test_ndcg_with_exponential_gain_is_burges():
    # Burges et al. 2005: (2^3 - 1) / log2(2) + 0 + (2^1 - 1) / log2(4) over the ideal order 3, 2, 1
    gained, ideal = 7 + 1 / 2, 7 + 3 / np.log2(3) + 1 / 2
    scores = ndcg([["a", "x", "c"]], [{"a": 3, "b": 2, "c": 1}], gain="exp2").to_pylist()
    np.testing.assert_allclose(scores, [gained / ideal], rtol=1e-15)


def test_own_gains_are_those_of_trec_evals_definition():
    # pytrec_eval cannot be given gains: the sums of m_ndcg.c and m_G.c at commit 9.0.8, by hand
    columns = [["x", "b", "n", "a"]], [{"a": 1, "b": 2, "n": 0, "c": 3, "u": -1}]
    gains, best = {"1": 3.5, 2: 9, "0": 0.5}, [9, 3.5, 3, 0.5]
    gained = 9 / np.log2(3) + 0.5 / np.log2(4) + 3.5 / np.log2(5)
    ideal = sum(gain / np.log2(rank + 1) for rank, gain in enumerate(best, 1))
    np.testing.assert_allclose(ndcg(*columns, gain=gains).to_pylist(), [gained / ideal], rtol=1e-15)
    costs, seen = np.cumsum([max(gain, 1) for gain in best]), np.cumsum([0, 9, 0.5, 3.5])
    missed = [gain / np.log2(2 + cost - have) for gain, cost, have in zip([0, 9, 0.5, 3.5], costs, seen, strict=True)]
    np.testing.assert_allclose(normalized_gain(*columns, gain=gains).to_pylist(), [sum(missed) / sum(best)], rtol=1e-15)


@given(st.lists(st.tuples(rankings, graded), min_size=1, max_size=6), st.sampled_from([ndcg, *GAINED]))
def test_a_gain_that_is_said_of_each_grade_is_that_of_another_column(rows, metric):
    retrieved, known = IDS.read([row for row, _ in rows]), pa.map_(pa.string(), pa.float64())
    golds = [[(name, max(grade, 0)) for name, grade in gold if grade == grade] for _, gold in rows]  # noqa: PLR0124
    columns = [pa.array([[(n, f(g)) for n, g in gold] for gold in golds], known) for f in (float, lambda g: 2**g - 1)]
    told = metric(retrieved, columns[0], gain={grade: 2**grade - 1 for grade in (0, 0.5, 1, 2, 3)}).to_pylist()
    np.testing.assert_allclose(told, metric(retrieved, columns[0], gain="exp2").to_pylist(), rtol=1e-14)
    np.testing.assert_allclose(told, metric(retrieved, columns[1]).to_pylist(), rtol=1e-14)


def test_expected_reciprocal_rank_is_chapelles_cascade():
    # Chapelle et al. 2009, algorithm 1
    grades = {"a": 3, "b": 0, "c": 4, "d": 1}
    stays, expected = 1.0, 0.0
    for rank, name in enumerate("abcd", 1):
        satisfied = (2 ** grades[name] - 1) / 16
        expected += stays * satisfied / rank
        stays *= 1 - satisfied
    np.testing.assert_allclose(err([list("abcd")], [grades]).to_pylist(), [expected], rtol=1e-15)
    with pytest.raises(RowError, match="a grade of 4, above max_grade=3"):
        err([["a"]], [grades], max_grade=3)


def test_rank_biased_precision_is_moffat_and_zobels():
    relevant = [1, 0, 1, 1, 0]
    expected = 0.05 * sum(hit * 0.95**at for at, hit in enumerate(relevant))
    scores = rank_biased_precision([list("abcde")], [["a", "c", "d", "z"]], persistence=0.95).to_pylist()
    np.testing.assert_allclose(scores, [expected], rtol=1e-14)


@settings(max_examples=50)
@given(
    st.lists(names, min_size=1, unique=True), st.dictionaries(names, st.integers(0, 3), min_size=1), st.integers(1, 20)
)
def test_judged_is_that_of_ir_measures(retrieved, relevant, k):
    ir_measures = pytest.importorskip("ir_measures")
    run = {"q": {name: -float(rank) for rank, name in enumerate(retrieved)}}
    theirs = ir_measures.calc_aggregate([ir_measures.Judged @ k], {"q": relevant}, run)
    assert judged([retrieved], [relevant], k=k).to_pylist() == list(theirs.values())


def test_interpolated_precision_without_a_level_is_the_mean_over_eleven():
    columns = [["x", "a", "y", "b", "c"]], [["a", "b", "c", "d"]]
    levels = [interpolated_precision(*columns, at=tenth / 10).to_pylist()[0] for tenth in range(11)]
    np.testing.assert_allclose(interpolated_precision(*columns).to_pylist(), [np.mean(levels)], rtol=1e-14)
    assert levels[0] == 0.6
    assert levels[10] == 0.0


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("map", "average_precision"),
        ("recip_rank", "reciprocal_rank"),
        ("ndcg_cut_10", "ndcg@10"),
        ("ndcg_cut.10", "ndcg@10"),
        ("P_5", "precision@5"),
        ("recall_100", "recall@100"),
        ("map_cut_100", "average_precision@100"),
        ("success_5", "hit_rate@5"),
        ("Rprec", "r_precision"),
        ("bpref", "bpref"),
        ("set_F", "f_measure"),
        ("iprec_at_recall_0.10", "interpolated_precision(at=0.1)"),
        ("11pt_avg", "interpolated_precision"),
        ("Rprec_mult_0.20", "r_precision(multiple=0.2)"),
        ("relative_P_10", "recall(capped=True)@10"),
        ("nDCG@10", "ndcg@10"),
        ("nDCG(dcg='exp-log2')@10", "ndcg(gain='exp2')@10"),
        ("AP(rel=2)@100", "average_precision(rel=2)@100"),
        ("RR", "reciprocal_rank"),
        ("R@100", "recall@100"),
        ("Success@1", "hit_rate@1"),
        ("ERR@20", "err@20"),
        ("RBP(p=0.9)", "rank_biased_precision(persistence=0.9)"),
        ("RBP(p=0.8)", "rank_biased_precision"),
        ("Judged@10", "judged@10"),
        ("IPrec@0.1", "interpolated_precision(at=0.1)"),
        ("SetF", "f_measure"),
        ("SetF(beta=4.0)", "f_measure(beta=2.0)"),
        ("SetF(rel=2, beta=4)", "f_measure(beta=2.0, rel=2)"),
        ("set_F.4", "f_measure(beta=2.0)"),
        ("NumRet(rel=2)", "document_count(of='relevant_retrieved', rel=2)"),
        ("NumRet", "document_count"),
        ("num_q", "document_count(of='queries')"),
        ("SetRelP(rel=2)", "recall(capped=True, rel=2)"),
        ("ndcg.1=3.5,2=9.0", "ndcg(gain={'1': 3.5, '2': 9.0})"),
        ("Rndcg.2=9", "ndcg_at_levels(gain={'2': 9})"),
        ("utility.1,-2,0.5,0", "utility(weights=[1, -2, 0.5, 0])"),
    ],
)
def test_the_names_of_trec_eval_and_ir_measures_are_found(name, spec):
    assert parse(name).spec == spec


@pytest.mark.parametrize(
    "text",
    [
        "ndcg.1=-2",
        "utility.1",
        "ndgc@10",
        "AP(reel=2)",
        "precision@0",
        "ndcg@-1",
        "P@0",
        "recall(k=0)",
        "err(max_grade=0)",
    ],
)
def test_what_is_no_metric_says_so(text):
    with pytest.raises(SpecError, match=r"did you mean|cut-off|expected"):
        parse(text)


def test_within_a_column_cache_columns_are_aligned_once(monkeypatch):
    calls = []
    align = alignment._align
    monkeypatch.setattr(alignment, "_align", lambda *columns: calls.append(1) or align(*columns))
    retrieved, relevant = pa.array([["a"], ["b"], None]), pa.array([{"a": 1}, {"c": 2}, {"c": 1}])
    columns = {"retrieved": retrieved, "relevant": relevant}
    with column_cache():
        for metric in (ndcg, recall, precision):
            score_rows(metric, columns)
    assert len(calls) == 1
