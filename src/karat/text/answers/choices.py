r"""Reads which of several options a text chooses: by letter, by number or in the option's own words.

The result is the index of an option, from 0, or a text that says why there is none. Nothing is guessed where a text
names two options without choosing one, or only says which option is wrong.

>>> options = plain_options(["Paris", "Lyon", "Nice"])
>>> [read_choice(text, options) for text in ("B", "(b)", "2.", "lyon", r"So the final answer is **\boxed{B}**.")]
[1, 1, 1, 1, 1]
>>> read_choice("A good answer is B", options), read_choice("Based on the map I choose C.", options)
(1, 2)
>>> read_choice("Either A or B", options), read_choice("The answer is not B.", options)
('A and B are both named', 'no option is named')
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Final

import regex

from karat.text.normalise import normalizer

LONGEST = 80  # characters of a letter with the marks and words around it

_plain = normalizer("unicode")

_OPEN = r"""(?:[\s(\[{<*_"'“‘$`（【《]|\\(?:boxed|text\w*|math\w+)\s*+\{){0,16}+"""
_CLOSE = r"""[\s)\]}>*_"'”’$`.,:;!，。、：；）】》]*+"""
_LETTER = r"(?<![\p{Latin}\p{N}_’'])(?P<name>(?-i:[A-Za-z]))(?![\p{Latin}\p{N}_+#]|[-'’][\p{L}\p{N}])"
_NUMBER = r"""(?<![\p{L}\p{N}_.,+-])(?P<name>[0-9]{1,3})(?=[)\]}*_"'.,:;!]++(?:\s|$)|[^\S\n]*+(?:\n|$))"""
_ARTICLE = r"(?<!\b[AaI](?=\s+(?!and\b|or\b|is\b|as\b|but\b|because\b|since\b|for\b|due\b|which\b)\p{L}))"
_NOUN = r"""(?:(?<!/)\b(?:answers?|options?|choices?|solution|response)\b|答案|选项)["'”’*_]*+"""
_VERB = r"(?:\s*+(?:\bis\b|\bare\b|\bwould be\b|\bshould be\b|\bmust be\b|[:=>–—-]|->|→|是|为|應為|应为)[\s*_]*+)++"
_CHOOSE = (
    r"(?:\b(?:choose|chose|select(?:ed)?|pick(?:ed)?|go(?:ing)? with|"
    r"(?:so|thus|hence|therefore)\b(?=\W*+(?-i:[A-Z])),?)|\\boxed\s*\{|选)"
)
_FILLER = r"(?:\s*+\b(?:the|letter|option|choice|number|answer|most likely|probably|definitely|clearly|indeed)\b)*+"
_RIGHT = r"\bis\s+(?:(?:the|most|likely|clearly|indeed|definitely)\s+)*(?:correct|right|best|true|answer)\b"

_WHOLE: Final = regex.compile(
    rf"{_OPEN}(?:\b(?:option|choice|answer)\b)?{_OPEN}(?P<name>(?-i:[A-Za-z])|[0-9]{{1,3}}){_CLOSE}", regex.IGNORECASE
)
_LEAD: Final = regex.compile(rf"{_OPEN}(?P<name>(?-i:[A-Za-z])){_CLOSE}(?<=\W)(?P<rest>.*)", regex.S)
_CHOSEN: Final = regex.compile(
    rf"(?:{_NOUN}{_VERB}|{_CHOOSE}){_FILLER}{_OPEN}(?:{_LETTER}{_ARTICLE}|{_NUMBER})|{_LETTER}{_CLOSE}{_RIGHT}",
    regex.IGNORECASE,
)
_OTHER: Final = regex.compile(rf"{_CLOSE}(?:\b(?:and|or)\b|[/&]){_FILLER}{_OPEN}{_LETTER}{_ARTICLE}", regex.IGNORECASE)
_WORDED: Final = regex.compile(rf"{_NOUN}{_VERB}(?P<rest>[^\n]+)", regex.IGNORECASE)
_NAMED: Final = regex.compile(rf"(?:{_LETTER}(?<=[A-Z]|\([a-z](?=\)))){_ARTICLE}")
_REJECTED_BEFORE: Final = regex.compile(
    r"(?:\b(?:not|never|neither|nor|except|unlike|than|without|eliminate|exclude|rul(?:e|ing) out)|n['’]t|不是|并非)\b"
    r"(?:(?!\b(?:but|so|rather)\b)[^.,;:!?\n]){0,40}$",
    regex.IGNORECASE,
)
_REJECTED_AFTER: Final = regex.compile(
    r"""[\s)\]}>*_"'”’$`]*+(?:(?:is|was|are|were|ca|can|could|do|does|seems)\s*(?:n['’]t|not|never)\b|"""
    r"(?:(?:is|was|are|were|seems)\s+)?(?:wrong|incorrect|false|excluded|eliminated|ruled)\b)",
    regex.IGNORECASE,
)
_COMMA: Final = regex.compile(r"(?:[,;/&\n、，；]|\band\b)")


def plain_options(options: Sequence[str | None]) -> list[str | None]:
    """The options as `read_choice` compares them: normalised as `unicode` does."""
    return [None if option is None else _plain(option) for option in options]


def read_choice(text: str, options: Sequence[str | None], *, count_from: int = 1) -> int | str:
    """The index of the option that an answer in free text chooses, or a text that says why there is none.

    The first of these that applies: the whole text is an option's own words, letter or number; its last statement of a
    choice (`the answer is B`, `I choose B`, `B is correct`); the letter that stands alone, if only one does.
    A letter that the text rejects (`not B`, `B is wrong`) does not count, nor does an `A` or `I` that is a word.
    `options` come from `plain_options`; `count_from` is the number of the first option.
    """
    text = unicodedata.normalize("NFKC", text)
    if (index := read_label(text, options, count_from=count_from)) is not None:
        return index
    lead = _LEAD.match(text)
    if lead and (index := _match_words(lead["rest"], options)) is not None:
        named = _index(lead["name"], options, count_from)
        return index if index == named else f"{lead['name']!r} is followed by the words of another option"
    worded = _in_words(text, options)
    chosen = [match for match in _CHOSEN.finditer(text) if not _is_rejected(text, match)]
    if chosen:
        name, index = chosen[-1]["name"], _index(chosen[-1]["name"], options, count_from)
        other = _OTHER.match(text, chosen[-1].end())
        if other and other["name"].upper() != name.upper() and not _is_rejected(text, other):
            return f"{name} and {other['name']} are both named"
        if worded is not None and (index is None or name.isdigit()):  # `the answer is 4`: the option whose words are 4
            return worded
        return f"{name!r} is none of {len(options)} options" if index is None else index
    if worded is not None:
        return worded
    letters = {match["name"].upper() for match in _NAMED.finditer(text) if not _is_rejected(text, match)}
    names = sorted(letter for letter in letters if _index(letter, options, count_from) is not None)
    if len(names) > 1:
        return f"{' and '.join(names[:2])} are both named"
    return ascii_uppercase.index(names[0]) if names else "no option is named"


def read_label(text: str, options: Sequence[str | None], *, count_from: int = 1) -> int | None:
    """The index of the option that is all a text names, by its own words or else by letter or number; or None.

    >>> [read_label(text, plain_options(["3", "4", "5"])) for text in ("3", "C", "2", "Based", "9")]
    [0, 2, 1, None, None]
    """
    if (index := _match_words(text, options)) is not None:
        return index
    whole = _WHOLE.fullmatch(unicodedata.normalize("NFKC", text)) if len(text) < LONGEST else None
    return _index(whole["name"], options, count_from) if whole else None


def read_choices(texts: Sequence[str | None], options: Sequence[str | None], *, count_from: int = 1) -> set[int] | str:
    """The indices of all options that texts name, or a text that says why they are unknown; no text names no option.

    Each text names one or several options: a JSON list, letters in a row (`ACD`), or options separated by commas,
    semicolons, slashes, line breaks or `and`; `the answers are` may precede them.

    >>> options = plain_options(["Paris", "Lyon", "Nice"])
    >>> sorted(read_choices(["The answers are A and (c)."], options)), sorted(read_choices(['["Lyon", 1]'], options))
    ([0, 2], [0, 1])
    >>> read_choices(["A, Rome"], options)
    "'Rome' is none of 3 options"
    """
    indices: set[int] = set()
    for piece in (piece for text in texts if text is not None for piece in _pieces(text, options, count_from)):
        index = read_label(piece, options, count_from=count_from)
        if index is None:
            return f"{piece!r:.60} is none of {len(options)} options"
        indices.add(index)
    return indices


def _pieces(text: str, options: Sequence[str | None], count_from: int) -> list[str]:
    if not text.strip() or read_label(text, options, count_from=count_from) is not None:
        return [text] if text.strip() else []
    if text.lstrip().startswith("["):
        try:
            return [str(item) for item in json.loads(text)]
        except (ValueError, RecursionError):
            pass  # [A, C] is a list but not JSON
    worded = list(_WORDED.finditer(text))
    rest = worded[-1]["rest"] if worded else text
    rest = rest.strip().strip("[](){}.*_ ")
    if regex.fullmatch(r"[A-Z]{2,}", rest) and len(set(rest)) == len(rest):
        return list(rest)
    return [piece.strip() for piece in _COMMA.split(rest) if piece.strip()] or [text]


def _in_words(text: str, options: Sequence[str | None]) -> int | None:
    """The option whose own words follow the last `the answer is`."""
    worded = list(_WORDED.finditer(text))
    if not worded or _is_rejected(text, worded[-1]):
        return None
    rest = worded[-1]["rest"]
    index = _match_words(rest, options)
    return _match_words(regex.split(r"[.;!?](?=\s|$)", rest, maxsplit=1)[0], options) if index is None else index


def _match_words(text: str, options: Sequence[str | None]) -> int | None:
    """The option with these words, if exactly one has them."""
    if len(text) > 4 * max((len(option) for option in options if option is not None), default=0) + 40:
        return None  # too long even without marks and spaces; saves the time to normalise it
    plain = _plain(text)
    return options.index(plain) if plain and options.count(plain) == 1 else None


def _index(name: str, options: Sequence[str | None], count_from: int) -> int | None:
    """The index that a letter or number stands for, if there is such an option."""
    index = int(name) - count_from if name.isdigit() else ascii_uppercase.index(name.upper())
    return index if 0 <= index < len(options) else None


def _is_rejected(text: str, name: regex.Match[str]) -> bool:
    """Whether the text says that the option named here is wrong."""
    before = text[max(0, name.start() - 80) : name.start()]
    return bool(_REJECTED_BEFORE.search(before) or _REJECTED_AFTER.match(text, name.end()))
