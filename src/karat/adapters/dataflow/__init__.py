r"""DataFlow's evaluators against gold, which also work without DataFlow; with DataFlow they are operators of it.

`evaluator` reads a frame, judges each row and writes the result; `unified` does so for six layouts of benchmarks, of
which `choices` reads choices, `likelihood` asks a model, and `rules` has DataFlow's own readings; `scores` adds columns
of F1, BLEU and BERTScore. `operators` finds what they extend, `registry` puts them in the place of DataFlow's. `match`
compares answers without a model, `conclusion` finds how a worked answer ends; `verdict` holds the prompts and reads the
replies of a model; `storage` reads and writes files in place of DataFlow's storage. Metrics and file formats are not
here: they come from `karat.metrics` and `karat.data`. Open `evaluator` first.

>>> import json, pathlib, tempfile
>>> from karat.adapters.dataflow import BenchDatasetEvaluator, FileStorage
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> row = {"instruction": "What is 2 + 2?", "generated_cot": "The answer is 4.", "golden_answer": "4"}
>>> _ = (folder / "answers.jsonl").write_text(json.dumps(row))
>>> storage = FileStorage(folder / "answers.jsonl")
>>> BenchDatasetEvaluator(folder / "statistics.json").run(storage)
['generated_cot', 'golden_answer', 'answer_match_result']
>>> json.loads((folder / "answers_evaluated.jsonl").read_text())["answer_match_result"]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.adapters.dataflow.evaluator import BenchDatasetEvaluator as BenchDatasetEvaluator
    from karat.adapters.dataflow.evaluator import BenchDatasetEvaluatorQuestion as BenchDatasetEvaluatorQuestion
    from karat.adapters.dataflow.match import match_answers as match_answers
    from karat.adapters.dataflow.registry import register_operators as register_operators
    from karat.adapters.dataflow.scores import AgenticRAGQAF1SampleEvaluator as AgenticRAGQAF1SampleEvaluator
    from karat.adapters.dataflow.scores import BertSampleEvaluator as BertSampleEvaluator
    from karat.adapters.dataflow.scores import BleuSampleEvaluator as BleuSampleEvaluator
    from karat.adapters.dataflow.storage import FileStorage as FileStorage
    from karat.adapters.dataflow.unified import UnifiedBenchDatasetEvaluator as UnifiedBenchDatasetEvaluator
    from karat.adapters.dataflow.verdict import JudgePrompt as JudgePrompt
    from karat.adapters.dataflow.verdict import SubquestionsPrompt as SubquestionsPrompt
    from karat.adapters.dataflow.verdict import parse_parts as parse_parts
    from karat.adapters.dataflow.verdict import parse_verdict as parse_verdict
else:  # DataFlow's own of some import torch
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".evaluator": "BenchDatasetEvaluator BenchDatasetEvaluatorQuestion",
            ".match": "match_answers",
            ".registry": "register_operators",
            ".scores": "AgenticRAGQAF1SampleEvaluator BertSampleEvaluator BleuSampleEvaluator",
            ".storage": "FileStorage",
            ".unified": "UnifiedBenchDatasetEvaluator",
            ".verdict": "JudgePrompt SubquestionsPrompt parse_parts parse_verdict",
        },
    )
