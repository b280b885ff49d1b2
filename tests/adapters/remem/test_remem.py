import math
import re
import statistics
import string
from collections import Counter

import numpy as np
import pytest

from karat.adapters import remem
from karat.adapters.remem import (
    QABleu1Score,
    QABleu4Score,
    QABleuScore,
    QAExactMatch,
    QAF1Score,
    RetrievalNDCGAny,
    RetrievalRecall,
    RetrievalRecallAll,
)
from karat.errors import RowError, SpecError

GOLD = [
    ["Paris", "the city of Paris"],
    ["1,969", "in 1969"],
    ["a cat sat on the mat today", "cats"],
    ["the"],
    ["El Niño"],
    ["C++"],
    ["it's five o'clock - 3.5 p.m. (now)", "five"],
    ["\u5317\u4eac"],
    ["one two, three four five"],
]
SAID = [
    "Paris.",
    "1969",
    "the cat sat on a mat today",
    "an",
    "el nino",
    "C#",
    "it's five o'clock - 3.5 p.m. (then)",
    "\u5317\u4eac\u5e02",
    "one two, three four six",
]


def normalize(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact(gold, said):
    return float(normalize(gold) == normalize(said))


def f1(gold, said):
    gold, said = normalize(gold).split(), normalize(said).split()
    common = (Counter(gold) & Counter(said)).total()
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def corpus_bleu(golds, saids, order):
    """BLEU as Hugging Face evaluate has it: sacrebleu's 13a, no smoothing, one reference for each row."""
    sacrebleu = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a")
    tokens = [[sacrebleu.Tokenizer13a()(text).split() for text in texts] for texts in (golds, saids)]
    precisions = []
    for n in range(1, order + 1):
        grams = [[Counter(tuple(t[i : i + n]) for i in range(len(t) - n + 1)) for t in side] for side in tokens]
        possible = sum(said.total() for said in grams[1])
        precisions.append(sum((g & s).total() for g, s in zip(*grams, strict=True)) / possible if possible else 0.0)
    expected, said = (sum(map(len, side)) for side in tokens)
    if not said or min(precisions) == 0:
        return 0.0
    brevity = 1.0 if said > expected else math.exp(1 - expected / said)
    return brevity * math.exp(sum(map(math.log, precisions)) / order)


def bleu(order):
    return lambda gold, said: corpus_bleu([gold], [said], order)


METRICS = [
    (QAExactMatch, "ExactMatch", exact),
    (QAF1Score, "F1", f1),
    (QABleu1Score, "BLEU-1", bleu(1)),
    (QABleu4Score, "BLEU-4", bleu(4)),
]


@pytest.mark.parametrize("aggregate", [np.max, np.mean, np.min, max, min, np.median, statistics.fmean, lambda s: s[-1]])
@pytest.mark.parametrize(("cls", "key", "define"), METRICS, ids=lambda m: getattr(m, "__name__", m))
def test_scores_equal_the_definition_for_every_aggregation(cls, key, define, aggregate):
    pooled, rows = cls(global_config=object()).calculate_metric_scores(GOLD, SAID, aggregate, question="ignored")
    expected = [float(aggregate([define(g, said) for g in golds])) for golds, said in zip(GOLD, SAID, strict=True)]
    assert [row[key] for row in rows] == pytest.approx(expected, abs=1e-12)
    assert pooled == {key: pytest.approx(np.mean(expected), abs=1e-12)}
    assert len(set(expected)) > 1


@pytest.mark.parametrize(("cls", "order"), [(QABleu1Score, 1), (QABleu4Score, 4)])
def test_corpus_bleu_is_of_all_rows_and_their_first_gold_answers(cls, order):
    found = cls().calculate_corpus_bleu(GOLD, SAID)
    assert found == {f"Corpus_BLEU-{order}": pytest.approx(corpus_bleu([g[0] for g in GOLD], SAID, order), abs=1e-12)}
    assert found[f"Corpus_BLEU-{order}"] > 0
    assert cls().calculate_corpus_bleu([], []) == {f"Corpus_BLEU-{order}": 0.0}


def test_names_equal_remems():
    names = [cls.metric_name for cls in (QAExactMatch, QAF1Score, QABleu1Score, QABleu4Score, RetrievalRecall)]
    assert names == ["qa_exact_match", "qa_f1_score", "qa_bleu1_score", "qa_bleu4_score", "retrieval_recall"]


@pytest.mark.parametrize(("cls", "key", "define"), METRICS, ids=lambda m: getattr(m, "__name__", m))
def test_no_rows_are_zero(cls, key, define):
    assert cls().calculate_metric_scores([], []) == ({key: 0.0}, [])


@pytest.mark.parametrize(
    ("gold", "said", "message"),
    [
        ([["a"], None, None], ["a", "b", "c"], "row 1 of gold_answers is null, and 1 more"),
        ([["a"], ["b", None]], ["a", "b"], "row 1 of gold_answers holds a null"),
        ([["a"], ["b"]], ["a", None], "row 1 of predicted_answers is null"),
        ([["a"]], ["a", "b"], "gold_answers has 1 rows, predicted_answers has 2 rows"),
        (["Paris"], ["Paris"], "a list of answers for each row is expected, row 0 holds 'Paris'"),
    ],
)
@pytest.mark.parametrize("cls", [QAExactMatch, QABleu4Score])
def test_input_that_remem_scores_by_accident_is_an_error_naming_the_row(cls, gold, said, message):
    with pytest.raises(RowError, match=message):
        cls().calculate_metric_scores(gold, said)


@pytest.mark.parametrize("aggregate", [np.max, np.median])
@pytest.mark.parametrize(("cls", "key", "define"), METRICS, ids=lambda m: getattr(m, "__name__", m))
def test_a_row_without_gold_answers_scores_0(cls, key, define, aggregate):
    gold, said = [["one two three four"], [], ["x"]], ["one two three four", "b", "c"]
    pooled, rows = cls().calculate_metric_scores(gold, said, aggregate)
    assert (pooled[key], [row[key] for row in rows]) == (pytest.approx(1 / 3), [1.0, 0.0, 0.0])
    assert cls().calculate_metric_scores([[]], ["a"], aggregate) == ({key: 0.0}, [{key: 0.0}])


def test_the_corpus_bleu_leaves_out_rows_without_gold_answers():
    whole = QABleu4Score().calculate_corpus_bleu([["a b c d e"]], ["a b c d"])
    assert QABleu4Score().calculate_corpus_bleu([[], ["a b c d e"]], ["x", "a b c d"]) == whole
    assert QABleu4Score().calculate_corpus_bleu([[]], ["a"]) == {"Corpus_BLEU-4": 0.0}


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_of_any_order(order):
    pooled, rows = QABleuScore(max_order=order).calculate_metric_scores(GOLD, SAID)
    expected = [max(bleu(order)(gold, said) for gold in golds) for golds, said in zip(GOLD, SAID, strict=True)]
    assert [row[f"BLEU-{order}"] for row in rows] == pytest.approx(expected)
    assert pooled == {f"BLEU-{order}": pytest.approx(np.mean(expected))}
    assert QABleuScore().max_order == 1
    assert isinstance(QABleu1Score(object()), QABleuScore)


@pytest.mark.parametrize(
    "text", ["a well-\n", "a well-\n \n", "a well- \n", "well--\n\nknown", "x <skipped>-<skipped>\n"]
)
@pytest.mark.parametrize("other", ["a well", "a well-", "well-known", "well - known", "x -", "x"])
def test_line_breaks_after_a_dash_are_joined_as_in_evaluate(text, other):
    for gold, said in ((text, other), (other, text)):
        expected = bleu(1)(gold, said)
        assert QABleu1Score().calculate_metric_scores([[gold]], [said])[0] == {"BLEU-1": pytest.approx(expected)}
        assert QABleu1Score().calculate_corpus_bleu([[gold]], [said]) == {"Corpus_BLEU-1": pytest.approx(expected)}


def test_recall_counts_sets_and_rounds_only_the_mean():
    pooled, rows = RetrievalRecall().calculate_metric_scores(
        [["a", "b", "c"], ["x", "x"], []], [["b", "b", "z", "a"], ["x"], ["y"]], k_list=[4, 1, 4]
    )
    assert rows == [
        {"Recall@1": pytest.approx(1 / 3), "Recall@4": pytest.approx(2 / 3)},
        {"Recall@1": 1.0, "Recall@4": 1.0},
        {"Recall@1": 0.0, "Recall@4": 0.0},
    ]
    assert pooled == {"Recall@1": 0.4444, "Recall@4": 0.5556}
    assert RetrievalRecall().calculate_metric_scores([["a"]], retrieved_chunks=[["a"]], k_list=[1])[0] == {
        "Recall@1": 1.0
    }
    assert RetrievalRecall().calculate_metric_scores([], []) == ({f"Recall@{k}": 0.0 for k in (1, 5, 10, 20)}, [])


def test_recall_refuses_invalid_arguments():
    with pytest.raises(RowError, match="gold_docs has 1 rows, retrieved_docs has 0 rows"):
        RetrievalRecall().calculate_metric_scores([["a"]], [])
    for k_list in ([], [0, 1]):
        with pytest.raises(SpecError, match="whole numbers from 1"):
            RetrievalRecall().calculate_metric_scores([["a"]], [["a"]], k_list)


GOLD_DOCUMENTS = ["Ann said: the cat sat", 'Bob: "so it ran"']


@pytest.mark.parametrize(
    ("chunks", "found"),
    [
        (["cat sat", "it ran"], (1, 1.0)),
        (["it ran", "no", "cat"], (1, (1 + 1 / math.log2(3)) / 2)),
        (["Date: today\nthe cat", "user: so it: ignored"], (1, 1.0)),
        (["user: the cat", "assistant: the dog"], (0, 1.0)),
        (["no", "cat"], (0, 1.0)),
        (["no", "Date: today\nso"], (0, 1.0)),
        ([], (0, 0.0)),
    ],
)
def test_chunks_are_parts_of_gold_documents(chunks, found):
    pooled, (row,) = RetrievalRecallAll().calculate_metric_scores([GOLD_DOCUMENTS], retrieved_chunks=[chunks])
    assert (row, pooled) == ({f"Recall_all@{k}": row["Recall_all@20"] if k > 1 else 0.0 for k in (1, 5, 10, 20)}, row)
    (ndcg,) = RetrievalNDCGAny().calculate_metric_scores([GOLD_DOCUMENTS], [chunks])[1]
    assert (row["Recall_all@20"], ndcg["NDCG_any@20"]) == (found[0], pytest.approx(found[1]))


def test_documents_of_no_row_or_without_gold_score_0():
    for cls, key in ((RetrievalRecallAll, "Recall_all"), (RetrievalNDCGAny, "NDCG_any")):
        assert cls().calculate_metric_scores([[]], [["a"]], [1]) == ({f"{key}@1": 0.0}, [{f"{key}@1": 0.0}])
        assert cls().calculate_metric_scores([], [], [1]) == ({f"{key}@1": 0.0}, [])


def test_every_metric_is_a_base_metric():
    classes = [getattr(remem, name) for name in remem.__all__]
    assert all(issubclass(each, remem.BaseMetric) for each in classes)
    assert len({each.metric_name for each in classes}) == len(classes)
    with pytest.raises(NotImplementedError, match="BaseMetric"):
        remem.BaseMetric("config").calculate_metric_scores([["a"]], ["a"])
