"""Diversity metrics: ndeval's values."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.core.metric.spec import parse
from karat.errors import ColumnError, RowError
from karat.metrics import alpha_ndcg, average_precision_ia, err_ia, precision_ia, subtopic_recall

pyndeval = pytest.importorskip("pyndeval")
NAMES = [f"clueweb09-en{at:04}" for at in range(12)] + ["é", "a", "z", "漢字"]
names = st.sampled_from(NAMES)
rankings = st.lists(names, min_size=1, max_size=30, unique=True)
golds = st.dictionaries(
    names, st.dictionaries(st.integers(1, 12).map(str), st.integers(0, 3), min_size=1, max_size=6), max_size=12
)
MEASURES = ["ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "P-IA", "strec"]
AT_ONE = {"ERR-IA@1", "alpha-DCG@1"}  # which ndeval does not divide by anything, unlike those at other cut-offs


@given(
    st.lists(st.tuples(rankings, golds.filter(bool)), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([0.5, 0.3, 0.0, 1.0]),
    st.sampled_from([0.5, 0.8]),
    st.sampled_from([1, 2, 5, 20]),
)
def test_every_measure_of_ndeval_topic_by_topic(topics, rel, alpha, beta, k):
    measures = {f"{name}@{k}" for name in MEASURES} - AT_ONE | {"NRBP", "nNRBP", "MAP-IA"}
    qrels = sorted(  # ndeval adds up gains in the order of the subtopics
        (len(topic), topic, document, str(at), grade)
        for at, (_, gold) in enumerate(topics)
        for document, grades in gold.items()
        for topic, grade in grades.items()
    )
    judged = [(at, topic, document, grade) for _, topic, document, at, grade in qrels]
    evaluator = pyndeval.RelevanceEvaluator(judged, sorted(measures), relevance_level=rel, alpha=alpha, beta=beta)
    run = [(str(at), name, -float(rank)) for at, (ranking, _) in enumerate(topics) for rank, name in enumerate(ranking)]
    theirs = evaluator.evaluate(run)
    columns = [ranking for ranking, _ in topics], [gold for _, gold in topics]
    for name in sorted(measures):
        given_ = {"rel": rel, "alpha": alpha, "persistence": beta}
        metric = parse(name)
        ours = metric.using(**{key: given_[key] for key in given_.keys() & metric.settings.keys()})(*columns)
        expected = np.nan_to_num(
            [theirs[str(at)][name] for at in range(len(topics))]
        )  # 0 / 0 where nothing is relevant
        np.testing.assert_allclose(ours.to_pylist(), expected, rtol=0, atol=1e-12, err_msg=name)


def test_the_ideal_ranking_takes_the_larger_id_of_two_with_equal_gain():
    gold = {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}  # c before b before a: 1, 1, 0.5
    found = 1 + 0.5 / np.log2(3) + 1 / np.log2(4)
    ideal = 1 + 1 / np.log2(3) + 0.5 / np.log2(4)
    assert alpha_ndcg([["a", "b", "c"]], [gold]).to_pylist() == pytest.approx([found / ideal], abs=1e-15)


def test_nothing_relevant_is_zero_or_unscored():
    columns = [["a"]] * 3, [{}, {"a": {"1": 0}}, {"a": {"1": 1}}]
    for metric in (alpha_ndcg, err_ia, subtopic_recall, precision_ia, average_precision_ia):
        assert metric(*columns).to_pylist()[:2] == [0, 0]
        assert metric(*columns, empty="unscored").to_pylist()[:2] == [None, None]
    result = karat.score({"retrieved": [["a"]], "subtopics": [{"a": {"1": 0}}]}, err_ia.using(empty="unscored"))
    assert result.reasons["err_ia(empty='unscored')"] == {"no document is relevant to a subtopic": 1}


def test_a_duplicate_counts_at_its_first_rank_and_fills_the_later_one():
    assert precision_ia([["a", "a"]], [{"a": {"1": 1}}]).to_pylist() == [0.5]
    assert err_ia([["a", "a", "b"]], [{"a": {"1": 1}, "b": {"2": 1}}], k=3).to_pylist() == [
        pytest.approx((1 + 1 / 3) / (2 + 1 / 2 + 0.5 / 3))
    ]


@pytest.mark.parametrize(
    "form",
    [
        [{"a": {"1": 2, "2": 0}, "7": {"1": 1}}],
        [{"a": {"1": 2, "2": 0}, 7: ["1"]}],
        [[["a", "1", 2], ["a", "2", 0], [7, 1]]],
        [[{"doc_id": "a", "subtopic": 1, "relevance": 2}, {"docno": 7, "iteration": "1"}]],
        pa.array([{"a": {"1": 2, "2": 0}, "7": {"1": 1}}]),
        pa.array([[("a", {"1": 2}), ("7", {"1": 1})]], pa.map_("string", pa.struct([("1", "int8")]))),
        pa.array([[("a", [("1", 2), ("2", 0)]), ("7", [("1", 1)])]], pa.map_("string", pa.map_("string", "int64"))),
        pa.array([[{"docid": "a", "intent": "1", "grade": 2}, {"docid": "7", "intent": "1", "grade": 1}]]),
    ],
)  # fmt: skip
def test_the_forms_of_judgements_by_subtopic(form):
    assert alpha_ndcg([["x", "a", "7"]], form, rel=2).to_pylist() == [pytest.approx(1 / np.log2(3))]
    assert subtopic_recall([["x", "7"]], form).to_pylist() == [1]


@pytest.mark.parametrize("row", [{"a": 1}, ["a"], "a", {"a": {"1": "x"}}, [["a", "1", 1, 1]], 7])
def test_other_forms_say_what_is_expected(row):
    with pytest.raises((RowError, ColumnError), match=r"(row 2: grades by document|grades by id) and subtopic"):
        alpha_ndcg([["a"]] * 2, [{"a": {"1": 1}}, row])
