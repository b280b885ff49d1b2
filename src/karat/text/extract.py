"""Extracts the final answer from a reply: readable ``str -> str | None`` definitions, each in time linear in the text.

Importing this module registers them for the setting `extract` of every metric: ``after_thoughts``, ``boxed``,
``answer_is``, ``last_number``, ``letter``, ``json:path``, ``regex:pattern`` and ``auto``; and the extractors of
benchmarks, for `presets` of `karat.metrics`: ``dollars``, ``gsm8k_strict``, ``gsm8k_flexible``, ``mmlu_cot``, ``bbh``,
``first_line``, ``uncited``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from string import ascii_uppercase

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.errors import SpecError
from karat.core.metric.extract import add_extractor
from karat.text.answers.choices import read_choice
from karat.text.answers.expressions import NUMBER, find_expression, is_number
from karat.text.answers.in_json import find_in_json
from karat.text.answers.thoughts import split_thoughts
from karat.text.columns import map_by_definition

_BRACES = re.compile(r"(?P<box>\\{1,2}(?:boxed|fbox)\s*\{)|\\.|[{}]", re.DOTALL)
_ANSWER_IS = re.compile(
    r"\banswers?(?: to (?:this|the|that) (?:question|problem))?[*_\"]*"
    r"(?:\s+(?:is|are|must be|should be|would be|will be)\b[*_]*\s*:?|\s*[:=])",
    re.IGNORECASE,
)
_WRAPPED = re.compile(
    r"\$\$([^$]+)\$\$|\$([^$]+)\$|\\\(((?:(?!\\\)).)+)\\\)|\\\[((?:(?!\\\]).)+)\\\]"
    '|"([^"]+)"|\u201c([^\u201d]+)\u201d|`([^`]+)`'
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}$")
_TITLES = {"dr", "mr", "mrs", "ms", "st", "jr", "sr", "prof", "gen", "col", "lt", "capt", "gov", "sen", "mt", "vs"}
_WHITE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_NO_OPTIONS = [None] * 26


def find_boxed(text: str) -> str | None:
    r"""The content of the last ``\boxed{…}`` or ``\fbox{…}`` whose braces balance (``boxed``).

    >>> find_boxed(r"First \boxed{1}, so \boxed{\frac{1}{2}}."), find_boxed(r"cut off: \boxed{\frac{1}{2}")
    ('\\frac{1}{2}', None)
    """
    opened: list[tuple[int, bool]] = []
    last = (-1, -1)
    if "\\boxed" not in text and "\\fbox" not in text:
        return None
    for token in _BRACES.finditer(text):
        if token["box"] or token[0] == "{":
            opened.append((token.end(), bool(token["box"])))
        elif token[0] == "}" and opened:
            start, is_box = opened.pop()
            last = max(last, (start, token.start())) if is_box else last
    return text[slice(*last)] if last[0] >= 0 else None


def find_stated(text: str) -> str | None:
    """The text after the last "the answer is" or "answer:", to the end of the sentence or line (``answer_is``).

    If the rest of that line is empty, the next line counts. Emphasis, a final full stop and dollar signs around the
    answer are dropped.

    >>> find_stated("So 2 + 2 = 4. The answer is 4."), find_stated("**Final Answer:** the U.S. Senate. It has two.")
    ('4', 'the U.S. Senate')
    """
    if (start := max((match.end() for match in _ANSWER_IS.finditer(text)), default=None)) is None:
        return None
    line = text[start:].lstrip(" \t\r\n*:").partition("\n")[0].strip()
    boxed = find_boxed(line)
    return _unwrapped(_first_sentence(line).strip("* \t")) if boxed is None else boxed


def find_last_number(text: str) -> str | None:
    """The last number, without thousands separators and with a plain minus sign (``last_number``).

    Decimals, exponents and fractions belong to it; currency and percent signs do not. Digits in a word are ignored.

    >>> find_last_number("It was $1,234.50 for H2O"), find_last_number("from 3-5 to 7/8, or 50%"), find_last_number("x")
    ('1234.50', '50', None)
    """
    number = _last(NUMBER, text)
    return number and number.replace(",", "").replace("\u2212", "-")


def find_letter(text: str) -> str | None:
    """The option letter that a reply chooses, as a capital, by the rules of `read_choice` (``letter``).

    >>> find_letter("A good answer is (b)"), find_letter("Based on the text, it is Paris"), find_letter("A or B")
    ('B', None, None)
    """
    index = read_choice(text, _NO_OPTIONS, count_from=1_000)  # so that numbers name no option
    return None if isinstance(index, str) else ascii_uppercase[index]


def find_said(text: str) -> str:
    """What a reply says after the thoughts of its model; nothing where the thoughts do not end (``after_thoughts``).

    >>> find_said("<think>Sydney? No.</think> Canberra"), find_said("<think>Sydney? No, it"), find_said("Canberra")
    ('Canberra', '', 'Canberra')
    """
    return split_thoughts(text)[0]


def find_answer(text: str) -> str | None:
    r"""The first that exists: the last box, the text after "the answer is", the last number, else the reply (``auto``).

    Thoughts before the reply do not count. A reply that is nothing but an expression, such as `2x` or `(1, 2)`, is its
    answer, or what follows its last `=`.

    >>> [find_answer(text) for text in (r"The answer is \boxed{4}", "The answer is 5.", "2 + 4 = 6", "Paris", "2x")]
    ['4', '5', '6', 'Paris', '2x']
    """
    text = find_said(text)
    for find in (find_marked, find_expression, find_last_number):
        if (answer := find(text)) is not None and answer.strip():
            return answer
    return text


def find_marked(text: str) -> str | None:
    """The last box, else the text after "the answer is" (``auto``, in references)."""
    boxed = find_boxed(answer := find_said(text))
    return boxed if boxed is not None and boxed.strip() else find_stated(answer)


def choose_stated(reply: str, answer: str | None, references: list[str]) -> str | None:
    """The answer to score: a reply that is equal to a reference is its own answer (``answer_is``)."""
    return (reply.strip() or None) if _is_one_of(reply, references) else answer


def choose_answer(reply: str, answer: str | None, references: list[str]) -> str | None:
    """The answer to score: the last number only where a reference is a number, else the whole reply (``auto``).

    A reply that is equal to a reference is its own answer.

    >>> [choose_answer("It was built in 1889 in Paris", "1889", [reference]) for reference in ("Paris", "1,889 AD")]
    ['It was built in 1889 in Paris', '1889']
    """
    reply = find_said(reply)
    if answer is None or not references or _is_one_of(reply, references):
        return reply.strip() or None if references else answer
    expected = answer != find_last_number(reply) or any(is_number(find_marked(each) or each) for each in references)
    return answer if expected or (find_marked(reply) or "").strip() else reply.strip()


def _is_one_of(reply: str, references: list[str]) -> bool:
    return reply.strip() in [reference.strip() for reference in references]


def find_between_dollars(text: str) -> str:
    """The text between the first and the last dollar sign; the whole text where there are not two (``dollars``).

    >>> find_between_dollars("So $x = $4$."), find_between_dollars("It costs $4.")
    ('x = $4', 'It costs $4.')
    """
    parts = text.split("$")
    return "$".join(parts[1:-1]) if len(parts) > 2 else text


def find_uncited(text: str) -> str:
    r"""The first line without citations such as `[2]`, as ALCE reads an answer (``uncited``).

    >>> find_uncited("Rain falls [1][2]. Pigs fly[3].\nSources: 1")
    'Rain falls. Pigs fly.'
    """
    line = text.strip().partition("\n")[0].replace("<|im_end|>", "")
    return re.sub(r" ?\[\d+", "", line).replace(" |", "").replace("]", "")


def extract_first(column: pa.Array, pattern: str) -> pa.Array:
    r"""The group `answer` of the first match of an RE2 pattern in each text.

    >>> extract_first(pa.array(["So the answer is (A).", "none"]), "the answer is (?P<answer>.*).").to_pylist()
    ['(A)', None]
    """
    return _answers(pc.extract_regex(column, pattern).field("answer"))


def extract_regex(column: pa.Array, pattern: str) -> pa.Array:
    r"""The last match of an RE2 pattern in each text: its first group, or the whole match (``regex:pattern``).

    >>> extract_regex(pa.array(["a=1, a=22", "b"]), r"a=(\d+)").to_pylist()
    ['22', None]
    """
    try:
        matches = pc.match_substring_regex(column, pattern)  # by itself, so that "a)(b" is not accepted below
    except pa.ArrowInvalid as error:
        raise SpecError(f"{pattern!r} is not an RE2 pattern: {error}") from None
    mark, quoted = "\ufdd0\ufdd1", r"\E" if r"\Q" in pattern else ""
    while pc.any(pc.match_substring(column, mark)).as_py():
        mark = mark[:-1] * 2 + mark[-1]  # until no text contains it
    try:
        marked = pc.replace_substring_regex(column, f"(?:{pattern}{quoted})", rf"{mark}\1{mark}")
    except pa.ArrowInvalid:  # the pattern has no group
        marked = pc.replace_substring_regex(column, f"(?:{pattern}{quoted})", rf"{mark}\0{mark}")
    pieces = pc.split_pattern(marked.filter(matches), mark, max_splits=2, reverse=True)  # before, answer and after
    answers = _answers(pc.list_element(pieces, 1))
    return pc.replace_with_mask(pa.nulls(len(column), pa.large_string()), matches, answers)


def _answers(texts: pa.Array) -> pa.Array:
    """The texts without surrounding whitespace; null where nothing is left."""
    answers = pc.utf8_trim(texts, _WHITE).cast(pa.large_string())
    return pc.if_else(pc.equal(answers, ""), pa.scalar(None, answers.type), answers)


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    matches = deque(pattern.finditer(text), maxlen=1)
    return matches[0][0] if matches else None


def _first_sentence(line: str) -> str:
    """The line up to a full stop, question or exclamation mark that ends a sentence, without it."""
    for word in re.finditer(r"\S+", line):
        bare = word[0].rstrip("*_\"')]\u201d")
        last = word.end() == len(line)
        if bare.endswith((".", "!", "?")) and not _INITIALS.search(bare):
            stem = bare[:-1].lower().lstrip("(\"'*")
            if last or not (stem in _TITLES or (len(stem) == 1 and stem.isalpha())):
                return line[: word.start() + len(bare) - 1]
    return line


def _unwrapped(text: str) -> str:
    wrapped = _WRAPPED.fullmatch(text)
    return next(filter(None, wrapped.groups())) if wrapped else text


def _each(find: Callable[..., str | None]) -> Callable[[pa.Array, str], pa.Array]:
    """The function on columns that a definition for one text defines; null where the answer is blank."""

    def extract(column: pa.Array, rest: str) -> pa.Array:
        arguments = (rest,) if rest else ()
        return map_by_definition(column, lambda text: (find(text, *arguments) or "").strip() or None)

    return extract


def _by_regex(extract: Callable[[pa.Array, str], pa.Array], pattern: str) -> Callable[[pa.Array, str], pa.Array]:
    """The function on columns that looks for this pattern; raises `RowError` for a row that is not UTF-8."""

    def find(column: pa.Array, _: str) -> pa.Array:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            map_by_definition(column, str)  # names the row
        return extract(column, pattern)

    return find


BY_BENCHMARK = {
    "gsm8k_strict": _by_regex(extract_first, "#### (?P<answer>-?[0-9.,]+)"),
    "gsm8k_flexible": _by_regex(extract_regex, "-?[$0-9.,]{2,}|-?[0-9]+"),
    "mmlu_cot": _by_regex(extract_first, "answer is (?P<answer>.*)."),
    "bbh": _by_regex(extract_first, "the answer is (?P<answer>.*)."),
    "first_line": _by_regex(extract_first, "^(?P<answer>[^\n]*)"),
    "uncited": _each(find_uncited),
}
"""How scripts of benchmarks read replies, as lm-evaluation-harness and ALCE do; they take references as they are."""

add_extractor("boxed", _each(find_boxed))
add_extractor("answer_is", _each(find_stated), choose=choose_stated)
add_extractor("after_thoughts", _each(find_said), gold=False)
add_extractor("last_number", _each(find_last_number))
add_extractor("letter", _each(find_letter))
add_extractor("auto", _each(find_answer), gold=_each(find_marked), choose=choose_answer)
add_extractor("dollars", lambda column, _: map_by_definition(column, find_between_dollars), gold=False)
for _name, _extract in BY_BENCHMARK.items():
    add_extractor(_name, _extract, gold=False)
add_extractor("json", _each(find_in_json), needs="path")
add_extractor("regex", extract_regex, needs="pattern")
