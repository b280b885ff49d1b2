import pytest

from karat import SpecError
from karat.metrics import contains, matches_regex


@pytest.mark.parametrize(
    ("prediction", "reference", "found"),
    [
        ("It took 15 days.", "1", 0.0),
        ("He wrote C.", "C#", 0.0),
        ("C++ is", "C", 0.0),
        ("C++ is", "c++", 1.0),
        ("It is 5", "5%", 0.0),
        ("It is 5%.", "5%", 1.0),
        ("cost -$5", "$5", 0.0),
        ("It is .5", "5", 0.0),
        ("from 1990-1995", "1995", 1.0),
        ("in Paris/France", "Paris", 1.0),
        ("我在北京工作", "北京", 1.0),
        ("New York City", "york city", 1.0),
        ("New York City", "new city", 0.0),
        ("anything", "", 0.0),
        ("", "", 1.0),
    ],
)
def test_contains_finds_whole_tokens_with_their_signs(prediction, reference, found):
    assert contains([prediction], [reference]).to_pylist() == [found]


def test_a_full_match_is_of_the_pattern_as_it_stands():
    assert matches_regex(["abc", "xabc"], pattern="abc|b", match="full").to_pylist() == [1.0, 0.0]
    assert matches_regex(["a.c"], pattern=r"\Qa.c", match="full").to_pylist() == [1.0]
    assert matches_regex(["x", "a"], pattern="(?i)A", match="full").to_pylist() == [0.0, 1.0]


@pytest.mark.parametrize("pattern", ["", "(", "a)|(?:b", r"(a)\1", "(?=a)", "a{2000}"])
def test_what_is_no_pattern_is_refused(pattern):
    for match in ("search", "full"):
        with pytest.raises(SpecError, match="pattern"):
            matches_regex(["xb"], pattern=pattern, match=match)
