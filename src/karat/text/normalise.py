"""Normalisers, which make equal answers the same text, as readable ``str -> str`` definitions.

`karat.text.columns.normalise` applies them to whole columns, with a compiled kernel that returns the same.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from karat.core.errors import SpecError, did_you_mean

ARTICLES = {
    "en": ("a", "an", "the"),
    "es": ("un", "una", "unos", "unas", "el", "la", "los", "las"),
    "vi": ("của", "là", "cái", "chiếc", "những"),
    "de": ("ein", "eine", "einen", "einem", "eines", "einer", "der", "die", "das", "den", "dem", "des"),
}
"""The articles that are dropped, for the languages in which articles are separate words."""

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TRIVIAQA_PUNCTUATION = str.maketrans(dict.fromkeys(f"{string.punctuation}\u2018\u2019\u00b4", " "))
CMRC_MARKS = r"-:_*^/\~`+=，。：？！“”；’《》·、「」（）－～『』"  # the ellipsis is two characters in the script
_CMRC_MARKS = str.maketrans("", "", CMRC_MARKS)
_KORQUAD_MARKS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()\u2018\u2019", " "))
_FRENCH_ARTICLES = re.compile(r"\b(?:(?:le|la|les|du|des|au|aux|un|une)\b|l'\b)")
_PLAIN_SIGNS = str.maketrans("\u2212\u2018\u2019\u201c\u201d", "-''\"\"")
_HAN_OR_OTHERS = re.compile("[\u4e00-\u9fa5]|[^\u4e00-\u9fa5]+")


def normalizer(name: str) -> Callable[[str], str]:
    """The normaliser of that name, such as ``none``, ``squad``, ``unicode`` or ``mlqa:<language>``.

    Raises SpecError if there is none.

    >>> normalizer("squad")("The U.S.A.!")
    'usa'
    >>> normalizer("sqaud")
    Traceback (most recent call last):
    karat.core.errors.SpecError: no normaliser 'sqaud'; did you mean 'squad'?
    """
    try:
        return NORMALIZERS[name]
    except KeyError:
        raise SpecError(f"no normaliser {name!r}{did_you_mean(name, NORMALIZERS)}") from None


def keep(text: str) -> str:
    """The text as it is (``none``)."""
    return text


def normalise_squad(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces, in that order (``squad``).

    The order is as in the official SQuAD 1.1 and 2.0 evaluation scripts (arXiv:1806.03822). All ASCII punctuation is
    removed, so numbers lose their point and sign: "3.14" becomes "314", and "C++" equals "C#".

    >>> normalise_squad("The  Well-Known A.")
    'wellknown'
    """
    return drop_words(text.lower().translate(_ASCII_PUNCTUATION), ARTICLES["en"])


def normalise_mlqa(text: str, language: str) -> str:
    """Lower case, no punctuation of any script, no articles of the language, single spaces (``mlqa:<language>``).

    The rules are the official MLQA evaluation script's (arXiv:1910.07475): in Arabic every "ال" is removed (the
    other half of the script's pattern can never match), in Hindi and Chinese no words are, and each of the Chinese
    characters U+4E00 to U+9FA5 becomes a token.

    >>> normalise_mlqa("¿El gato?", "es"), normalise_mlqa("北京2008年。", "zh")
    ('gato', '北 京 2008 年')
    """
    text = "".join(char for char in text.lower() if not is_punctuation(char))
    if language == "ar":
        text = text.replace("ال", " ")
    if language == "zh":
        text = " ".join(_HAN_OR_OTHERS.findall(text))
    return drop_words(text, ARTICLES.get(language, ()))


def normalise_unicode(text: str) -> str:
    r"""Unicode's equivalent forms made equal, case folded, without outer punctuation (``unicode``).

    NFKC; minus sign and curly quotes to ASCII; case folding; then each token between whitespace loses its outer
    punctuation (Unicode category P), and is dropped if nothing is left. If all tokens would be dropped, all are kept,
    so that "?" differs from "!". Outer punctuation that has a meaning is kept:

    - at the front, one "-" before a digit, before "." and a digit, or before a currency sign ("-5", "-.5", "-$5");
      one "." before a letter or digit (".5", ".net"). Several, as in "--5" and "...so", are dropped;
    - at the end, "%" or "‰" after a digit ("5%"), and "#" after a letter ("C#").

    Symbols (category S: "+", "$", "€") are not punctuation, so "C++", "+5" and "$5" are kept; so is everything inside a
    token ("3.14", "1,000", "don't"). Articles are kept: the answer "A" becomes "a". A "%" after a space is punctuation,
    and an en dash is never a sign.

    >>> normalise_unicode("  “Paris”,  (FRANCE)! "), normalise_unicode("\u22125%."), normalise_unicode("? !")
    ('paris france', '-5%', '? !')
    """
    words = unicodedata.normalize("NFKC", text).translate(_PLAIN_SIGNS).casefold().split()
    return " ".join(filter(None, map(trim, words))) or " ".join(words)


def normalise_plain(text: str) -> str:
    """Lower case without ASCII punctuation; spaces and articles stay (``plain``).

    It is what lm-evaluation-harness does where a task ignores case and punctuation.

    >>> normalise_plain("(A)"), normalise_plain("The  U.S.")
    ('a', 'the  us')
    """
    return text.lower().translate(_ASCII_PUNCTUATION)


def normalise_triviaqa(text: str) -> str:
    """As `squad`, but punctuation becomes a space, curly apostrophes and the acute accent too (``triviaqa``).

    The rules are TriviaQA's evaluation script's (arXiv:1705.03551).

    >>> normalise_triviaqa("The Well-Known\u2019s_A.")
    'well known s'
    """
    return drop_words(text.lower().translate(_TRIVIAQA_PUNCTUATION), ARTICLES["en"])


def normalise_cmrc(text: str) -> str:
    """Lower case, no outer white space, none of 32 Chinese and ASCII marks; other white space stays (``cmrc``).

    The rules are CMRC 2018's evaluation script's (arXiv:1810.07366). Points, commas and quotes of ASCII stay, and so
    does the ellipsis, which the script lists as two characters and compares with one.

    >>> normalise_cmrc(" 《史记》：A-1. ")
    '史记a1.'
    """
    return text.lower().strip().translate(_CMRC_MARKS)


def normalise_korquad(text: str) -> str:
    """Quotes, brackets and title marks become spaces; lower case, no other ASCII punctuation (``korquad``).

    The rules are KorQuAD 1.0's evaluation script's (arXiv:1909.07005); particles of Korean stay.

    >>> normalise_korquad("《토지》(1969)의 A.B")
    '토지 1969 의 ab'
    """
    return " ".join(text.translate(_KORQUAD_MARKS).lower().translate(_ASCII_PUNCTUATION).split())


def normalise_jsquad(text: str) -> str:
    """Lower case, no "。" at the very end, single spaces; all else stays (``jsquad``).

    The rules are JGLUE's for JSQuAD (Kurihara et al. 2022).

    >>> normalise_jsquad("「東京　Tower」。。")
    '「東京 tower」'
    """
    return " ".join(text.lower().rstrip("。").split())


def normalise_fquad(text: str) -> str:
    """Lower case, no French articles, l' among them, no ASCII punctuation, single spaces, in that order (``fquad``).

    The articles are le, la, les, l', du, des, au, aux, un and une; with a typographic apostrophe "l’" stays.

    >>> normalise_fquad("L'été, aux Halles")
    'été halles'
    """
    return " ".join(_FRENCH_ARTICLES.sub(" ", text.lower()).translate(_ASCII_PUNCTUATION).split())


def normalise_math(text: str) -> str:
    """The answer as `karat.text.formula` spells formulas."""
    from karat.text.formula import spell_as_math  # noqa: PLC0415  (its patterns take long to compile)

    return spell_as_math(text)


def normalise_gsm8k(text: str) -> str:
    r"""The answer after the last "#### " in lower case, without commas, dollar signs and a full stop (``gsm8k``).

    The rules are lm-evaluation-harness's for GSM8K; a text without "#### " is the answer.

    >>> normalise_gsm8k("5 * 250 = 1250\n#### $1,250.")
    '1250'
    """
    answer = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return re.sub(r"\.$", "", answer).lower()


def normalise_drop(text: str) -> str:
    """Numbers as Python spells them, other words as in `squad`; a hyphen separates words (``drop``).

    The rules are DROP's evaluation script's (arXiv:1903.00161): a word that is a number for Python (`1e3`,
    `inf`) keeps its punctuation; others lose it, and may then be one: "1,000" becomes "1000.0".

    >>> normalise_drop("The 3rd-quarter: $1,000 (.5)")
    '3rd quarter 1000.0 5.0'
    """
    return " ".join(filter(None, map(_normalise_drop_word, text.replace("-", " ").split(" "))))


@lru_cache(1 << 16)
def _normalise_drop_word(word: str) -> str:
    word = word.lower()
    if not is_number(word):
        word = word.translate(_ASCII_PUNCTUATION)
    return drop_words(str(float(word)) if is_number(word) else word, ARTICLES["en"])


@lru_cache(1 << 16)
def is_number(text: str) -> bool:
    """Whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def trim(word: str) -> str:
    """The word without its outer punctuation, by the rules of `normalise_unicode`.

    >>> trim("(-5)"), trim("'c#',"), trim("--")
    ('-5', 'c#', '')
    """
    start, end = 0, len(word)
    while start < end and is_outer(word[start]) and not begins_meaning(word, start):
        start += 1
    while end > start and is_outer(word[end - 1]) and not ends_meaning(word, end - 1):
        end -= 1
    return word[start:end]


def begins_meaning(word: str, at: int) -> bool:
    """Whether the punctuation at this place is a sign or point that belongs to the characters after it."""
    mark, after = word[at], word[at + 1 : at + 3]
    if word[:at].endswith(mark):
        return False
    if mark == "-":
        return after[:1].isdecimal() or (after[:1] == "." and after[1:].isdecimal()) or is_currency(after[:1])
    return mark == "." and after[:1].isalnum()


def ends_meaning(word: str, at: int) -> bool:
    """Whether the punctuation at this place is a unit or "#" that belongs to the character before it."""
    mark, before = word[at], word[:at][-1:]
    return (mark in "%‰" and before.isdecimal()) or (mark == "#" and before.isalpha())


def is_outer(char: str) -> bool:
    """Whether a character is punctuation by Unicode (category P)."""
    return unicodedata.category(char)[0] == "P"


def is_currency(char: str) -> bool:
    """Whether a character is a currency sign (category Sc)."""
    return char != "" and unicodedata.category(char) == "Sc"


def is_punctuation(char: str) -> bool:
    """Whether a character is punctuation by Unicode or ASCII (which includes symbols such as "$" and "+")."""
    return char in string.punctuation or is_outer(char)


def drop_words(text: str, words: tuple[str, ...]) -> str:
    r"""The text with single spaces and without these words.

    >>> drop_words("a cat\tsat", ("a", "an"))
    'cat sat'
    """
    return " ".join(re.sub(rf"\b({'|'.join(words)})\b", " ", text).split() if words else text.split())


def _mlqa(language: str) -> Callable[[str], str]:
    return lambda text: normalise_mlqa(text, language)


NORMALIZERS: dict[str, Callable[[str], str]] = {
    "none": keep,
    "squad": normalise_squad,
    "unicode": normalise_unicode,
    "plain": normalise_plain,
    "triviaqa": normalise_triviaqa,
    "drop": normalise_drop,
    "gsm8k": normalise_gsm8k,
    "cmrc": normalise_cmrc,
    "korquad": normalise_korquad,
    "jsquad": normalise_jsquad,
    "fquad": normalise_fquad,
    "math": normalise_math,
    "mlqa": _mlqa("en"),
    **{f"mlqa:{language}": _mlqa(language) for language in ("en", "es", "hi", "vi", "de", "ar", "zh")},
}
SQUEEZED = NORMALIZERS.keys() - {"none", "plain", "gsm8k", "math", "cmrc"}
"""The normalisers whose text is already words joined by single spaces."""
