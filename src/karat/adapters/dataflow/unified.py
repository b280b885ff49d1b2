"""`UnifiedBenchDatasetEvaluator`: one operator for six layouts of benchmarks, with scores in four columns."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from karat.adapters.dataflow import rules as upstream
from karat.adapters.dataflow.choices import (
    BenchRules,
    ScoredRow,
    choose_one,
    choose_several,
    find_gold,
    read_golds,
    read_listed,
)
from karat.adapters.dataflow.likelihood import build_prompt, find_likelihoods
from karat.adapters.dataflow.match import match_answers
from karat.adapters.dataflow.operators import find_operator, prepare, read_frame, write_statistics
from karat.adapters.dataflow.storage import cells, values
from karat.adapters.dataflow.verdict import JudgePrompt, parse_verdict
from karat.core.errors import DataError, SpecError, did_you_mean

EvalType = Literal[
    "key1_text_score", "key2_qa", "key2_q_ma", "key3_q_choices_a", "key3_q_choices_as", "key3_q_a_rejected"
]
METRICS = {
    "key1_text_score": "ppl",
    "key2_qa": "math_verify",
    "key2_q_ma": "any_math_verify",
    "key3_q_choices_a": "ll_choice_acc",
    "key3_q_choices_as": "micro_f1",
    "key3_q_a_rejected": "pairwise_ll_winrate",
}
KEYS = {
    "key1_text_score": ("text",),
    "key2_qa": ("question", "target"),
    "key2_q_ma": ("question", "targets"),
    "key3_q_choices_a": ("question", "choices", "label"),
    "key3_q_choices_as": ("question", "choices", "labels"),
    "key3_q_a_rejected": ("question", "better", "rejected"),
}


class UnifiedBenchDatasetEvaluator(find_operator("core_text", "UnifiedBenchDatasetEvaluator")):  # type: ignore[misc]
    """Adds `eval_score`, `eval_pred`, `eval_valid` and `eval_error`, and writes statistics to a JSON file.

    `eval_type`: the layout. `key2_qa` and `key2_q_ma` compare answers as `match_answers` does, or ask `llm_serving`
    with `use_semantic_judge`. `key3_q_choices_a` takes the most likely choice where `llm_serving` gives likelihoods,
    else the choice that the answer names; `key3_q_choices_as` is the F1 of sets of choices. `key1_text_score`, which is
    perplexity, and `key3_q_a_rejected` need a model, and are DataFlow's own. `rules="dataflow"` reads answers and gold
    as DataFlow does, its faults included; `key2` needs DataFlow for it. `count_from`: the number of the first choice.

    Raises `SpecError` for an unknown layout or rule, for a judge without a model, and where DataFlow is needed.
    """

    def __init__(
        self,
        eval_result_path: str | Path | None = None,
        eval_type: EvalType = "key2_qa",
        llm_serving: Any = None,
        prompt_template: Any = None,
        system_prompt: str = "You judge whether answers are correct.",
        metric_type: str | None = None,
        use_semantic_judge: bool = False,
        rules: BenchRules = "karat",
        count_from: Literal[0, 1] = 0,
    ) -> None:
        prepare(self)
        for name, value, known in (
            ("eval_type", eval_type, get_args(EvalType)),
            ("rules", rules, get_args(BenchRules)),
        ):
            if value not in known:
                raise SpecError(f"{name}={value!r}{did_you_mean(value, known)}")
        if use_semantic_judge and (eval_type != "key2_qa" or not hasattr(llm_serving, "generate_from_input")):
            raise SpecError(
                "use_semantic_judge=True needs eval_type='key2_qa' and llm_serving with generate_from_input"
            )
        self.eval_result_path = (
            eval_result_path or f"result_bencheval/{type(self).__name__}_result_{int(time.time())}.json"
        )
        self.eval_type, self.llm_serving, self.system_prompt = eval_type, llm_serving, system_prompt
        self.prompt_template = JudgePrompt() if prompt_template is None else prompt_template
        self.use_semantic_judge, self.rules, self.count_from = use_semantic_judge, rules, count_from
        own = rules == "dataflow" and eval_type.startswith("key2") and not use_semantic_judge
        self._match = upstream.load_matcher(several=eval_type == "key2_q_ma") if own else None
        self.metric_type = metric_type or ("semantic_judge" if use_semantic_judge else METRICS[eval_type])

    @staticmethod
    def get_desc(lang: str = "en") -> str:
        """The description of the operator, in English or Chinese (`zh`)."""
        if lang == "zh":
            return "统一评测算子：支持六种基准格式，写回每行得分并输出统计结果。"
        return "Evaluates benchmarks of six layouts: writes a score for each row, and statistics."

    def run(
        self,
        storage: Any,
        input_text_key: str = "text",
        input_question_key: str = "question",
        input_target_key: str = "golden_answer",
        input_targets_key: str = "gold_answers",
        input_choices_key: str = "choices",
        input_label_key: str = "label",
        input_labels_key: str = "labels",
        input_better_key: str = "better",
        input_rejected_key: str = "rejected",
        input_context_key: str | None = None,
        input_pred_key: str = "generated_ans",
        output_eval_valid_key: str = "eval_valid",
        output_eval_error_key: str = "eval_error",
        output_eval_pred_key: str = "eval_pred",
        output_eval_score_key: str = "eval_score",
        output_valid_key: str | None = None,
        output_error_key: str | None = None,
        output_pred_key: str | None = None,
        output_score_key: str | None = None,
        input_keys_map: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Read the storage's frame, write it back with four columns, and return the names of the columns used.

        Earlier versions of DataFlow have `output_valid_key` and so on without `eval_`, and `input_keys_map`, columns by
        their part in the layout. A row without a score has `eval_valid` False and the reason in `eval_error`. Raises
        `ColumnError`.
        """
        names = {
            "text": input_text_key,
            "question": input_question_key,
            "target": input_target_key,
            "targets": input_targets_key,
            "choices": input_choices_key,
            "label": input_label_key,
            "labels": input_labels_key,
            "better": input_better_key,
            "rejected": input_rejected_key,
        } | dict(input_keys_map or {})
        likely = self.eval_type == "key3_q_choices_a" and self.llm_serving is not None
        predicted = self.eval_type.startswith(("key2", "key3_q_choices")) and not likely
        keys = [*(names[part] for part in KEYS[self.eval_type]), *([input_pred_key] if predicted else [])]
        frame = read_frame(storage, [*keys, *([input_context_key] if input_context_key else [])])
        columns = {part: frame[names[part]] for part in KEYS[self.eval_type]}
        contexts = (
            ["\n".join(cell) for cell in cells(frame[input_context_key])] if input_context_key else [""] * len(frame)
        )
        answers = [next(iter(cell), None) for cell in cells(frame[input_pred_key])] if predicted else []
        scored = self._score(columns, answers, contexts, likely=likely)
        score, valid = output_score_key or output_eval_score_key, output_valid_key or output_eval_valid_key
        error = output_error_key or output_eval_error_key
        outputs = {
            score: [np.nan if each.score is None else each.score for each in scored],
            output_pred_key or output_eval_pred_key: [each.read for each in scored],
            valid: [each.score is not None for each in scored],
            error: [each.error for each in scored],
        }
        storage.write(frame.assign(**outputs))
        self._write(scored, str(getattr(storage, "file_name_prefix", "")))
        used = [key for key in keys if key != input_pred_key or self.eval_type != "key3_q_choices_a"]  # as in DataFlow
        return [*used, score, valid, error]

    def _score(
        self, columns: Mapping[str, Any], answers: Sequence[str | None], contexts: Sequence[str], *, likely: bool
    ) -> list[ScoredRow]:
        if self.eval_type == "key1_text_score":
            return self._perplexities([" ".join(cell) for cell in cells(columns["text"])])
        questions = [" ".join(cell) for cell in cells(columns["question"])]
        if self.eval_type == "key3_q_a_rejected":
            return self._pairs(questions, contexts, *(cells(columns[part]) for part in ("better", "rejected")))
        if self.eval_type.startswith("key2"):
            return self._answers(questions, answers, columns["target" if self.eval_type == "key2_qa" else "targets"])
        golds = values(columns["label" if self.eval_type == "key3_q_choices_a" else "labels"])
        rows = zip(
            values(columns["choices"]),
            golds,
            questions,
            contexts,
            answers or [None] * len(questions),
            strict=True,
        )
        return [self._choose(*row, likely=likely) for row in rows]

    def _choose(
        self, cell: Any, label: Any, question: str, context: str, answer: str | None, *, likely: bool
    ) -> ScoredRow:
        """A row with choices: the most likely one, or what the answer names."""
        choices = read_listed(cell)
        if choices is None or (not choices and (likely or self.rules == "karat")):
            return ScoredRow(error="choices_not_list" if choices is None and cell is not None else "empty_choices")
        if not likely:
            choose = choose_one if self.eval_type == "key3_q_choices_a" else choose_several
            return choose(answer, label, choices, self.rules, self.count_from)
        if (gold := find_gold(label, len(choices), self.rules, self.count_from)) is None:
            return ScoredRow(error="invalid_label", gold=False)
        chosen = self._likeliest(question, context, choices)
        return ScoredRow(error="ll_unavailable") if chosen is None else ScoredRow(float(chosen == gold), read=chosen)

    def _answers(self, questions: Sequence[str], answers: Sequence[str | None], golds: Any) -> list[ScoredRow]:
        """Answers that are compared with one or several gold answers, or judged by a model."""
        targets, several = cells(golds), "s" * (self.eval_type == "key2_q_ma")
        if several:
            split = upstream.split_targets if self.rules == "dataflow" else read_golds
            targets = [
                split(cell[0]) if cell and isinstance(value, str) else cell
                for cell, value in zip(targets, values(golds), strict=True)
            ]
        rows = [row for row, (answer, gold) in enumerate(zip(answers, targets, strict=True)) if gold and answer]
        pairs = [(questions[row], answers[row] or "", targets[row]) for row in rows]
        scored = dict(zip(rows, self._compare(pairs), strict=True))
        return [
            ScoredRow(error=f"empty_reference{several}", gold=False)
            if not gold
            else scored.get(row, ScoredRow(error="empty_prediction"))
            for row, gold in enumerate(targets)
        ]

    def _compare(self, pairs: Sequence[tuple[str, str, list[str]]]) -> list[ScoredRow]:
        """The score of each question, answer and its gold answers."""
        if self.use_semantic_judge:
            return [ScoredRow(float(right)) for right in self._ask(pairs)]
        answers, golds = [answer for _, answer, _ in pairs], [gold for *_, gold in pairs]
        if self._match is not None:
            return [ScoredRow(float(right), read=read) for right, read in map(self._match, answers, golds)]
        same = zip(match_answers(answers, golds), answers, strict=True)
        return [ScoredRow(float(right), read=answer) for right, answer in same]

    def _ask(self, pairs: Sequence[tuple[str, str, list[str]]]) -> list[bool]:
        """The verdicts of a model; `DataError` unless there is one for each prompt."""
        prompts = [
            self.prompt_template.build_prompt(answer=answer, reference_answer=" or ".join(gold), question=question)
            for question, answer, gold in pairs
        ]
        replies = (
            list(self.llm_serving.generate_from_input(user_inputs=prompts, system_prompt=self.system_prompt))
            if prompts
            else []
        )
        if len(replies) != len(prompts):
            raise DataError(
                f"{len(prompts)} replies are expected, one for each prompt; the model returned {len(replies)}"
            )
        return [parse_verdict(reply) == "yes" for reply in replies]

    def _likeliest(self, question: str, context: str, choices: list[str]) -> int | None:
        prompt = build_prompt(question, context, choices, self.prompt_template)
        likelihoods = self._likelihoods([prompt] * len(choices), choices)
        return None if likelihoods is None else int(np.argmax(likelihoods))

    def _pairs(
        self, questions: Sequence[str], contexts: Sequence[str], better: list[list[str]], rejected: list[list[str]]
    ) -> list[ScoredRow]:
        """Whether the better answer is more likely than the rejected one; a tie is lost."""
        if self.llm_serving is None:
            return [ScoredRow(error="llm_serving_required_for_pairwise")] * len(questions)
        scored = []
        for question, context, good, bad in zip(questions, contexts, better, rejected, strict=True):
            if not good or not bad:
                scored.append(ScoredRow(error="empty_rejected" if good else "empty_better", gold=False))
                continue
            prompt = build_prompt(question, context, template=self.prompt_template)
            likelihoods = self._likelihoods([prompt] * 2, [good[0], bad[0]])
            if likelihoods is None:
                scored.append(ScoredRow(error="ll_unavailable"))
            else:
                read = json.dumps({"ll_better": float(likelihoods[0]), "ll_rejected": float(likelihoods[1])})
                scored.append(ScoredRow(float(likelihoods[0] > likelihoods[1]), read=read))
        return scored

    def _likelihoods(self, prompts: list[str], continuations: list[str]) -> list[float] | None:
        return find_likelihoods(self.llm_serving, getattr(super(), "_ll_batch", None), prompts, continuations)

    def _perplexities(self, texts: list[str]) -> list[ScoredRow]:
        own = getattr(super(), "_ppl_batch", None)  # DataFlow's, with the model of llm_serving
        values = own(texts) if own else None
        missing = ScoredRow(error="ppl_unavailable")
        return [missing] * len(texts) if values is None else [ScoredRow(float(each)) for each in values]

    def _write(self, scored: Sequence[ScoredRow], prefix: str) -> None:
        scores = [each.score for each in scored if each.score is not None]
        mean = float(np.mean(scores)) if scores else 0.0
        name = {"key1_text_score": "ppl_mean", "key3_q_choices_as": "micro_f1_mean"}.get(self.eval_type, "accuracy")
        statistics = {
            "bench_name_or_prefix": prefix,
            "type": self.eval_type,
            "metric": self.metric_type,
            "total_samples": len(scored),
            "valid_samples": len(scores),
            name: mean,  # as in DataFlow: answers that cannot be read leave it
        }
        if self.eval_type != "key1_text_score":
            known = [each for each in scored if each.gold]
            statistics[f"{name}_of_all"] = sum(each.score or 0.0 for each in known) / len(known) if known else None
        write_statistics(self.eval_result_path, statistics)
