"""Metrics of match: whether the prediction equals or contains the reference, or matches a pattern."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.metrics.text import string_comparison
from karat.text.columns import Normalizer, Tokenizer, normalise, tokenise


@metric(source="Rajpurkar et al. 2016, SQuAD, arXiv:1606.05250, section 6.1", aliases=("em",), encoded=True)
def exact_match(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 where the prediction equals the reference, else 0.

    By default texts are compared character by character, as in Haystack and Phoenix. `normalize="squad"` is the exact
    match of SQuAD, HippoRAG and REMem; two texts that are empty after normalising are equal.

    >>> exact_match(["Paris", "the Paris."], ["Paris", "Paris"]).to_pylist()
    [1.0, 0.0]
    >>> exact_match(["the Paris."], ["Paris"], normalize="squad").to_pylist()
    [1.0]
    """
    return string_comparison.equal(normalise(prediction, normalize), normalise(reference, normalize))


@metric(
    source="whole-token containment; the substring form is `includes` of Inspect and `Contains` of Phoenix",
    encoded=True,
)
def contains(
    prediction: Text,
    reference: Text,
    *,
    normalize: Normalizer = "unicode",
    tokenize: Tokenizer = "words",
    whole: bool = True,
) -> Score:
    """1 where the prediction contains the tokens of the reference, one after another, else 0.

    A reference `1` is not contained in `15`. With `whole=False` any substring of the normalised text counts. A
    reference without tokens is contained only in a prediction without tokens.

    >>> contains(["It took 15 days.", "It took 1 day."], ["1", "1"]).to_pylist()
    [0.0, 1.0]
    >>> contains(["It took 15 days."], ["1"], whole=False).to_pylist()
    [1.0]
    >>> contains(["He wrote C++.", "It is 5 %", "-$5"], ["C", "5%", "5"]).to_pylist()
    [0.0, 0.0, 0.0]
    """
    predicted, expected = normalise(prediction, normalize), normalise(reference, normalize)
    if whole:
        return string_comparison.contains(tokenise(predicted, tokenize), tokenise(expected, tokenize))
    return string_comparison.contains_text(predicted, expected)


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
