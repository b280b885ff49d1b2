"""Evaluators that Phoenix has by name, over karat's judges and their prompts, where the two ask the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from karat.adapters.phoenix.evaluators.karat_metric import MetricEvaluator
from karat.adapters.phoenix.llm.model import to_model
from karat.adapters.phoenix.mapping import InputMapping
from karat.judges.judge import Judge
from karat.models.governor.governor import Governor


class _OfJudge(MetricEvaluator):
    """A judge of karat's as an evaluator; `llm` as a `ClassificationEvaluator` takes it, `settings` as a judge does."""

    NAME: ClassVar[str]
    FIELDS: ClassVar[Mapping[str, str]] = {}
    """What Phoenix calls a field, and which of the judge's columns it is, where that is none of karat's aliases."""

    def __init__(self, llm: Any, *, governor: Governor | None = None, **settings: Any) -> None:
        model = llm if isinstance(llm, str) else to_model(llm)
        super().__init__([Judge(self.NAME, model=model, governor=governor, **settings)], self.NAME)
        self.unbind()

    def bind(self, input_mapping: InputMapping | None) -> None:
        super().bind(self._whole(input_mapping))

    def _given(self, record: Mapping[str, Any], mapping: InputMapping | None) -> dict[str, Any]:
        return super()._given(record, self._whole(mapping) if mapping else None)

    def _whole(self, mapping: InputMapping | None) -> InputMapping:
        """The mapping with Phoenix's fields, which are read from keys of their names unless it says otherwise."""
        mapped = {self._role(field) for field in mapping or {}}
        return {field: field for field, role in self.FIELDS.items() if role not in mapped} | dict(mapping or {})

    def _role(self, field: str) -> str | None:
        return super()._role(self.FIELDS.get(field, field))


class ConcisenessEvaluator(_OfJudge):
    """Of `input` and `output`: concise 1, verbose 0.

    >>> from karat.models.testing.fake import FakeModel
    >>> model = FakeModel({"explanation": "Nothing to leave out.", "label": "concise"})
    >>> (score,) = ConcisenessEvaluator(model, governor=Governor()).evaluate({"input": "Capital?", "output": "Paris"})
    >>> score.name, score.score, score.label
    ('conciseness', 1.0, 'concise')
    """

    NAME = "conciseness"


class DocumentRelevanceEvaluator(_OfJudge):
    """Of `input` and `document_text`: relevant 1, unrelated 0; of a list of documents, the share of relevant ones."""

    NAME = "document_relevance"
    FIELDS: ClassVar[Mapping[str, str]] = {"document_text": "contexts"}


class FaithfulnessEvaluator(_OfJudge):
    """Of `input`, `output` and `context`, one or a list: the share of the output's statements that it supports."""

    NAME = "faithfulness"


class RefusalEvaluator(_OfJudge):
    """Of `input` and `output`: refused 1, answered 0."""

    NAME = "refusal"


class ToxicityEvaluator(_OfJudge):
    """Of `text`: toxic 1, harmless 0."""

    NAME = "toxicity"
    FIELDS: ClassVar[Mapping[str, str]] = {"text": "prediction"}
