"""REMem's metrics of LoCoMo and its judges, and its result files."""

import json
import string
from collections import Counter

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.adapters.remem import (
    QAEvalSuitLLMJudge,
    QAF1ScoreLocomo,
    QALongMemEvalLLMJudge,
    QAMem0LLMJudge,
    RetrievalRecallLocomo,
)
from karat.errors import ColumnError, RowError
from karat.metrics import locomo_f1
from karat.models.testing.fake import FakeModel

STEMMER = pytest.importorskip("nltk").PorterStemmer()
PIECES = [
    "running",
    "dogs",
    "The",
    "and",
    "a",
    "May",
    "2023",
    "no information available",
    "Not mentioned",
    "é",
    "is",
    "हिंदी",
]
TEXTS = st.lists(st.sampled_from([*PIECES, ",", ", ", " ", " ", "."]), max_size=8).map("".join)


def stems(text):
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    return [STEMMER.stem(word) for word in regex.sub(r"\b(a|an|the|and)\b", " ", kept).split()]


def f1(prediction, gold):
    one, other = stems(prediction), stems(gold)
    common = (Counter(one) & Counter(other)).total()
    return (
        2 * (common / len(one)) * (common / len(other)) / (common / len(one) + common / len(other)) if common else 0.0
    )


def locomo(prediction, gold, category):
    """REMem's rule, stated again."""
    parts = [part.strip() for part in prediction.split(",")]
    if category == 5:
        return float("no information available" in prediction.lower() or "not mentioned" in prediction.lower())
    if category == 1:
        means = [np.mean([max(f1(mine, part) for mine in parts) for part in each.split(",")]) for each in gold]
        return float(round(max(means), 4))
    return float(round(f1(parts[0], gold[0]), 4))


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.integers(1, 5)), min_size=1, max_size=5))
def test_f1_is_remems(rows):
    said, gold, categories = map(list, zip(*rows, strict=True))
    expected = [locomo(*row) for row in rows]
    pooled, scores = QAF1ScoreLocomo().calculate_metric_scores(gold, said, question_types=categories)
    assert [row["F1"] for row in scores] == expected
    assert pooled["F1"] == pytest.approx(np.mean(expected))
    (preset,) = karat.core.metric.spec.parse_all("preset:locomo")
    assert preset(said, gold, categories).to_pylist() == expected


def test_a_mean_over_gold_and_errors_of_f1():
    metric = QAF1ScoreLocomo()
    scores = metric.calculate_metric_scores([["dogs", "cats"]], ["dog"], np.mean, question_types=[1])[0]
    assert scores == {"F1": 0.5}
    for gold, kinds, message in [
        ([["a"]], [], "question_types has 0 rows, gold_answers has 1"),
        ([["a"]], [7], "row 0 of question_types: category is 7, 1 to 5 is expected"),
        ([[]], [2], "row 0 of question_types: reference has no answers"),
    ]:
        with pytest.raises(RowError, match=message):
            metric.calculate_metric_scores(gold, ["x"], question_types=kinds)
    assert metric.calculate_metric_scores([[]], ["It is not mentioned."], question_types=[5])[0] == {"F1": 1.0}


def test_rows_that_locomo_cannot_score_are_unscored():
    assert locomo_f1(["x", "x", "x"], [["x"], [], ["x"]], [2, 3, 6]).to_pylist() == [1.0, None, None]


def test_recall_of_locomo():
    gold = [
        [json.dumps({"messages": [{"content": text}]}) for text in texts] for texts in (["Café au lait"], ["", "9"])
    ]
    chunks = [["a cafe", "CAFE\u0301 AU  LAIT!"], ["19", "9-5"]]
    pooled, rows = RetrievalRecallLocomo().calculate_metric_scores(gold, retrieved_chunks=chunks, k_list=[1, 2])
    assert pooled == {"Recall@1": 0.0, "Recall@2": 1.0}
    assert rows == [pooled, pooled]
    with pytest.raises(RowError, match="a gold document is 'plain'"):
        RetrievalRecallLocomo().calculate_metric_scores([["plain"]], [["x"]])


class Client:
    """A client of REMem's kind."""

    llm_name = "remems"

    def __init__(self, reply):
        self.reply, self.prompts = reply, []

    def infer(self, messages):
        self.prompts.append(messages[-1]["content"])
        return json.dumps(self.reply), {}, False


def test_judges_ask_once_a_gold_answer_and_take_the_best():
    model = FakeModel(lambda messages: {"explanation": "", "label": "correct" if "Rome" in str(messages) else "wrong"})
    judge = QAMem0LLMJudge(model, governor=karat.Governor())
    gold, said = [["Paris", "Rome"], ["Lyon"], []], ["it", "it", "it"]
    pooled, rows = judge.calculate_metric_scores(gold, said, questions=["a", "b", "c"])
    assert [row["LLMEvalAccuracy"] for row in rows] == [1.0, 0.0, 0.0]
    assert pooled == {"LLMEvalAccuracy": pytest.approx(1 / 3)}
    assert len(model.requests) == 3
    with pytest.raises(RowError, match="questions is missing, gold_answers has 3 rows"):
        judge.calculate_metric_scores(gold, said)


def test_longmemeval_shows_the_type_and_all_gold_at_once():
    client = Client({"explanation": "", "label": "correct"})
    judge = QALongMemEvalLLMJudge(client, governor=karat.Governor())
    kinds = ["multi-session", "single-session-user_abs"]
    scores = judge.calculate_metric_scores([["a", "b"], ["c"]], ["x", "y"], questions=["q", "r"], question_types=kinds)
    assert scores[0] == {"LLMEvalAccuracy": 1.0}
    assert sorted(kind in prompt for prompt in client.prompts for kind in kinds) == [False, False, True, True]


def test_a_reply_without_a_verdict_is_an_error_or_wrong():
    for unreadable in ("error", "wrong"):
        judge = QAEvalSuitLLMJudge(FakeModel("maybe"), governor=karat.Governor(), unreadable=unreadable)
        if unreadable == "wrong":
            assert judge.calculate_metric_scores([["a"]], ["a"])[0] == {"LLMEvalAccuracy": 0.0}
        else:
            with pytest.raises(RowError, match=r"row 0: judge:evalsuit.* gave no verdict"):
                judge.calculate_metric_scores([["a"]], ["a"])


def test_result_files_are_a_log(tmp_path):
    solution = {"question": "When?", "predicted_answer": "In May, 2023", "gold_answers": ["May 2023"], "gold_docs": []}
    solution |= {"question_metadata": {"category": 2}}
    document = {
        "overall_qa_results": {"F1": 0.5},
        "query_solutions": [solution | {"question_metadata": {"category": 2}}],
    }
    path = tmp_path / "rag_results_0.json"
    path.write_text(json.dumps(document), "utf-8")
    result = karat.score(path, ["f1", "preset:locomo"], map={"category": "question_metadata.category"})
    assert result.tools == ("REMem",)
    assert [value.value for value in result.values.values()] == [0.8, 0.5]
    with pytest.raises(ColumnError, match="no column fits 'category'"):
        karat.score(path, "preset:locomo")
