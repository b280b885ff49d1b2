"""REMem's metrics of answers that ask a language model, over karat's judges; the prompts are karat's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from karat.adapters.remem.answers import BaseMetric, PerExample, Pooled, answer_columns
from karat.core.errors import RowError
from karat.judges.judge import Judge
from karat.models.governor.governor import Governor
from karat.models.request import Reply


class _LLMJudge(BaseMetric):
    """The common part of the judges: the verdicts on an answer, one for each gold answer, aggregated by row.

    `client`: REMem's (`infer(messages=…)` returns a text first), or a model as `karat.Judge` takes it: its name, or an
    async callable. `unreadable`: "error" raises `RowError` for a row whose reply cannot be read, or that no reply came
    for; "wrong" scores it 0, as REMem does without a word.
    """

    key: ClassVar[str] = "LLMEvalAccuracy"
    judge_name: ClassVar[str]
    extra: ClassVar[tuple[str, ...]] = ()
    together: ClassVar[bool] = False

    def __init__(
        self, client: Any, global_config: Any = None, *, unreadable: str = "error", governor: Governor | None = None
    ) -> None:
        super().__init__(global_config)
        if unreadable not in ("error", "wrong"):
            raise ValueError(f"unreadable={unreadable!r}: 'error' or 'wrong' is expected")
        self.unreadable = unreadable
        self.judge = Judge(self.judge_name, model=_model(client), governor=governor)

    def calculate_metric_scores(
        self,
        gold_answers: Sequence[Sequence[str]],
        predicted_answers: Sequence[str],
        aggregation_fn: Callable[[Sequence[float]], float] = np.max,
        **columns: Any,
    ) -> tuple[Pooled, PerExample]:
        """The mean over all rows, and the verdict of each row; a row without gold answers scores 0 and asks nothing.

        `columns`: `questions`, and for LongMemEval `question_types`, a text for each row. Raises `RowError` for lists
        of unequal length and for a null.
        """
        gold, predicted = answer_columns(gold_answers, predicted_answers)
        owners = [
            (row, answers)
            for row, each in enumerate(gold.to_pylist())
            for answers in ([each] if self.together and each else [[answer] for answer in each])
        ]
        places = pa.array([row for row, _ in owners], pa.int64())
        inputs = {"prediction": predicted, **{name: _column(columns, name, len(gold)) for name in self.extra}}
        taken = {_INPUTS.get(name, name): column.take(places) for name, column in inputs.items()}
        reference = pa.array([answers for _, answers in owners], pa.list_(pa.string()))
        verdicts = self.judge(**taken, reference=reference).to_pylist() if owners else []
        scores: list[list[float]] = [[] for _ in range(len(gold))]
        for (row, _), verdict in zip(owners, verdicts, strict=True):
            if verdict is None and self.unreadable == "error":
                raise RowError(
                    f"row {row}: {self.judge.spec} gave no verdict; unreadable='wrong' scores it 0, as REMem"
                )
            scores[row].append(verdict or 0.0)
        rows = [float(aggregation_fn(each)) if each else 0.0 for each in scores]
        return {self.key: float(np.mean(rows)) if rows else 0.0}, [{self.key: score} for score in rows]


_INPUTS = {"questions": "question", "question_types": "question_type"}


class QAMem0LLMJudge(_LLMJudge):
    """Whether an answer touches on what a gold answer says, by the lenient rule of Mem0 (`judge:mem0`).

    REMem reads the literal `{"label": "CORRECT"}` alone, so that another spacing is wrong; here any JSON is read.

    >>> from karat.models.testing.fake import FakeModel
    >>> judge = QAMem0LLMJudge(FakeModel({"explanation": "Both name it.", "label": "correct"}), governor=Governor())
    >>> judge.calculate_metric_scores([["a necklace"]], ["A necklace of shells."], questions=["What did I get?"])
    ({'LLMEvalAccuracy': 1.0}, [{'LLMEvalAccuracy': 1.0}])
    """

    metric_name = "qa_mem0_llm_judge"
    judge_name = "mem0"
    extra = ("questions",)


class QALongMemEvalLLMJudge(_LLMJudge):
    """Whether an answer is right by the rule of the question's type (`judge:longmemeval`), all gold at once.

    REMem ends with an error after the first row; here every row is judged. `aggregation_fn` is not used, as in REMem.
    """

    metric_name = "qa_llm_eval"
    judge_name = "longmemeval"
    extra = ("questions", "question_types")
    together = True


class QAEvalSuitLLMJudge(_LLMJudge):
    """Whether an answer matches a gold answer exactly or well enough; the question is not shown (`judge:evalsuit`)."""

    metric_name = "qa_evalsuit_llm_judge"
    judge_name = "evalsuit"


def _model(client: Any) -> Any:
    """REMem's client as a model: an async callable; any other client as it is."""
    if not hasattr(client, "infer"):
        return client

    async def ask(messages: Any, *_: Any, **__: Any) -> Reply:  # its settings are the client's own
        answer = await asyncio.to_thread(client.infer, messages=list(messages))
        return Reply(answer[0] if isinstance(answer, tuple | list) else answer)

    ask.__name__ = str(getattr(client, "llm_name", type(client).__name__))
    return ask


def _column(columns: Mapping[str, Any], name: str, rows: int) -> pa.Array:
    values = columns.get(name)
    if values is None or len(values) != rows:
        held = "is missing" if values is None else f"has {len(values)} rows"
        raise RowError(f"{name} {held}, gold_answers has {rows} rows")
    return pa.array(list(values), pa.string())
