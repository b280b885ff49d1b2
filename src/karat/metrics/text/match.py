"""Metrics of match: whether the prediction equals or contains the reference, or matches a pattern."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import EITHER
from karat.metrics.text import string_comparison
from karat.text.columns import Normalizer, Tokenizer, drop_marks, has_marks, normalise, tokenise


@metric(
    source="Rajpurkar et al. 2016, SQuAD, arXiv:1606.05250, section 6.1",
    aliases=("em",),
    short={"em": {"normalize": "squad"}},
    encoded=True,
    key=lambda texts, settings: normalise(texts, settings["normalize"]),
    lowered_by=EITHER,
)
def exact_match(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 where the prediction equals the reference, else 0.

    By default texts are compared character by character, as in Haystack and Phoenix. `em` stands for
    `exact_match(normalize='squad')`, the exact match of SQuAD, HippoRAG and REMem; two texts that are empty after
    normalising are equal.

    >>> exact_match(["Paris", "the Paris."], ["Paris", "Paris"]).to_pylist()
    [1.0, 0.0]
    >>> exact_match(["the Paris."], ["Paris"], normalize="squad").to_pylist()
    [1.0]
    """
    return string_comparison.equal(normalise(prediction, normalize), normalise(reference, normalize))


@metric(
    source="ours: whole words; the substring form is `includes` of Inspect and `Contains` of Phoenix",
    version=2,
    encoded=True,
    lowered_by=("shorter",),
)
def contains(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "unicode",
    tokenize: Tokenizer = "words",
    whole: bool = True,
) -> Score:
    """1 where the prediction contains the reference as whole words, one after another, else 0.

    A reference `1` is not contained in `15`, nor `3` in `3.14`. What is attached to a word does not hide it:
    punctuation, an ending after an apostrophe (`Paris's`), a label before a colon, particles of Korean, trade marks,
    and citations such as `Paris⁶`, `Paris[6]`, unless the reference has such marks too. Each character of a script
    without spaces is a word. With `whole=False` any substring of the normalised text counts. A reference without words
    is contained only in a prediction without words.

    >>> contains(["It took 15 days.", "It took 1 day."], ["1", "1"]).to_pylist()
    [0.0, 1.0]
    >>> contains(["Elena Anaya⁶ did.", "It is Anaya's[2]"], ["Elena Anaya", "Anaya"]).to_pylist()
    [1.0, 1.0]
    >>> contains(["It took 15 days."], ["1"], whole=False).to_pylist()
    [1.0]
    >>> contains(["He wrote C++.", "It is 5 %", "-$5"], ["C", "5%", "5"]).to_pylist()
    [0.0, 0.0, 0.0]
    """
    expected = normalise(reference, normalize)
    if not whole:
        return string_comparison.contains_text(normalise(prediction, normalize), expected)
    expected = tokenise(expected, tokenize)

    def search(texts: pa.Array) -> Array:
        return string_comparison.contains(tokenise(normalise(texts, normalize), tokenize), expected)

    marked = np.asarray(has_marks(reference))
    plain = search(drop_marks(prediction))
    return np.where(marked, search(prediction), plain) if marked.any() else plain


@metric(source="RE2 syntax, https://github.com/google/re2/wiki/Syntax")
def matches_regex(prediction: Text, *, pattern: str = "", match: Literal["search", "full"] = "search") -> Score:
    r"""1 where a regular expression matches a part of the prediction (`match="full"`: all of it), else 0.

    The engine is RE2, which takes time linear in the text for every pattern. It has no backreferences and no
    look-around; its `\w`, `\d`, `\b` are ASCII (`\p{L}`, `\p{N}` are Unicode). An empty match counts; an empty pattern
    is an error.

    >>> matches_regex(["born in 1984", "born long ago"], pattern=r"\b\d{4}\b").to_pylist()
    [1.0, 0.0]
    """
    if not pattern:
        raise SpecError("matches_regex needs a pattern: matches_regex(pattern='...')")
    try:
        matches = pc.match_substring_regex(prediction, pattern)  # by itself, so that "a)(b" is not accepted below
        if match == "search":
            return matches
        quoted = r"\E" if r"\Q" in pattern else ""
        return pc.match_substring_regex(prediction, rf"\A(?:{pattern}{quoted})\z")
    except pa.ArrowInvalid as error:
        raise SpecError(f"matches_regex: {pattern!r} is not an RE2 pattern: {error}") from None
