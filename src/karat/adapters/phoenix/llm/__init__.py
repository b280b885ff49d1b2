"""Evaluators that ask a language model, with Phoenix's names for them.

Here are classifiers with a prompt of the user's (`prompts.py` renders it), Phoenix's evaluators over karat's own
prompts (`judges.py`), and the models they ask. Not here: judging itself (`karat.judges`), limits, retries and cache
(`karat.models`). Open `classifier.py` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.adapters.phoenix.llm.model import LLM as LLM
    from karat.adapters.phoenix.llm.prompts import Message as Message
    from karat.adapters.phoenix.llm.prompts import MessageRole as MessageRole
    from karat.adapters.phoenix.llm.prompts import PromptLike as PromptLike
    from karat.adapters.phoenix.llm.prompts import PromptTemplate as PromptTemplate
    from karat.adapters.phoenix.llm.prompts import (
        phoenix_prompt_to_prompt_template as phoenix_prompt_to_prompt_template,
    )
    from karat.adapters.phoenix.llm.template import TemplateFormat as TemplateFormat
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".model": "LLM",
            ".prompts": "Message MessageRole PromptLike PromptTemplate phoenix_prompt_to_prompt_template",
            ".template": "TemplateFormat",
        },
    )
