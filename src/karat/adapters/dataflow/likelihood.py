"""How likely a model finds answers: DataFlow's prompt, and the likelihoods that a serving of DataFlow's gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from karat.core.errors import DataError

_METHODS = ("loglikelihood_batch", "loglikelihood", "get_loglikelihood_batch", "get_loglikelihood")


def build_prompt(question: str, context: str, choices: Sequence[str] = (), template: Any = None) -> str:
    """The prompt of which an answer is the continuation: by a user's template which takes these parts, or by ours.

    >>> print(build_prompt("Which?", "", ["Paris", "Lyon"]))
    Question:
    Which?
    <BLANKLINE>
    Choices:
    A. Paris
    B. Lyon
    <BLANKLINE>
    Answer:
    """
    listed = "\n".join(f"{chr(ord('A') + at) if at < 26 else at}. {choice}" for at, choice in enumerate(choices))
    task = "mc_single" if choices else "pairwise"
    parts = {"question": question, "context": context or None, "text": None, "choices": list(choices) or None}
    if template is not None:
        with suppress(TypeError):  # it takes other parts, as the prompts for judges do
            return str(template.build_prompt(**parts, choices_text=listed or None, task=task))
    blocks = (("Context", context), ("Question", question.strip()), ("Choices", listed))
    return "".join(f"{name}:\n{block}\n\n" for name, block in blocks if block or name == "Question") + "Answer:"


def find_likelihoods(
    serving: Any, own: Callable[..., Any] | None, prompts: list[str], continuations: list[str]
) -> list[float] | None:
    """The log likelihood of each continuation: from a method of the serving, else by `own`, DataFlow's; None without.

    Raises `DataError` unless there is one for each prompt.
    """
    apart = [
        f"{'' if prompt[-1:] in (' ', chr(10)) else ' '}{each}"
        for prompt, each in zip(prompts, continuations, strict=True)
    ]
    ask = next(filter(None, (getattr(serving, name, None) for name in _METHODS)), own)
    likelihoods = None if ask is None else ask(prompts, apart)
    if likelihoods is not None and len(likelihoods) != len(prompts):
        raise DataError(f"{len(prompts)} likelihoods are expected; the model returned {len(likelihoods)}")
    return None if likelihoods is None else [float(each) for each in likelihoods]
