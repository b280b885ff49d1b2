"""The base class of evaluators that ask a language model with a prompt of their own."""

from __future__ import annotations

from typing import Any

from karat.adapters.phoenix.code.evaluator import Evaluator
from karat.adapters.phoenix.llm.prompts import PromptTemplate
from karat.adapters.phoenix.schema.schema import Schema
from karat.adapters.phoenix.schema.text import SmartString
from karat.adapters.phoenix.score import DirectionType


class LLMEvaluator(Evaluator):
    """An evaluator with a model and a prompt. A subclass defines `_evaluate(eval_input)`, `_async_evaluate`, or both.

    `llm`: a model as the subclass uses it, such as an `LLM`. `prompt_template`: as in `PromptTemplate`; its
    placeholders are the fields, unless there is an `input_schema`. `schema`: of a reply, for the subclass. Further
    keywords are `invocation_parameters`, which go with each request.

    >>> class Echo(LLMEvaluator):
    ...     def _evaluate(self, eval_input):
    ...         text = self.llm(self.prompt_template.render(eval_input)[0]["content"])
    ...         return [Score(name=self.name, label=text, kind=self.kind)]
    >>> from karat.adapters.phoenix import Score
    >>> echo = Echo(name="echo", llm=str.upper, prompt_template="Say {word}", temperature=0)
    >>> echo.evaluate({"word": "so"})[0].label, echo.invocation_parameters
    ('SAY SO', {'temperature': 0})
    """

    def __init__(
        self,
        *,
        name: str,
        llm: Any,
        prompt_template: Any,
        schema: Any = None,
        input_schema: Any = None,
        direction: DirectionType = "maximize",
        **invocation_parameters: Any,
    ) -> None:
        is_template = isinstance(prompt_template, PromptTemplate)
        self.prompt_template = prompt_template if is_template else PromptTemplate(prompt_template)
        self.llm, self.schema, self.invocation_parameters = llm, schema, invocation_parameters
        fields = {name: SmartString if text else Any for name, text in self.prompt_template.fields.items()}
        super().__init__(name=name, kind="llm", direction=direction, input_schema=input_schema or Schema(fields))
        if input_schema is None:  # names that occur in sections alone may be fields too
            inner = self.prompt_template.inner
            self._schema = Schema({**fields, **dict.fromkeys(inner, Any)}, dict.fromkeys(inner))
            self.unbind()
