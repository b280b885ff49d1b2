"""Karat's evaluators against Haystack's own on random documents, and the intended differences."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import logging
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("haystack")

from haystack import Document
from haystack.components import evaluators as theirs

from karat.adapters import haystack as ours
from karat.adapters.haystack import ranking
from karat.adapters.haystack.field import path_of, reader

DOCUMENTS = ["DocumentMAPEvaluator", "DocumentMRREvaluator", "DocumentRecallEvaluator", "DocumentNDCGEvaluator"]
KINDS = [*((name, {}) for name in DOCUMENTS), ("DocumentRecallEvaluator", {"mode": "multi_hit"})]
FIELDS = ["content", "id", "meta.page", "meta.at.url", "meta.at", "meta.missing", "meta.a.b"]

texts = st.sampled_from(["a", "b", "A", "é", "e\u0301", "1", "\ud800", "a\x00", "漢字"])
plain = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 2), st.sampled_from([0.0, 1.0, 1.5, 2**70, -(2**63)]), texts
)
found = st.builds(
    lambda content, name, meta: Document(content=content, id=name, meta=meta),
    st.one_of(st.none(), texts),
    texts.filter(lambda text: text != "\ud800"),
    st.fixed_dictionaries(
        {},
        optional={
            "page": plain,
            "at": st.one_of(plain, st.fixed_dictionaries({}, optional={"url": plain})),
            "a.b": plain,
        },
    ),
)
scores = st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.5, 1, 2.0, 3.25]), min_size=6, max_size=6))


def graded(documents, scores):
    for document, score in zip(documents, scores or [], strict=False):
        object.__setattr__(document, "score", score)
    return documents


gold = st.builds(graded, st.lists(found, max_size=6), scores)
questions = st.lists(st.tuples(gold, st.lists(found, max_size=8)), min_size=1, max_size=4)


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("name", "given_settings"), KINDS)
@settings(max_examples=120)  # so many find a gain that is lost where another question has none
@given(questions=questions, field=st.sampled_from(FIELDS))
def test_scores_equal_haystacks(name, given_settings, questions, field):
    columns = [documents for documents, _ in questions], [documents for _, documents in questions]
    try:
        expected = getattr(theirs, name)(**given_settings, document_comparison_field=field).run(*columns)
    except TypeError:
        assert field == "meta.at"  # a dict, which two of Haystack's evaluators cannot hash
        return
    scored = getattr(ours, name)(**given_settings, document_comparison_field=field).run(*columns)
    assert scored["individual_scores"] == pytest.approx(expected["individual_scores"], rel=1e-12)
    assert scored["score"] == pytest.approx(expected["score"], rel=1e-12)


@given(gold=gold, retrieved=st.lists(found, max_size=8), field=st.sampled_from(FIELDS[:4]))
def test_gains_equal_haystacks(gold, retrieved, field):
    mine, other = ours.DocumentNDCGEvaluator(field), theirs.DocumentNDCGEvaluator(field)
    assert mine.calculate_dcg(gold, retrieved) == pytest.approx(other.calculate_dcg(gold, retrieved), rel=1e-12)
    assert mine.calculate_idcg(gold) == pytest.approx(other.calculate_idcg(gold), rel=1e-12)


@pytest.mark.skipif(not ranking.COMPILED, reason="nothing is compiled")
@given(questions=questions, field=st.sampled_from([*FIELDS, ("content", "meta.at")]), first=st.booleans())
def test_the_kernel_equals_its_definition(questions, field, first):
    sides = [documents for _, documents in questions], [documents for documents, _ in questions]
    written = []
    definition = partial(ranking.number, *sides, reader(field))
    for number in definition, partial(ranking.kernel.number, *sides, path_of(field), reader(field)):
        found, wanted = (np.full(sum(map(len, side)), -7) for side in sides)
        number(found, wanted, first)
        written.append((found.tolist(), wanted.tolist()))
    assert written[0] == written[1]


answers = st.one_of(st.none(), st.just(""), texts)


@given(pairs=st.lists(st.tuples(answers, answers), min_size=1, max_size=6))
def test_exact_matches_equal_haystacks(pairs):
    columns = [gold for gold, _ in pairs], [said for _, said in pairs]
    expected = theirs.AnswerExactMatchEvaluator().run(*columns)
    assert ours.AnswerExactMatchEvaluator().run(*columns) == expected


def score_of_one(name, gold, retrieved, **settings):
    return getattr(ours, name)(**settings).run([gold], [retrieved])["score"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_empty_text_never_matches_unlike_in_three_evaluators_of_haystack(name):
    assert score_of_one(name, [Document(content="")], [Document(content="")]) == 0


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("value", [["a", {"b": 1}], {"a": [1]}, {"a"}, (1, [2])])
def test_unhashable_values_are_compared_although_two_evaluators_of_haystack_fail(name, value):
    gold, other = [Document(content="1", meta={"tags": value})], [Document(content="2", meta={"tags": [value]})]
    again = [Document(content="3", meta={"tags": value})]
    assert score_of_one(name, gold, again, document_comparison_field="meta.tags") == 1
    assert score_of_one(name, gold, other, document_comparison_field="meta.tags") == 0


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_list_never_equals_a_tuple_nor_a_number_a_text(name):
    for gold, retrieved in ([1], (1,)), (1, "1"), (b"1", "1"), ({"a": 1}, [("a", 1)]):
        documents = [Document(meta={"it": value}) for value in ("x", gold)], [Document(meta={"it": retrieved})]
        assert score_of_one(name, *documents, document_comparison_field="meta.it") == 0


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nan_never_matches_unlike_in_haystack_where_the_same_object_does(name):
    same = [Document(meta={"page": float("nan")})]
    assert score_of_one(name, same, same, document_comparison_field="meta.page") == 0


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_value_that_cannot_be_made_hashable_is_refused(name):
    strange = [Document(meta={"it": bytearray(b"a")})]
    with pytest.raises(ValueError, match="documents cannot be compared by bytearray"):
        score_of_one(name, strange, strange, document_comparison_field="meta.it")


def test_a_negative_score_counts_as_0_unlike_in_haystack():
    gold = [Document(content="a", score=2.0), Document(content="b", score=-2.0)]
    retrieved = [Document(content="b"), Document(content="a")]
    assert theirs.DocumentNDCGEvaluator().run([gold], [retrieved])["score"] < 0
    assert score_of_one("DocumentNDCGEvaluator", gold, retrieved) == pytest.approx(0.6309297535714575)
    assert ours.DocumentNDCGEvaluator().calculate_idcg(gold) == 2.0
