"""The conclusion of a worked answer in prose: the formula or the words with which it ends."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from karat.text.extract import find_boxed, find_last_number, find_stated
from karat.text.latex import FUNCTIONS

LOOK = 20_000
"""At most this many characters at the end of an answer are searched for a conclusion that no mark announces."""

_MARKED = re.compile(r"####\s*(\S.*)")
_PARENTHESIS = re.compile(r"\s*\([^()]*[^\W\d_]{2}[^()]*\)(?=[.!]?\s*\Z)")  # an explanation at the end of a sentence
_DISPLAY = re.compile(r"\\\[.+?\\\]|\$\$.+?\$\$", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"*_)]*\s+(?=[^\sa-z])|\n+")
_TOKEN = re.compile(r"\$\$[^$]+\$\$\S*|\S*?\$[^$]+\$\S*|\\\((?:(?!\\\)).)+\\\)\S*|\\\[(?:(?!\\\]).)+\\\]\S*|\S+")
_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_²³¹⁰-₉]{2,}")
_NAMES = {*FUNCTIONS, "and", "or", "pi", "sqrt", "cbrt", "infinity", "inf"}
_PRODUCT = re.compile(r"(?!am|an|as|at|be|by|do|ie|eg|go|he|if|in|is|it|me|my|no|of|on|so|st|to|up|us|vs|we)[a-z]{2}")
_TIME = re.compile(r"\d?\d:\d\d(?::\d\d)?\s*[ap]\.?\s?m\b", re.IGNORECASE)
_VERB = re.compile(
    r"['’]s\s+|:\s+|\b(?:so|thus|hence|therefore)\b,?\s+"
    r"|\b(?:is|are|was|were|be|been|becomes?|equal to|equals?|yields?|gets?|have|obtains?|finds?|totals?|measures?"
    r"|(?:simplifies|reduces|evaluates|comes) to|results? in|arrives? at|means(?: that)?"
    r"|(?:gives?|giving|leaves?|leaving)(?: us)?(?: with)?)\b[:\s]+",
    re.IGNORECASE,
)
_REASON = re.compile(r"(?:,\s*(?:as|which|where|since|because|so|I)|\s+because)\b.*", re.IGNORECASE | re.DOTALL)
_CONDITION = re.compile(r"(?:since|when|if|for|with|because|where|given|let|setting|as)\s*\Z", re.IGNORECASE)
_ARTICLE = re.compile(r"\A(?:[aAI]\s+(?![-+*/=^<>])|[-=:,*\u2192]+\s+|\*{2,})+")
_NAME = re.compile(r"[^\W\d_]+[ -]?\d[\w-]*")
_LABEL = re.compile(r"[^\W\d_]+:")
_EDGES = " \t*_`\"'\u201c\u201d\u2713\u2705.,;:!?。！？"


class Conclusion(NamedTuple):
    """The last formula and the last words of an answer; None where there are none. A marked answer is both."""

    formula: str | None
    words: str | None


def find_conclusion(text: str) -> Conclusion:
    r"""What an answer concludes: its last box, what follows "the answer is" or `####`, else the end of a sentence.

    The formula is that with which the last sentence ends that contains one; the words are those after the last verb.

    >>> find_conclusion("It is 2x, by the power rule. Therefore, f'(x) = 2x."), find_conclusion(r"\boxed{\frac12}")
    (Conclusion(formula="f'(x) = 2x", words="f'(x) = 2x"), Conclusion(formula='\\frac12', words='\\frac12'))
    >>> find_conclusion("The area is 6 square units."), find_conclusion("So its capital is Paris.")
    (Conclusion(formula='6 square units', words='6 square units'), Conclusion(formula=None, words='Paris'))
    """
    if marked := find_marked(text):
        return Conclusion(marked, marked)
    text = _DISPLAY.sub(lambda formula: " ".join(formula[0].split()), text[-LOOK:])
    parts = (_PARENTHESIS.sub("", part).strip(_EDGES) for part in _SENTENCE_END.split(text))
    sentences = [part for part in parts if part]
    formula, words = (
        next(filter(None, map(find, reversed(sentences))), None) for find in (_ending_formula, find_complement)
    )
    return Conclusion(formula or find_last_number(text), words)


def find_marked(text: str) -> str | None:
    """The last box of a text, or what follows the last `####` or "the answer is"."""
    after = deque(_MARKED.finditer(text), maxlen=1)
    marked = find_boxed(text) or (after[0][1] if after else find_stated(text))
    return _REASON.sub("", marked).strip() or None if marked else None


def is_prose(text: str) -> bool:
    """Whether a gold answer is compared as text: a name such as `H2O`, a time, or words that begin no equation.

    >>> [is_prose(text) for text in ("Paris", "CO2", "Apollo 11", "9:30 pm", "6 square units", "sin x", "area = 4")]
    [True, True, True, True, False, False, False]
    """
    if _NAME.fullmatch(text) or _TIME.search(text):
        return True
    first = _TOKEN.match(text)
    return first is not None and not is_formula(first[0]) and not re.search("[=<>≤≥]", text)


def _ending_formula(sentence: str) -> str | None:
    """The formula with which a sentence ends, or a number that follows its verb, with the words that follow it."""
    start = len(sentence)
    for token in reversed(list(_TOKEN.finditer(sentence))):
        if not is_formula(token[0]) or _LABEL.fullmatch(token[0]):
            break
        start = token.start()
    formula = re.sub(r"\A(?:and|or)\b", "", sentence[start:]).strip()
    if _CONDITION.search(sentence[:start]) and "=" in formula.rpartition(", ")[2]:  # "when a = 2, x = 4"
        formula = formula.rpartition(", ")[2]
    formula = _ARTICLE.sub("", formula).strip(" *_`")
    if any(character.isalnum() for character in formula) and formula not in {"a", "A", "I"}:
        return formula
    after = find_complement(sentence) or (sentence if is_formula(sentence.split(maxsplit=1)[0]) else None)
    return after if after and (any(map(str.isnumeric, after)) or is_formula(after)) else None


def find_complement(sentence: str) -> str | None:
    """The words after the last verb of a sentence that states a result.

    >>> find_complement("There are 5 apples."), find_complement("Apollo 11")
    ('5 apples', None)
    """
    end = max((match.end() for match in _VERB.finditer(sentence)), default=sentence.rfind("= ") + 1)
    return _REASON.sub("", sentence[end:]).strip(_EDGES) or None if end else None


def is_formula(text: str) -> bool:
    r"""Whether no word of prose is in a text; two letters that are not an English word may be a product.

    >>> is_formula("2ab + sin x"), is_formula("6 units"), is_formula(r"$6\text{ units}$")
    (True, False, True)
    """
    if "$" in text or text.startswith(("\\(", "\\[")):
        return True
    words = {word.lower() for word in _WORD.findall(text) if not _PRODUCT.fullmatch(word)}
    return words <= _NAMES
