"""Whether a prediction is, holds or looks like what was expected."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.metrics.text import pairs
from karat.text.columns import Normalizer, Tokenizer, normalise, tokenise


@metric(source="Rajpurkar et al. 2016, SQuAD, arXiv:1606.05250, section 6.1", aliases=("em",), encoded=True)
def exact_match(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 where the prediction equals the reference, else 0.

    Strict unless told otherwise: character by character, as in Haystack and Phoenix. `normalize="squad"` is the exact
    match of SQuAD, HippoRAG and REMem; after it two texts of which nothing is left are equal.

    >>> exact_match(["Paris", "the Paris."], ["Paris", "Paris"]).to_pylist()
    [1.0, 0.0]
    >>> exact_match(["the Paris."], ["Paris"], normalize="squad").to_pylist()
    [1.0]
    """
    return pairs.equal(normalise(prediction, normalize), normalise(reference, normalize))


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
    """1 where the reference stands in the prediction, whole token for whole token, else 0.

    So gold `1` is not found in `15`. With `whole=False` any substring of the normalised text counts. A reference that
    has no token is contained only in a prediction that has none.

    >>> contains(["It took 15 days.", "It took 1 day."], ["1", "1"]).to_pylist()
    [0.0, 1.0]
    >>> contains(["It took 15 days."], ["1"], whole=False).to_pylist()
    [1.0]
    >>> contains(["He wrote C++.", "It is 5 %", "-$5"], ["C", "5%", "5"]).to_pylist()
    [0.0, 0.0, 0.0]
    """
    held, sought = normalise(prediction, normalize), normalise(reference, normalize)
    if whole:
        return pairs.contains(tokenise(held, tokenize), tokenise(sought, tokenize))
    return pairs.contains_text(held, sought)


@metric(source="RE2 syntax, https://github.com/google/re2/wiki/Syntax")
def matches_regex(prediction: Text, *, pattern: str = "", match: Literal["search", "full"] = "search") -> Score:
    r"""1 where a regular expression is found in the prediction (`match="full"`: fits all of it), else 0.

    The engine is RE2, whose time is linear in the text whatever the pattern; it has no backreferences and no
    look-around, and its `\w`, `\d`, `\b` are ASCII (`\p{L}`, `\p{N}` are Unicode). A match of no characters counts; the
    empty pattern is an error.

    >>> matches_regex(["born in 1984", "born long ago"], pattern=r"\b\d{4}\b").to_pylist()
    [1.0, 0.0]
    """
    if not pattern:
        raise SpecError("matches_regex needs a pattern: matches_regex(pattern='...')")
    try:
        found = pc.match_substring_regex(prediction, pattern)  # first alone, so that it is a pattern on its own
        if match == "search":
            return found
        quoted = r"\E" if r"\Q" in pattern else ""
        return pc.match_substring_regex(prediction, rf"\A(?:{pattern}{quoted})\z")
    except pa.ArrowInvalid as error:
        raise SpecError(f"matches_regex: {pattern!r} is no RE2 pattern: {error}") from None
