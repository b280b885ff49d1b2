"""Runs in DataFlow's environment, in an empty folder: one pipeline of its own and of karat's operators."""

import json
import sys
from pathlib import Path

import beside_script  # before DataFlow, which wants torch
import dataflow
from dataflow.core import LLMServingABC
from dataflow.operators.core_text import BenchDatasetEvaluator, BenchDatasetEvaluatorQuestion
from dataflow.pipeline import PipelineABC
from dataflow.utils.registry import OPERATOR_REGISTRY
from dataflow.utils.storage import FileStorage

from karat.adapters import dataflow as adapter

EXAMPLES = Path(dataflow.__file__).parent / "example" / "core_text_data"
PARTS = "{'judgement': ['true', 'empty',], /* two */}"


class Model(LLMServingABC):
    def generate_from_input(self, user_inputs, system_prompt):  # noqa: ARG002  (DataFlow's signature)
        return [PARTS if "sub_questions" in prompt else '{"judgement_result": true}' for prompt in user_inputs]

    def start_serving(self):
        pass

    def cleanup(self):
        pass


class Evaluation(PipelineABC):
    def __init__(self, name, keys, operators):
        super().__init__()
        self.storage = FileStorage(str(EXAMPLES / name), cache_path=f"cache_{name}", cache_type="jsonl")
        self.keys, self.names = keys, list(operators)
        for operator, each in operators.items():
            setattr(self, operator, each)

    def forward(self):
        for name in self.names:
            getattr(self, name).run(storage=self.storage.step(), **self.keys)


def evaluate(name, keys, question, **operators):
    """The verdicts that each operator wrote, and its statistics."""
    keys = dict(zip(("input_test_answer_key", "input_gt_answer_key"), keys, strict=True))
    for operator, each in operators.items():
        each.eval_result_path = f"statistics/{name}_{operator}.json"
        if "Question" in type(each).__name__:
            keys["input_question_key"] = question
    pipeline = Evaluation(name, keys, operators)
    pipeline.compile()
    pipeline.forward()
    found = {}
    for step, operator in enumerate(operators, 1):
        lines = Path(f"cache_{name}/dataflow_cache_step_step{step}.jsonl").read_text("utf-8").splitlines()
        verdicts = [json.loads(line)["answer_match_result"] for line in lines]
        (statistics,) = json.loads(Path(f"statistics/{name}_{operator}.json").read_text("utf-8"))
        found[operator] = {"verdicts": verdicts, "statistics": statistics}
    return found


own = OPERATOR_REGISTRY.get("BenchDatasetEvaluator")
before = own is BenchDatasetEvaluator
adapter.register_operators()
semantic = {"compare_method": "semantic", "llm_serving": Model()}
report = {
    "own_operator_until_asked": before,
    "karat_when_asked": OPERATOR_REGISTRY.get("BenchDatasetEvaluator") is adapter.BenchDatasetEvaluator,
    "is_operator": issubclass(adapter.BenchDatasetEvaluator, own)
    and issubclass(adapter.BenchDatasetEvaluatorQuestion, BenchDatasetEvaluatorQuestion),
    "logger": adapter.BenchDatasetEvaluator("s.json").logger is own(prompt_template=None).logger,
    "worked": evaluate(
        "bench_eval_data_2.jsonl",
        ("model_answer", "golden_label"),
        "question",
        dataflow=own(prompt_template=None),
        karat=adapter.BenchDatasetEvaluator(),
    ),
    "boxed": evaluate(
        "bench_eval_data.jsonl",
        ("solution", "answer"),
        "question",
        dataflow=own(prompt_template=None),
        karat=adapter.BenchDatasetEvaluator(),
    ),
    "semantic": evaluate(
        "bench_eval_data.jsonl",
        ("solution", "answer"),
        "question",
        dataflow=BenchDatasetEvaluatorQuestion(**semantic, prompt_template=None),
        karat=adapter.BenchDatasetEvaluatorQuestion(**semantic),
        parts=adapter.BenchDatasetEvaluatorQuestion(**semantic, support_subquestions=True),
    ),
    "layouts": beside_script.compare_layouts(),
    "columns": beside_script.compare_columns(),
}
Path(sys.argv[1]).write_text(json.dumps(report), "utf-8")
