"""Runs in DataFlow's environment, for pipeline_script: its own operators beside karat's, on rows drawn at random.

Without torch, stand-ins for the modules that only its models need let DataFlow's own code run.
"""

import json
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

try:
    import torch
except ImportError:
    torch = None
    for name in ("torch", "torch.nn", "torch.nn.functional", "transformers"):
        sys.modules[name] = SimpleNamespace(AutoModelForCausalLM=None, AutoTokenizer=None, functional=None)
    sys.modules["torch"].nn = sys.modules["torch.nn"]

from dataflow.core.prompt import DIYPromptABC
from dataflow.operators.agentic_rag import AgenticRAGQAF1SampleEvaluator
from dataflow.operators.core_text import UnifiedBenchDatasetEvaluator
from dataflow.operators.general_text import BleuSampleEvaluator
from dataflow.prompts.model_evaluation.general import AnswerJudgePrompt

from karat.adapters import dataflow as adapter

ROWS = 80
DRAW = random.Random(0)  # noqa: S311  (rows of a test)
PARTS = [
    *(
        "The answer is ",
        "21",
        "1",
        "Paris",
        "paris.",
        " ",
        "x = 4",
        "\\boxed{4}",
        "4",
        "1/2",
        "0.5",
        "50%",
        "H₂O",
        "H2O",
    ),
    *("$\\frac{1}{2}$", "是。", "I", "A", "B", "(c)", "D.", "3", "Rome; Paris", "a|b", "12 km", "1,000", "\n", "|x|"),
]
WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "yes", "no", "paris", "The", "Cat!", "sat."]
LABELS = ["A", "B", "D", "e", 0, 1, 3, 4, 5, "2", "4", " c ", "", None, -1, "AB", "1.0", True]
SETS = [["A"], "A;C", "A, B", "[]", [], None, ["A", 2, "z"], "1/3", '["B", 3]', "{}", 2, " "]
SEVERAL = ['["A",3,"9"]', "A, C", "B D", "1,3", "[null,1.5]", "none"]
REPLIES = ['{"judgement_result": true}', '{"judgement_result": false}', "true", "false", None, ""]


class Storage:
    file_name_prefix = "step"

    def __init__(self, rows):
        self.frame = pd.DataFrame(rows)

    def read(self, _):
        return self.frame.copy()

    def write(self, frame):
        self.frame = frame


class Serving:
    """A model that finds some answers more likely than others, and replies one thing after the other."""

    def __init__(self):
        self.asked = []

    def loglikelihood_batch(self, prompts, continuations):
        self.asked.append((list(prompts), list(continuations)))
        return [-(len(each) * 7 % 11) - at / 1000 for at, each in enumerate(continuations)]

    def generate_from_input(self, user_inputs, system_prompt):  # noqa: ARG002  (DataFlow's signature)
        return [REPLIES[at % len(REPLIES)] for at in range(len(user_inputs))]


class Template(DIYPromptABC):
    def build_prompt(self, question, context, text, choices, choices_text, task):
        return f"{task}: {question} {context} {text} {choices} {choices_text}\n"


def text(most=4):
    return "".join(DRAW.choice(PARTS) + DRAW.choice(["", " "]) for _ in range(DRAW.randint(0, most)))


def sentence(most=8):
    return " ".join(DRAW.choices(WORDS, k=DRAW.randint(1, most)))


def column(*cells):
    """A column of cells drawn from these; a function draws anew."""
    drawn = (DRAW.choice(cells) for _ in range(ROWS))
    return [each() if callable(each) else each for each in drawn]


TABLE = {
    "question": column(text),
    "context": column(None, "ctx", ["a", " ", "b"], "", float("nan")),
    "generated_ans": column(text, text, text, text, None, *SEVERAL),
    "target": column(text, text, text, None),
    "targets": column(lambda: [text(2), text(2)], lambda: json.dumps([text(1), text(1)]), text, ["a|b"], [], None),
    "choices": column(
        *[lambda: [text(1) or "x" for _ in range(DRAW.randint(1, 5))]] * 5, '["a", "b"]', "not", None, []
    ),
    "label": column(*LABELS),
    "labels": column(*SETS),
    "better": column(text, text, text, None),
    "rejected": column(text, text, text, None),
}
KEYS = {
    f"input_{name}_key": name
    for name in ("question", "target", "targets", "choices", "label", "labels", "better", "rejected", "context")
}
LAYOUTS = {
    "key2_qa": {},
    "key2_qa semantic": {"use_semantic_judge": True},
    "key2_q_ma": {},
    "key3_q_choices_a": {},
    "key3_q_choices_a likelihood": {"template": AnswerJudgePrompt},
    "key3_q_choices_a template": {"template": Template},
    "key3_q_choices_as": {},
    "key3_q_a_rejected likelihood": {},
}


def evaluate(operator, name, template=AnswerJudgePrompt, **options):
    """What an operator wrote, what it returned, and what it asked a model."""
    kind, _, way = name.partition(" ")
    storage, serving = Storage(TABLE), Serving()
    options |= {"llm_serving": serving} if way else {}
    each = operator(eval_result_path="statistics/unified.json", eval_type=kind, prompt_template=template(), **options)
    returned = each.run(storage, **KEYS)
    (statistics,) = json.loads(Path("statistics/unified.json").read_text("utf-8"))
    columns = ["eval_score", "eval_valid", "eval_error", "eval_pred"]
    written = storage.frame[columns].astype(object).where(storage.frame[columns].notna(), None)
    return written, returned, serving.asked, statistics


def compare_layouts():
    """The rows in which DataFlow's and karat's operator differ, and whether the rest is the same."""
    found = {}
    for name, options in LAYOUTS.items():
        own = evaluate(UnifiedBenchDatasetEvaluator, name, **options)
        ours = evaluate(adapter.UnifiedBenchDatasetEvaluator, name, rules="dataflow", **options)
        differ = [row for row in range(ROWS) if own[0].iloc[row].tolist() != ours[0].iloc[row].tolist()]
        near = all(abs(own[3][key] - ours[3][key]) < 1e-9 for key in own[3] if isinstance(own[3][key], float))
        found[name] = {
            "scored": int(own[0]["eval_valid"].sum()),
            "differ": differ,
            "rest": own[1:3] == ours[1:3] and own[3].keys() <= ours[3].keys() and near,
        }
    return found


def score(operator, rows, *keys):
    storage = Storage(rows)
    operator.run(storage, *keys)
    (name,) = [each for each in storage.frame.columns if each not in rows]
    return storage.frame[name].to_numpy(float)


def compare_columns():
    """The largest difference of the scores of F1, of BLEU and, with torch, of BERTScore."""
    answers = {"refined_answer": column(sentence, sentence, "yes", "", None)}
    answers |= {"golden_doc_answer": column(sentence, lambda: [sentence(), sentence(2)], ["yes"], [], "", None)}
    pairs = {"a": column(sentence), "b": column(sentence)}
    found = {
        "f1": (AgenticRAGQAF1SampleEvaluator(), adapter.AgenticRAGQAF1SampleEvaluator(missing="zero"), answers),
        "bleu": (BleuSampleEvaluator(), adapter.BleuSampleEvaluator(score="bleu_1"), pairs, "a", "b"),
    }
    if torch:
        from dataflow.operators.general_text import BertSampleEvaluator

        make_model()
        found["bert"] = (BertSampleEvaluator(), adapter.BertSampleEvaluator(), pairs, "a", "b")
    return {
        name: float(np.abs(score(own, *table) - score(ours, *table)).max())
        for name, (own, ours, *table) in found.items()
    }


METRIC = """
import bert_score
import datasets
import evaluate


class Score(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": text})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, predictions, references, **options):
        names = ("precision", "recall", "f1")
        scores = bert_score.score(predictions, references, **options)
        return {name: each.tolist() for name, each in zip(names, scores)}
"""


def make_model():
    """A small model in place of distilbert-base-uncased, and a metric of `evaluate`, which are on its hub."""
    from transformers import BertTokenizerFast, DistilBertConfig, DistilBertModel

    torch.manual_seed(0)
    letters = "abcdefghijklmnopqrstuvwxyz.!"
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = BertTokenizerFast(vocab={token: at for at, token in enumerate(known)}, model_max_length=64)
    tokenizer.save_pretrained("distilbert-base-uncased")
    size = {"dim": 48, "hidden_dim": 96, "n_layers": 6, "n_heads": 4, "max_position_embeddings": 64}
    model = DistilBertModel(DistilBertConfig(vocab_size=len(known), **size))
    with torch.no_grad():
        for layer in model.transformer.layer:
            layer.output_layer_norm.bias += (
                1.0  # bert_score takes 0 for a negative cosine in a batch of unequal lengths
            )
    model.save_pretrained("distilbert-base-uncased")
    Path("bertscore").mkdir()
    Path("bertscore/bertscore.py").write_text(METRIC, "utf-8")
