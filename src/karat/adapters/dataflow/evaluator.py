"""`BenchDatasetEvaluator`: a verdict for each row of a frame, and statistics in a file."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from karat.adapters.dataflow.match import match_answers
from karat.adapters.dataflow.operators import read_frame, write_statistics
from karat.adapters.dataflow.storage import cells
from karat.adapters.dataflow.verdict import JudgePrompt, SubquestionsPrompt, parse_parts, parse_verdict
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.core.version import warn_of_newer

try:
    _Own: Any = import_module("dataflow.operators.core_text").BenchDatasetEvaluator
    _OwnQuestion: Any = import_module("dataflow.operators.core_text").BenchDatasetEvaluatorQuestion
    warn_of_newer("open-dataflow", "1.0.13")
except (ImportError, AttributeError):  # DataFlow, or another package of that name, is not needed
    _Own = _OwnQuestion = None
CompareMethod = Literal["match", "semantic"]
RESULT = "answer_match_result"
PARTS = ("correct_answer_num", "total_subquestions", "response_evaluation")


class _RowVerdict(NamedTuple):
    """A row's verdict (yes, no, empty, invalid, no gold), its numbers of right parts and of parts, and the reply."""

    verdict: str
    correct: int = 0
    total: int = 0
    reply: str | None = None


class BenchDatasetEvaluator(_Own or object):  # type: ignore[misc]
    """Adds a column `answer_match_result`, whether each answer is right, and writes statistics to a JSON file.

    `compare_method="match"` compares the final answer with the gold answer, or with each in a list of gold answers: as
    text, then as normalised text, then by `math_match`. `"semantic"` asks a model, any object with
    `generate_from_input(user_inputs, system_prompt)`, for a verdict. `prompt_template`: any object with
    `build_prompt(answer=…, reference_answer=…)`, which also gets `question=…` if there is a column of questions.

    With `support_subquestions` the model judges every part of a question, and a row is right if all its parts are.
    Further columns: `correct_answer_num` and `total_subquestions` count the parts (0 if nothing was judged),
    `response_evaluation` is the model's reply. Columns of these names from an earlier evaluation are overwritten.
    If no row has a gold answer, `semantic` writes every row, and with `keep_all_samples=False` none.

    Raises `SpecError` for an unknown method and for `semantic` without a model.
    """

    def __init__(
        self,
        eval_result_path: str | Path | None = None,
        compare_method: CompareMethod = "match",
        system_prompt: str = "You judge whether answers are correct.",
        llm_serving: Any = None,
        prompt_template: Any = None,
        support_subquestions: bool = False,
        keep_all_samples: bool = True,
    ) -> None:
        if _Own:
            super().__init__(prompt_template=None)  # its default is a class, which it refuses
        else:
            self.logger = logging.getLogger("DataFlow")
        if compare_method not in get_args(CompareMethod):
            raise SpecError(f"compare_method={compare_method!r}{did_you_mean(compare_method, get_args(CompareMethod))}")
        if compare_method == "semantic" and not hasattr(llm_serving, "generate_from_input"):
            raise SpecError("compare_method='semantic' needs llm_serving, an object with generate_from_input")
        if support_subquestions and compare_method == "match":
            raise SpecError("support_subquestions=True needs compare_method='semantic': a model finds the parts")
        if isinstance(prompt_template, type):
            raise SpecError(f"prompt_template is the class {prompt_template.__name__}; an instance is expected")
        default = f"result_bencheval/{type(self).__name__}_result_{int(time.time())}.json"
        self.eval_result_path = eval_result_path or default
        self.compare_method, self.system_prompt, self.llm_serving = compare_method, system_prompt, llm_serving
        self.prompt_template = prompt_template or (SubquestionsPrompt() if support_subquestions else JudgePrompt())
        self.support_subquestions, self.keep_all_samples = support_subquestions, keep_all_samples

    @staticmethod
    def get_desc(lang: str = "en") -> str:
        """The description of the operator, in English or Chinese (`zh`)."""
        if lang == "zh":
            return "判断每个回答是否与标准答案一致（match 或 semantic），并写出统计结果。"
        return "Says whether each answer agrees with its gold answer (match or semantic), and writes statistics."

    def run(
        self,
        storage: Any,
        input_test_answer_key: str = "generated_cot",
        input_gt_answer_key: str = "golden_answer",
        input_question_key: str | None = None,
    ) -> list[str]:
        """Read the storage's frame, write it back with `answer_match_result`, and return the names of the columns used.

        A row without a gold answer is False, not counted in `accuracy_of_all`. Raises `ColumnError`.
        """
        keys = [input_test_answer_key, input_gt_answer_key, *([input_question_key] if input_question_key else [])]
        frame = read_frame(storage, keys)
        answers = [next(iter(cell), None) for cell in cells(frame[input_test_answer_key])]
        golds = cells(frame[input_gt_answer_key])
        if self.compare_method == "match":
            judged = [_RowVerdict("yes" if same else "no") for same in match_answers(answers, golds)]
        else:
            questions = cells(frame[input_question_key]) if input_question_key else []
            judged = self._ask(answers, golds, ["\n".join(cell) for cell in questions] or [None] * len(golds))
        judged = [each if gold else _RowVerdict("no gold") for each, gold in zip(judged, golds, strict=True)]
        columns: dict[str, list[Any]] = {RESULT: [each.verdict == "yes" for each in judged]}
        if self.support_subquestions:
            columns |= {name: [each[place] for each in judged] for place, name in enumerate(PARTS, 1)}
        if self.compare_method == "semantic" and len(golds) and not any(golds):
            self.logger.warning("no row has a gold answer in %r; no model was asked", input_gt_answer_key)
            frame = frame if self.keep_all_samples else frame.iloc[:0]
        storage.write(frame.assign(**{name: column[: len(frame)] for name, column in columns.items()}))
        self._write_statistics(judged, str(getattr(storage, "file_name_prefix", "")))
        return [*keys, RESULT]

    def _ask(
        self, answers: list[str | None], golds: list[list[str]], questions: Sequence[str | None]
    ) -> list[_RowVerdict]:
        """The verdict on each row that has a gold answer and, without sub-questions, an answer; the rest is wrong."""
        judged = [_RowVerdict("no")] * len(golds)
        rows = [row for row, gold in enumerate(golds) if gold and (answers[row] or self.support_subquestions)]
        prompts = [self._prompt(answers[row] or "", golds[row], questions[row]) for row in rows]
        replies = list(self.llm_serving.generate_from_input(prompts, self.system_prompt) or []) if rows else []
        if replies and len(replies) != len(rows):
            raise DataError(f"{len(rows)} replies are expected, one for each prompt; the model returned {len(replies)}")
        for row, reply in zip(rows, replies or [None] * len(rows), strict=True):
            if self.support_subquestions:
                judged[row] = _RowVerdict(*parse_parts(reply), None if reply is None else str(reply))
            else:
                judged[row] = _RowVerdict(parse_verdict(reply))
        return judged

    def _prompt(self, answer: str, gold: list[str], question: str | None) -> Any:
        texts = {"answer": answer, "reference_answer": " or ".join(gold)}
        return self.prompt_template.build_prompt(**texts if question is None else {"question": question, **texts})

    def _write_statistics(self, judged: Sequence[_RowVerdict], prefix: str) -> None:
        counts = Counter(each.verdict for each in judged)
        total, matched = counts.total(), counts["yes"]
        valid, known = total - counts["empty"], total - counts["no gold"]
        statistics: dict[str, Any] = {
            "bench_name_or_prefix": prefix,
            "total_samples": total,
            "valid_samples": valid,
            "matched_samples": matched,
            # as in DataFlow: failed calls raise the accuracy, missing gold answers lower it
            "accuracy": matched / valid if valid else 0.0,
            "empty_responses_count": counts["empty"],
            "compare_method": self.compare_method,
            "invalid_responses_count": counts["invalid"],
            "samples_without_reference": counts["no gold"],
            "samples_with_reference": known,
            "accuracy_of_all": matched / known if known else None,
        }
        if self.support_subquestions:
            right, parts = sum(each.correct for each in judged), sum(each.total for each in judged)
            statistics |= {
                "total_subquestions": parts,
                "correct_subquestions": right,
                "subquestion_accuracy": right / parts if parts else 0.0,
            }
        write_statistics(self.eval_result_path, statistics)


class BenchDatasetEvaluatorQuestion(BenchDatasetEvaluator, *filter(None, [_OwnQuestion])):  # type: ignore[misc]
    """The same under DataFlow's name for the evaluator that also reads questions."""
