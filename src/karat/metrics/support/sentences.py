"""The sentences of an answer, each with the numbers of the contexts that it cites in marks such as `[1]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from karat.core.lazy import import_extra
from karat.text.answers.citations import CITATION, read_citations


class Sentence(NamedTuple):
    """A sentence as it was written, without its marks, and the numbers in its marks."""

    text: str
    claim: str
    citations: tuple[int, ...]


def split(text: str, language: str) -> list[str]:
    """The sentences of a text, with the spaces between them: together they are the text."""
    library = import_extra("sentencex", extra="support", need="a metric of the sentences of an answer")
    return list(library.segment(language, text))


def read_sentences(text: str, language: str) -> list[Sentence]:
    """The sentences of an answer. What has no letter and no digit beside its marks belongs to the sentence before it.

    >>> read_sentences("Rain falls [1, 3]. It is wet.[2]", "en")[0]
    Sentence(text='Rain falls [1, 3].', claim='Rain falls.', citations=(1, 3))
    """
    return [_read(part.strip()) for part in _join(split(text, language))]


def _join(parts: list[str]) -> Iterator[str]:
    whole = ""
    for part in parts:
        if any(map(str.isalnum, CITATION.sub("", part))) and any(map(str.isalnum, CITATION.sub("", whole))):
            yield whole
            whole = part
        else:
            whole += part
    if any(map(str.isalnum, CITATION.sub("", whole))):
        yield whole


def _read(text: str) -> Sentence:
    return Sentence(text, *read_citations(text))
