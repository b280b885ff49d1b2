"""Names of metrics in other tools, and other spellings of karat's own."""

import re

import pytest

from karat import SpecError
from karat.core.metric.registry import all_metrics, known_names
from karat.core.metric.spec import parse
from karat.metrics.text.dialect import ABSENT, SEVERAL, SPECS


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("EM", "exact_match"),
        ("F1", "token_f1"),
        ("ExactMatch", "exact_match"),
        ("exact", "exact_match(normalize='squad')"),
        ("rouge1", "rouge_n"),
        ("rouge_2", "rouge_n(n=2)"),
        ("rougeL", "rouge_l"),
        ("ROUGE-Lsum", "rouge_lsum"),
        ("rougeL(score=recall)", "rouge_l(score=recall)"),
        ("bert_score", "token_similarity"),
        ("BLEU-4", "bleu"),
        ("Hit@10", "hit_rate@10"),
        ("ndcg_at_5", "ndcg@5"),
        ("MRR@10", "reciprocal_rank@10"),
        ("cosine_similarity", "semantic_similarity"),
        ("Edit-Distance", "levenshtein"),
        ("bleu_score", "bleu"),
        ("qa_f1", "token_f1"),
        ("macro_f1", "label_f(average='macro')"),
        ("accuracy_score", "label_accuracy"),
    ],
)
def test_a_common_name_is_understood(name, spec):
    assert parse(name) == parse(spec)


@pytest.mark.parametrize("name", SPECS)
def test_every_name_leads_to_a_metric(name):
    assert parse(name) == parse(SPECS[name])


@pytest.mark.parametrize("name", SEVERAL)
def test_a_name_of_two_metrics_names_both(name):
    first, _, second, _ = SEVERAL[name]
    with pytest.raises(SpecError) as raised:
        parse(name)
    assert first in str(raised.value)
    assert second in str(raised.value)
    assert parse(first) != parse(second)


@pytest.mark.parametrize("name", ABSENT)
def test_a_common_metric_that_karat_lacks_has_a_nearest_one_and_a_reason(name):
    with pytest.raises(SpecError, match=f"{name} is not among karat's metrics: ") as raised:
        parse(name)
    named = re.findall(r"token_similarity|rouge_l|column", str(raised.value))
    assert set(named) <= set(known_names())
    assert named


def test_karats_own_names_are_never_translated():
    for metric in all_metrics():
        if metric.name not in ("column", "percentile", "json_schema"):
            assert parse(metric.name).name == metric.name


def test_an_unknown_name_says_where_the_names_are_in_one_line():
    with pytest.raises(SpecError, match=r"is it semantic_similarity or token_similarity") as raised:
        parse("cosine")
    assert len(str(raised.value)) < 250
    with pytest.raises(SpecError, match=r'"karat metrics" lists all \d+') as raised:
        parse("zzz")
    assert len(str(raised.value)) < 200
