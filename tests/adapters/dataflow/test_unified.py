"""The six layouts of UnifiedBenchDatasetEvaluator, by karat's rules and by DataFlow's; columns of F1 and BLEU."""

import json
import math
import re
import string
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.adapters.dataflow import (
    AgenticRAGQAF1SampleEvaluator,
    BertSampleEvaluator,
    BleuSampleEvaluator,
    UnifiedBenchDatasetEvaluator,
)
from karat.errors import ColumnError, DataError, SpecError

pd = pytest.importorskip("pandas")

CHOICES = ["3", "4", "5", "6"]


class Memory:
    file_name_prefix = "step"

    def __init__(self, rows):
        self.frame = pd.DataFrame(rows)

    def read(self, _):
        return self.frame

    def write(self, data):
        self.frame = data


class Likely:
    """A serving for which an answer is the more likely the shorter it is."""

    def loglikelihood_batch(self, prompts, continuations):
        self.prompts = prompts
        return [-len(each) for each in continuations]


def evaluate(tmp_path, rows, eval_type, keys=(), **options):
    """The scores, the errors, what was read, and the statistics."""
    storage, path = Memory(rows), tmp_path / "new" / "statistics.json"
    UnifiedBenchDatasetEvaluator(path, eval_type, **options).run(storage, **dict(keys))
    frame = storage.frame
    scores = [None if math.isnan(score) else score for score in frame["eval_score"]]
    assert frame["eval_valid"].tolist() == [score is not None for score in scores]
    (statistics,) = json.loads(path.read_text("utf-8"))
    return scores, frame["eval_error"].tolist(), frame["eval_pred"].tolist(), statistics


def test_answers_are_compared_and_what_cannot_be_read_is_unscored(tmp_path):
    rows = {
        "question": ["q"] * 6,
        "generated_ans": ["The answer is 21.", "Paris", "So it is x = 4.", None, "4", "I know."],
        "golden_answer": ["1", "paris", "4", "4", None, "no"],
    }
    scores, errors, _, statistics = evaluate(tmp_path, rows, "key2_qa")
    assert scores == [0, 1, 1, None, None, 0]
    assert errors == ["", "", "", "empty_prediction", "empty_reference", ""]
    assert statistics == {
        "bench_name_or_prefix": "step",
        "type": "key2_qa",
        "metric": "math_verify",
        "total_samples": 6,
        "valid_samples": 4,
        "accuracy": 0.5,
        "accuracy_of_all": 0.4,
    }


def test_several_gold_answers(tmp_path):
    rows = {"question": ["q"] * 4, "generated_ans": ["Lyon", "x", "Rome", "1"]}
    rows["gold_answers"] = [["Paris", "Lyon"], "f(x)=|x|", '["Rome", "Roma"]', ["[1, 2]"]]
    assert evaluate(tmp_path, rows, "key2_q_ma")[0] == [1, 0, 1, 0]


def test_a_choice_that_the_answer_names(tmp_path):
    answers = ["A good answer is B", "I think the answer is B", "(d)", "none of these", "A"]
    rows = {"question": ["q"] * 5, "choices": [CHOICES] * 5, "label": ["B", 1, 3, 0, "7"], "generated_ans": answers}
    scores, errors, read, statistics = evaluate(tmp_path, rows, "key3_q_choices_a")
    assert (scores, errors[3:]) == ([1, 1, 1, None, None], ["parse_failed", "invalid_label"])
    assert read[:3] == [1, 1, 3]
    assert (statistics["accuracy"], statistics["accuracy_of_all"]) == (1.0, 0.75)
    scored = evaluate(tmp_path, rows, "key3_q_choices_a", rules="dataflow")
    assert (scored[0], scored[1][3:]) == ([0, None, 1, None, None], ["parse_failed"] * 2)
    rows["label"] = ["B", 2, 4, 1, "7"]
    assert evaluate(tmp_path, rows, "key3_q_choices_a", count_from=1)[0] == scores


def test_choices_may_be_an_array_or_json_and_nothing_else(tmp_path):
    rows = {"question": ["q"] * 4, "choices": [np.array(CHOICES), json.dumps(CHOICES), "3, 4", None]}
    rows |= {"label": [1] * 4, "generated_ans": ["B"] * 4}
    scores, errors, *_ = evaluate(tmp_path, rows, "key3_q_choices_a")
    assert (scores, errors[2:]) == ([1, 1, None, None], ["choices_not_list", "empty_choices"])


def test_the_likeliest_choice_and_the_likelier_answer(tmp_path):
    rows = {"question": ["q", "q"], "choices": [["long", "s"]] * 2, "label": [1, "A"], "context": [["one", "two"], ""]}
    scores, *_ = evaluate(tmp_path, rows, "key3_q_choices_a", {"input_context_key": "context"}, llm_serving=Likely())
    assert scores == [1, 0]
    rows = {"question": ["q"] * 3, "better": ["a", "aa", "a"], "rejected": ["bb", "b", ""]}
    scores, errors, *_ = evaluate(tmp_path, rows, "key3_q_a_rejected", llm_serving=Likely())
    assert (scores, errors[2]) == ([1, 0, None], "empty_rejected")
    assert set(evaluate(tmp_path, rows, "key3_q_a_rejected")[1]) == {"llm_serving_required_for_pairwise"}
    assert set(evaluate(tmp_path, rows, "key3_q_a_rejected", llm_serving=object())[1][:2]) == {"ll_unavailable"}
    assert evaluate(tmp_path, {"text": ["a"]}, "key1_text_score")[1] == ["ppl_unavailable"]


def test_sets_of_choices(tmp_path):
    answers = ["A, C", "The answers are A and B.", "[]", "I guess"]
    rows = {"question": ["q"] * 4, "choices": [CHOICES] * 4, "labels": [["A"], "A;B", [], ["A"]]}
    rows["generated_ans"] = answers
    scores, errors, read, statistics = evaluate(tmp_path, rows, "key3_q_choices_as")
    assert scores == [pytest.approx(2 / 3), 1, 1, None]
    assert errors[3] == "parse_failed"
    assert json.loads(read[0]) == {
        "pred_set": [0, 2],
        "gold_set": [0],
        "precision": 0.5,
        "recall": 1.0,
        "jaccard": 0.5,
        "exact_set": 0.0,
        "f1": pytest.approx(2 / 3),
    }
    assert statistics["micro_f1_mean"] == pytest.approx(8 / 9)
    assert evaluate(tmp_path, rows, "key3_q_choices_as", rules="dataflow")[0][2] == 0


def test_a_model_judges(tmp_path):
    class Judge:
        def generate_from_input(self, user_inputs, system_prompt):
            assert system_prompt
            assert '"question": "q"' in user_inputs[0]
            return ["true", "It is not true"][: len(user_inputs)]

    rows = {"question": ["q"] * 2, "generated_ans": ["a", "b"], "golden_answer": ["a", "b"]}
    options = {"llm_serving": Judge(), "use_semantic_judge": True}
    assert evaluate(tmp_path, rows, "key2_qa", **options)[0] == [1, 0]
    rows = {name: cells + cells[:1] for name, cells in rows.items()}
    with pytest.raises(DataError, match="3 replies are expected"):
        evaluate(tmp_path, rows, "key2_qa", **options)


def test_wrong_settings_and_columns_say_what_is_right(tmp_path):
    with pytest.raises(SpecError, match="did you mean 'key2_qa'"):
        UnifiedBenchDatasetEvaluator(eval_type="key2_aq")
    with pytest.raises(SpecError, match="pip install open-dataflow"):
        UnifiedBenchDatasetEvaluator(rules="dataflow")
    with pytest.raises(SpecError, match="llm_serving with generate_from_input"):
        UnifiedBenchDatasetEvaluator(use_semantic_judge=True)
    with pytest.raises(ColumnError, match="no column 'golden_answer'"):
        evaluate(tmp_path, {"question": ["q"], "generated_ans": ["a"]}, "key2_qa")
    rows = {"q": ["?"], "generated_ans": ["a"], "gold": ["a"]}
    keys = {"input_keys_map": {"question": "q", "target": "gold"}}
    assert evaluate(tmp_path, rows, "key2_qa", keys)[0] == [1]
    for prefix in ("output", "output_eval"):
        storage = Memory(rows)
        names = {f"{prefix}_{each}_key": f"my_{each}" for each in ("score", "pred", "valid", "error")}
        UnifiedBenchDatasetEvaluator(tmp_path / "s.json").run(storage, **keys, **names)
        assert storage.frame[["my_score", "my_pred", "my_valid", "my_error"]].to_numpy().tolist() == [
            [1, "a", True, ""]
        ]


def hotpot_f1(prediction, golds):
    """`compute_f1` of DataFlow's AgenticRAGQAF1SampleEvaluator, written anew."""

    def plain(text):
        text = "".join(each for each in text.lower() if each not in string.punctuation)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())

    best, a = 0.0, plain(prediction)
    for b in map(plain, golds):
        common = (Counter(a.split()) & Counter(b.split())).total()
        if common and (a == b or not {a, b} & {"yes", "no", "noanswer"}):
            best = max(best, 2 * common / (len(a.split()) + len(b.split())))
    return best


WORDS = st.lists(st.sampled_from(["yes", "no", "The", "cat", "sat.", "a"]), min_size=1, max_size=4).map(" ".join)


def run(operator, *columns, **options):
    storage = Memory(dict(zip("ab", columns, strict=True)))
    (name,) = operator.run(storage, "a", "b", **options)
    return storage.frame[name].tolist()


@given(rows=st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=6))
@settings(max_examples=30)
def test_f1_is_dataflows(rows):
    predictions, golds = map(list, zip(*rows, strict=True))
    expected = [hotpot_f1(*row) for row in rows]
    assert run(AgenticRAGQAF1SampleEvaluator(), predictions, golds) == pytest.approx(expected, abs=1e-12)


def test_a_row_without_answer_or_gold_has_no_f1_or_0():
    columns = [None, "yes", ""], ["yes", [], "cat"]
    assert np.isnan(run(AgenticRAGQAF1SampleEvaluator(), *columns)).tolist() == [True, True, False]
    assert run(AgenticRAGQAF1SampleEvaluator(missing="zero"), *columns) == [0, 0, 0]
    with pytest.raises(ColumnError, match="there is a column 'a' already"):
        run(AgenticRAGQAF1SampleEvaluator(), *columns, output_key="a")


def bleus(text, reference, n):
    """The BLEU of each order up to `n` of DataFlow's `Bleu`, without its tiny constants."""
    words, gold, product, found = text.split(), reference.split(), 1.0, []
    penalty = math.exp(min(0, 1 - len(gold) / len(words)))
    for size in range(1, n + 1):
        mine, its = (Counter(tuple(each[i : i + size]) for i in range(len(each) - size + 1)) for each in (words, gold))
        product *= (mine & its).total() / max(mine.total(), 1)
        found.append(penalty * product ** (1 / size))
    return found


def test_bleu_is_of_the_order_asked_for_or_of_the_first_as_dataflow_writes_it():
    texts = ["the cat sat on the mat", "the cat sat", "a dog"]
    references = ["the cat sat on a mat", "the cat sat down here", "The cat"]
    rows = [bleus(*pair, 4) for pair in zip(texts, references, strict=True)]
    assert run(BleuSampleEvaluator(n=2), texts, references) == pytest.approx([each[1] for each in rows])
    assert run(BleuSampleEvaluator(), texts, references) == pytest.approx([each[3] for each in rows])
    assert run(BleuSampleEvaluator(score="bleu_1"), texts, references) == pytest.approx([each[0] for each in rows])
    with pytest.raises(SpecError, match="needs eff='shortest'"):
        run(BleuSampleEvaluator(), ["a"], [["a", "b"]])


def test_bert_score_is_that_of_dataflows_model_and_layer():
    assert BertSampleEvaluator().metric.spec == "token_similarity(layers=5, model='distilbert-base-uncased')"
