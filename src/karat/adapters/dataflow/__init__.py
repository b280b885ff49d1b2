r"""DataFlow's benchmark evaluator, which also works without DataFlow; with DataFlow it is one of its operators.

`evaluator` reads a frame, judges each row and writes the result; `match` compares answers without a model,
`conclusion` finds how a worked answer ends; `verdict` holds the prompts and reads the replies of a model; `storage`
reads and writes files in place of DataFlow's storage. Metrics and file formats are not here: they come from
`karat.metrics` and `karat.data`. Open `evaluator` first.

>>> import json, pathlib, tempfile
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> row = {"instruction": "What is 2 + 2?", "generated_cot": "The answer is 4.", "golden_answer": "4"}
>>> _ = (folder / "answers.jsonl").write_text(json.dumps(row))
>>> storage = FileStorage(folder / "answers.jsonl")
>>> BenchDatasetEvaluator(folder / "statistics.json").run(storage)
['generated_cot', 'golden_answer', 'answer_match_result']
>>> json.loads((folder / "answers_evaluated.jsonl").read_text())["answer_match_result"]
True
"""

from karat.adapters.dataflow.evaluator import BenchDatasetEvaluator, BenchDatasetEvaluatorQuestion, register_operators
from karat.adapters.dataflow.match import match_answers
from karat.adapters.dataflow.storage import FileStorage
from karat.adapters.dataflow.verdict import JudgePrompt, SubquestionsPrompt, parse_parts, parse_verdict

__all__ = [
    "BenchDatasetEvaluator",
    "BenchDatasetEvaluatorQuestion",
    "FileStorage",
    "JudgePrompt",
    "SubquestionsPrompt",
    "match_answers",
    "parse_parts",
    "parse_verdict",
    "register_operators",
]
