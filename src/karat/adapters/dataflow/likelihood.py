"""How likely a model finds answers: DataFlow's prompt, and the likelihoods that a serving of DataFlow's gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from karat.core.errors import DataError

_METHODS = ("loglikelihood_batch", "loglikelihood", "get_loglikelihood_batch", "get_loglikelihood")


def build_prompt(question: str, context: str, choices: Sequence[str] = ()) -> str:
    """The prompt of which an answer is the continuation.

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
    lines = [f"{chr(ord('A') + at) if at < 26 else at}. {choice}" for at, choice in enumerate(choices)]
    blocks = (("Context", context), ("Question", question.strip()), ("Choices", "\n".join(lines)))
    return "".join(f"{name}:\n{block}\n\n" for name, block in blocks if block) + "Answer:"


def find_likelihoods(
    serving: Any, own: Callable[..., Any] | None, prompts: list[str], continuations: list[str]
) -> list[float] | None:
    """The log likelihood of each continuation: from a method of the serving, else by `own`, DataFlow's; None without.

    Raises `DataError` unless there is one for each prompt.
    """
    ask = next(filter(None, (getattr(serving, name, None) for name in _METHODS)), own)
    likelihoods = None if ask is None else ask(prompts, continuations)
    if likelihoods is not None and len(likelihoods) != len(prompts):
        raise DataError(f"{len(prompts)} likelihoods are expected; the model returned {len(likelihoods)}")
    return None if likelihoods is None else [float(each) for each in likelihoods]
