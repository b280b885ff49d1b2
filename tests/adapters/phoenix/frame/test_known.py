"""Phoenix's `MatchesRegex` over a frame: the same dicts as Phoenix's own method, whichever engine finds the texts."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("phoenix.evals")

import pandas as pd

from karat.adapters.phoenix import MatchesRegex, evaluate_dataframe

ATOMS = [
    *(
        "a",
        "B",
        ".",
        r"\d",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        "^",
        "$",
        r"\A",
        r"\Z",
        r"\x41",
        r"\101",
        r"\.",
        r"\t",
    ),
    *("[^a]", "[a-c]", "[]a]", "[[:alpha:]]", "(a)", "(?:ab)", "(?i:b)", "(?=a)", "(?<!a)", r"(a)\1", "é", "|", "{,2}"),
]
SUFFIXES = ["", "*", "+", "?", "*?", "+?", "{2}", "{,2}", "{1,}"]
PLAIN = st.text("aAbB c1_.\n\t\r", max_size=6)
TEXTS = st.one_of(PLAIN, PLAIN, st.text("aA 1\n\x0b\x1cé٣k", max_size=6))


@st.composite
def patterns(draw):
    """Patterns that Python's engine takes."""
    parts = draw(st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(SUFFIXES)), min_size=1, max_size=4))
    text = "".join(atom + suffix for atom, suffix in parts)
    try:
        return re.compile(text, draw(st.sampled_from([0, 0, 0, re.IGNORECASE, re.ASCII, re.MULTILINE, re.DOTALL])))
    except (re.error, OverflowError):
        return re.compile("a")


@settings(max_examples=100, deadline=None)
@given(patterns(), st.lists(TEXTS, min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_matches_are_those_of_python(pattern, texts):
    evaluator = MatchesRegex(pattern)
    found = evaluate_dataframe(pd.DataFrame({"output": texts}), [evaluator])["matches_regex_score"]
    for text, cell in zip(texts, found, strict=True):
        (own,) = evaluator.evaluate({"output": text})
        assert (cell["score"], cell["explanation"]) == (own.score, own.explanation)
