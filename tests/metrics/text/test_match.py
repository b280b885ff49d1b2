import pytest

from karat.errors import SpecError
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


NAMES = ["Paris", "Elena Anaya", "1969", "Αθήνα", "الرياض", "北京", "東京タワー", "กรุงเทพ", "서울"]
BEHIND = [
    "⁶",
    "¹²",
    "⁶,⁷",
    "[6]",
    "[1][2]",
    "[1, 3–5]",
    "[^3^]",
    "[note 2]",
    "【4†a】",
    "™",
    "®",
    "\u200b",
    "**",
    ".⁶",
    ",[2]",
]
BEHIND += [
    ".",
    "…",
    "?!",
    "”",
    ")",
    "—or so",
    "/x",
    "の",
    "は東京",
    "는",
    "에서",
    "'s",
    "’s",
    ": yes",
    "\xa0x",
    "</b>",
    "`",
    "_ x",
]
BEFORE = ["(", "“", "**", "— ", "<b>", "`", "$$ ", "[", "answer: ", "一"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_attached_to_a_name_does_not_hide_it(name, whole):
    texts = [f"It is {name}{mark} I think" for mark in BEHIND] + [f"It is {mark}{name}, I think" for mark in BEFORE]
    found = contains(texts, [name] * len(texts), whole=whole).to_pylist()
    assert [text for text, score in zip(texts, found, strict=True) if not score] == []


@pytest.mark.parametrize(
    ("prediction", "reference", "found"),
    [
        ("It is Paris.The end", "Paris", 1.0),
        ("l'Europe", "Europe", 1.0),
        ("City:Paris", "Paris", 1.0),
        ("the U.S.A. won", "U.S.", 1.0),
        ("Parisian", "Paris", 0.0),
        ("Paris2", "Paris", 0.0),
        ("3.14", "3", 0.0),
        ("3.14", "14", 0.0),
        ("5'11", "11", 0.0),
        ("-.5", "5", 0.0),
        ("10⁶ rows", "10", 0.0),
        ("5 km² large", "5 km", 0.0),
        ("x² + 1", "x", 0.0),
        ("x² + 1", "x2", 1.0),
        ("a[2]", "a[1]", 0.0),
        ("a[1]", "a[1]", 1.0),
        ("H₂O", "H2O", 1.0),
        ("He wrote C++⁶", "C++", 1.0),
        ("The answer is [6]", "6", 1.0),
        ("Elena Anaya[6]", "6", 0.0),
        ("Elena Anaya⁶", "6", 0.0),
        ("가나다", "나다", 0.0),
    ],
)
def test_contains_finds_words_and_no_parts_of_words_or_numbers(prediction, reference, found):
    assert contains([prediction], [reference]).to_pylist() == [found]
    assert contains([prediction], [[reference, "Lyon"]]).to_pylist() == [found]
    assert contains([[prediction, "Lyon"]], [reference], samples="max").to_pylist() == [found]


def test_a_full_match_is_of_the_pattern_as_it_stands():
    assert matches_regex(["abc", "xabc"], pattern="abc|b", match="full").to_pylist() == [1.0, 0.0]
    assert matches_regex(["a.c"], pattern=r"\Qa.c", match="full").to_pylist() == [1.0]
    assert matches_regex(["x", "a"], pattern="(?i)A", match="full").to_pylist() == [0.0, 1.0]


@pytest.mark.parametrize("pattern", ["", "(", "a)|(?:b", r"(a)\1", "(?=a)", "a{2000}"])
def test_what_is_no_pattern_is_refused(pattern):
    for match in ("search", "full"):
        with pytest.raises(SpecError, match="pattern"):
            matches_regex(["xb"], pattern=pattern, match=match)
