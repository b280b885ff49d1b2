"""Evaluators with the names of Phoenix's, over karat's judges and prompts, where both judge the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from karat.adapters.phoenix.evaluators.karat_metric import MetricEvaluator
from karat.adapters.phoenix.llm.model import to_model
from karat.adapters.phoenix.mapping import InputMapping
from karat.judges.judge import Judge
from karat.models.governor.governor import Governor


class _JudgeEvaluator(MetricEvaluator):
    """One of karat's judges. `llm`: as in `ClassificationEvaluator`. `settings`: those of a judge."""

    NAME: ClassVar[str]
    FIELDS: ClassVar[Mapping[str, str]] = {}
    """Phoenix's names of fields that karat does not know as aliases, and the judge's columns that they mean."""

    def __init__(self, llm: Any, *, governor: Governor | None = None, **settings: Any) -> None:
        model = llm if isinstance(llm, str) else to_model(llm)
        super().__init__([Judge(self.NAME, model=model, governor=governor, **settings)], self.NAME)
        self.unbind()

    def bind(self, input_mapping: InputMapping | None) -> None:
        super().bind(self._with_own_fields(input_mapping))

    def _read_fields(self, record: Mapping[str, Any], mapping: InputMapping | None) -> dict[str, Any]:
        return super()._read_fields(record, self._with_own_fields(mapping) if mapping else None)

    def _with_own_fields(self, mapping: InputMapping | None) -> InputMapping:
        """The mapping, with each of `FIELDS` that it does not map taken from the key of that name."""
        mapped = {self._role(field) for field in mapping or {}}
        return {field: field for field, role in self.FIELDS.items() if role not in mapped} | dict(mapping or {})

    def _role(self, field: str) -> str | None:
        return super()._role(self.FIELDS.get(field, field))


class ConcisenessEvaluator(_JudgeEvaluator):
    """Reads `input` and `output`: concise 1, verbose 0.

    >>> from karat.models.testing.fake import FakeModel
    >>> model = FakeModel({"explanation": "Nothing to leave out.", "label": "concise"})
    >>> (score,) = ConcisenessEvaluator(model, governor=Governor()).evaluate({"input": "Capital?", "output": "Paris"})
    >>> score.name, score.score, score.label
    ('conciseness', 1.0, 'concise')
    """

    NAME = "conciseness"


class DocumentRelevanceEvaluator(_JudgeEvaluator):
    """Reads `input` and `document_text`: relevant 1, unrelated 0; for a list, the share of relevant ones."""

    NAME = "document_relevance"
    FIELDS: ClassVar[Mapping[str, str]] = {"document_text": "contexts"}


class FaithfulnessEvaluator(_JudgeEvaluator):
    """Reads `input`, `output` and `context` (a text or a list): the share of the output's statements it supports."""

    NAME = "faithfulness"


class RefusalEvaluator(_JudgeEvaluator):
    """Reads `input` and `output`: refused 1, answered 0."""

    NAME = "refusal"


class ToxicityEvaluator(_JudgeEvaluator):
    """Reads `text`: toxic 1, harmless 0."""

    NAME = "toxicity"
    FIELDS: ClassVar[Mapping[str, str]] = {"text": "prediction"}
