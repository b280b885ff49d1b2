"""The definitions equal the official scripts that they name."""

from __future__ import annotations

import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.errors import SpecError
from karat.text.normalise import ARTICLES, normalizer
from karat.text.tokenise import TOKENIZERS, tokenizer

Tokenizer13a = pytest.importorskip("sacrebleu.tokenizers.tokenizer_13a").Tokenizer13a


def official_squad(answer: str) -> str:
    """The official script's four steps, stated again."""
    kept = "".join(char for char in answer.lower() if char not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def official_mlqa(answer: str, language: str) -> str:
    """The official script's steps, stated again: Chinese is segmented character by character."""
    kept = "".join(c for c in answer.lower() if c not in string.punctuation and unicodedata.category(c)[0] != "P")
    if language in ARTICLES:
        kept = re.sub(rf"\b({'|'.join(ARTICLES[language])})\b", " ", kept)
    if language == "ar":
        kept = re.sub("\\sال^|ال", " ", kept)
    if language == "zh":
        kept = re.sub("([\u4e00-\u9fa5])", r" \1 ", kept)
    return " ".join(kept.split())


@given(st.text() | st.text("aAnthe .,!'_-\x1c\u00a0é"))
def test_squad_is_the_official_scripts(text: str) -> None:
    assert normalizer("squad")(text) == official_squad(text)


@pytest.mark.parametrize("language", ["en", "es", "hi", "vi", "de", "ar", "zh"])
@given(text=st.text() | st.text("aunltehdrsi là¿।، الق北京.$ \t"))
def test_mlqa_is_the_official_scripts(text: str, language: str) -> None:
    assert normalizer(f"mlqa:{language}")(text) == official_mlqa(text, language)


@given(
    st.text()
    | st.text("a1.,-'&;<>\n \u00a0é/")
    | st.lists(st.sampled_from(["&amp;", "lt;", "<skipped>", "-\n", "5", "."])).map("".join)
)
def test_13a_is_sacrebleus(text: str) -> None:
    assert tokenizer("13a")(text) == Tokenizer13a()(text.rstrip()).split()  # as its BLEU calls it


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-5", "5"),
        ("+5", "5"),
        (".5", "5"),
        ("3.14", "314"),
        ("$5", "5"),
        ("5%", "5"),
        ("C++", "C"),
        ("C#", "C"),
        ("?", "!"),
        ("A", ""),
        (".net", "net"),
        ("-$5", "$5"),
        ("-.5", ".5"),
        ("5‰", "5"),
        ("1,000", "1000"),
        ("€5", "$5"),
    ],
)
def test_unicode_keeps_apart(one: str, other: str) -> None:
    assert normalizer("unicode")(one) != normalizer("unicode")(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("−5", "-5"),
        ("“Paris”", "paris"),
        ("Don’t", "don't"),
        ("STRASSE", "straße"),
        ("ｆｕｌｌ", "full"),
        ("e\u0301", "é"),
        (" a\u00a0 b ", "a b"),
        ("(U.S.)", "u.s"),
        ("--5", "5"),
        ("...so", "so"),
        ("ΟΔΟΣ", "οδος"),
        ("50%.", "50%"),
        ("5 - 3", "5 3"),
    ],
)
def test_unicode_folds_together(one: str, other: str) -> None:
    assert normalizer("unicode")(one) == normalizer("unicode")(other)


@given(st.text())
def test_unicode_applied_twice_changes_only_what_case_folding_leaves_open(text: str) -> None:
    once = normalizer("unicode")(text)
    if unicodedata.is_normalized("NFKC", once) and not re.search(r"[.-]", once):
        assert normalizer("unicode")(once) == once


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 3.14, -5!", ["It's", "3.14", "-5"]),
        ("1990-1995", ["1990", "1995"]),
        ("1+5 = +6", ["1", "+", "5", "=", "+6"]),
        ("'a' 'The end'", ["a", "The", "end"]),
        ("C++ C# R&D a+b", ["C++", "C#", "R", "D", "a", "+", "b"]),
        ("€5 -$.5 5€ 50% 5%a 👍 👨\u200d👩", ["€5", "-$.5", "5", "€", "50%", "5", "a", "👍", "👨\u200d👩"]),
        ("東京タワー", ["東", "京", "タワー"]),
        ("ひらがな", ["ひ", "ら", "が", "な"]),
        ("ไทย ລາວ", ["ไ", "ท", "ย", "ລ", "າ", "ວ"]),
        ("မြန်မာ ខ្មែរ", ["မြ", "န်", "မာ", "ខ្", "មែ", "រ"]),
        ("한국어 café", ["한국어", "café"]),
        ("\x00 \u200b ?!", []),
    ],
)
def test_words_are_those_of_unicode(text: str, words: list[str]) -> None:
    assert tokenizer("words")(text) == words


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=st.text())
def test_tokens_hold_no_whitespace(text: str, name: str) -> None:
    assert all(token.split() == [token] for token in tokenizer(name)(text))


@pytest.mark.parametrize(("find", "wrong", "hint"), [(normalizer, "Squad", "'squad'"), (tokenizer, "13A", "'13a'")])
def test_an_unknown_name_is_an_error_with_the_nearest_name(find, wrong: str, hint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SpecError, match=f"did you mean {hint}"):
        find(wrong)
