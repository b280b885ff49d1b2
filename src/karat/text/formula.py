r"""Gives one spelling to the many that a formula has in LaTeX: of layout, units, fractions, signs and words."""

from __future__ import annotations

import re
from functools import lru_cache

_SIGNS = {
    **dict(
        zip("−–÷\u00a0\u202f\u2009’′。、∣∶", ["-", "-", "/", " ", " ", " ", "'", "'", " ", ",", "|", ":"], strict=True)
    ),
    **{sign: f"^{power}" for power, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{sign: f"_{index}" for index, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    **dict(zip("√½⅓⅔¼¾", [r"\sqrt ", r"\frac12 ", r"\frac13 ", r"\frac23 ", r"\frac14 ", r"\frac34 "], strict=True)),
    "°": r"^\circ ",
    **dict.fromkeys("或", " or "),
    **dict.fromkeys("和且", " and "),
}
_COMMANDS = {
    **dict(zip("×·⋅≤≥≠≈", ["times", "cdot", "cdot", "le", "ge", "ne", "approx"], strict=True)),
    **dict(zip("π∞∪∩∈±∅θ", ["pi", "infty", "cup", "cap", "in", "pm", "emptyset", "theta"], strict=True)),
    **dict(zip("αβλωℝℤℕℚ∠", ["alpha", "beta", "lambda", "omega", "RR", "ZZ", "NN", "QQ", "angle"], strict=True)),
    **dict.fromkeys("⇒→", "Rightarrow"),
}
_UNICODE = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | _SIGNS
    | {sign: rf"\{name} " for sign, name in _COMMANDS.items()}
)
_SPACING = re.compile(
    r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits|q?quad|allowbreak)(?![A-Za-z])\.?|[,!;:> ])"
    r"|(?<!\\)~"
)
_SEPARATED = re.compile(r"(?<=\d)(?:\s?\{,\s*\}|,?\\[,!]|\{\\,\})\s*(?=\d{3})|(?<=\d),\\!\s*(?=\d)")
_COMMAND = r"\\(?:text(?:normal|bf|it|rm|tt)?|mbox|mathrm|mathbf|mathit|mathsf|hbox|operatorname)\s*\{"
_WORDS = _COMMAND + r"([^{}]*)\}"
_NAMED = _COMMAND + r"[^{}]*\}"
_POWER = r"(?:\s*\^\s*\{?\s*-?\d\s*\}?)?"
_UNIT = re.compile(
    rf"(?<=[\d}})])\s*(?:{_WORDS}{_POWER}(?:\s*(?:/|\\cdot\b)\s*(?:{_NAMED}|[A-Za-z]+){_POWER})*"
    rf"|\\frac\s*\{{\s*{_NAMED}{_POWER}\s*\}}\s*\{{\s*{_NAMED}{_POWER}\s*\}})"
)
_LAST_UNIT = re.compile(rf"(?<=[\w)\]])\s*{_NAMED}{_POWER}\s*$")
_TEXT = re.compile(_WORDS)
_PLAIN_UNIT = re.compile(
    r"(?<=[\d})])\s+(?!(?:and|or|pi|sin|cos|tan|ln|log|sqrt|in|mod|d[a-z])\b)"
    r"[A-Za-z]{2,}(?:\s*/\s*[A-Za-z]+|\s+[A-Za-z]{2,}){0,3}\s*$"
)
UNIT_SYMBOL = r"(?:[kcmdn]?m|[km]?g|m?s|min|hr?|m?L|lb|ft|[kM]?J|[kM]?W|k?N|k?Pa|k?V|[kM]?Hz|mol|\\Omega)"
_UNIT_SYMBOL = re.compile(
    rf"(?<=[\d}})])(?:\s+|(?=[A-Za-z]{{2}})){UNIT_SYMBOL}{_POWER}(?:\s*/\s*{UNIT_SYMBOL}{_POWER})?\s*$"
)
_ORDINAL = re.compile(r"\^\s*\{?\s*\\(?:text|mathrm)\s*\{\s*(?:st|nd|rd|th)\s*\}\s*\}?")
_CONDITION = re.compile(r"(?<=.),?\s*\\(?:text|mbox|mathrm)\s*\{\s*(?:for|where|if|when|with|as|since)\b.*$", re.DOTALL)
_ARROW = re.compile(r"\\(?:Long|long)?[rR]ightarrow\b|\\implies\b")
_DEGREES = re.compile(
    r"(?:\^\s*\{?\s*\\circ\s*\}?|\\degree\b|\\circ\b)(?:\s*(?:\\(?:text|mathrm)\s*\{\s*)?[CF]\b\s*\}?)?"
)
_PERCENT = re.compile(r"\\%|(?<=[\d} ])\s*(?:percentage|percent|pct)\b")
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_REPEATING = re.compile(r"(\d{0,40})\.(\d{0,40})\\(?:overline|dot|bar)\s*\{?(\d{1,40})\}?")
_TRIGONOMETRY = re.compile(
    r"(\\(?:sin|cos|tan|cot|sec|csc))\s*[({]?\s*(\d{1,9}(?:\.\d{1,9})?)\s*(?:\^\s*\{?\s*\\circ\s*\}?|\\degree\b)\s*[)}]?"
)
_QUANTIFIER = re.compile(r"(?<=[\w)}\]]),?\s*\(?\s*[a-z]\s*\\in\s*(?:\\(?:ZZ|NN)\b|Z\b|N\b)\s*\)?\s*$")
_COLON = re.compile(r"\\colon\b")
_BARS = re.compile(r"\\[lr]?[vV]ert(?![A-Za-z])|\\mid\b|\\\|")
_NUMBERS = re.compile(r"\\mathbb\s*\{?\s*([A-Z])\s*\}?|\\([RQZN])(?![A-Za-z])")
_MODULUS = re.compile(r"\(\s*\\?b?mod\b\s*([^()]*)\)|\\[pb]mod\b")
_AND = re.compile(r",?\s*\band\b\s*,?")
_OR = re.compile(r",?\s*\bor\b\s*,?")
_BACKSLASHES = re.compile(r"\\\\(?=[A-Za-z])")
_FRACTIONS = re.compile(r"\\[dtc]frac\b|\\[dtc]frac(?=\d)")
BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_MARKED_WORDS = re.compile(r"\\words\{([^{}]*)\}")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_MONEY = re.compile(r"\\\$|[$€£¥]")


@lru_cache(maxsize=4096)
def normalise_formula(text: str) -> str:
    r"""The formula without layout: sizes, spaces, degree signs, units after a number, other commands for fractions.

    >>> normalise_formula(r"\left( \tfrac12,\; 10\text{ units} \right).")
    '( \\frac1 2, 10 )'
    """
    text = text.translate(_UNICODE).strip()
    if r"\begin" not in text:
        text = _BACKSLASHES.sub(lambda _: "\\", text)
        text = _CONDITION.sub("", text)
    while (box := BOX.search(text)) and (end := closing_braces(text).get(box.end())):
        text = text[: box.start()] + " " + text[box.end() + 1 : end] + " " + text[end + 1 :]
    text = _SPACING.sub(" ", _SEPARATED.sub("", text))
    text = _MONEY.sub(" ", _PERCENT.sub("%", text))
    if "\\" in text or "mod" in text:
        text = _normalise_commands(text)
    text = _UNIT_SYMBOL.sub("", _PLAIN_UNIT.sub("", text))
    if " and " in text or " or " in text:
        text = _OR.sub(r" \\lor ", _AND.sub(" , ", text))
    if len(text) < 40 and "(" not in text and "[" not in text:
        text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    text = re.sub(r"\\d?frac\s*([0-9])\s*([0-9])", r"\\frac\1 \2", text) if r"\frac" in text else text
    return " ".join(text.split()).rstrip(" .,;:")


_SPELLINGS = (
    *(("\\!", ""), ("\\\\", "\\"), ("tfrac", "frac"), ("dfrac", "frac"), ("\\left", ""), ("\\right", "")),
    *(("^{\\circ}", ""), ("^\\circ", ""), ("\\$", "")),
)
_NOT_SPELLED = "\ufdd0"


def _normalise_commands(text: str) -> str:
    text = _FRACTIONS.sub(lambda _: r"\frac", text)
    text = _NUMBERS.sub(lambda match: rf"\{2 * (match[1] or match[2])} ", _BARS.sub("|", _COLON.sub(":", text)))
    text = _MODULUS.sub(lambda match: rf"\mod{{{match[1]}}}" if match[1] else r"\mod", text)
    text = _TRIGONOMETRY.sub(r"\1(\\frac{\2\\pi}{180})", _QUANTIFIER.sub("", text))
    text = _DEGREES.sub("", _ORDINAL.sub("", _REPEATING.sub(_fraction, text)))
    if r"\lim" not in text:
        text = next((part for part in reversed(_ARROW.split(text)) if part.strip()), text)
    text = _UNIT.sub(_unit, text)
    if (last := _LAST_UNIT.search(text)) and not _AND.search(last[0]) and not _OR.search(last[0]):
        text = text[: last.start()]
    return _TEXT.sub(_words, text)


def _fraction(match: re.Match[str]) -> str:
    """A repeating decimal as a fraction: 0.1 and 6 repeated is 15/90."""
    whole, part, repeated = match[1] or "0", match[2], match[3]
    top = int(whole + part + repeated) - int(whole + part)
    return rf"\frac{{{top}}}{{{(10 ** len(repeated) - 1) * 10 ** len(part)}}}"


def _unit(match: re.Match[str]) -> str:
    """A space in place of a unit, a comma in place of `and`."""
    words = (match[1] or "").strip()
    return _words(match) if words in {"and", "or", ",", "percent", "pct"} or words.startswith("pi") else " "


def _words(match: re.Match[str]) -> str:
    words = match[1].strip(" ~").rstrip(".")
    if words in {"and", "or"}:
        return f" {words} "
    if words in {"percent", "pct"}:
        return "%"
    return rf"\words{{{''.join(words.split())}}}" if len(words) > 1 else f" {words} "


def spelling(formula: str) -> str:
    r"""The normalised formula without spaces, braces and text commands, to compare as text; for prose its words.

    >>> spelling(r"\text{(C)}"), spelling("C")
    ('C', 'C')
    """
    text = "".join(_MARKED_WORDS.sub(r"\1", normalise_formula(formula)).split())
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" and text[1:-1].isalpha() else text


def closing_braces(text: str) -> dict[int, int]:
    """The place of the closing brace by the place of its opening brace."""
    closing: dict[int, int] = {}
    open_braces: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif match[0] == "}" and open_braces:
            closing[open_braces.pop()] = match.start()
    return closing


def spell_as_math(text: str) -> str:
    r"""The spelling by which the script of MATH compares two answers (arXiv:2103.03874, `is_equiv`).

    Left out are spaces, `\left`, `\right`, `\!`, degrees, dollar and percent signs, a unit after `\text{ ` and a name
    before an equals sign; `\frac12`, `1/2` and `0.5` become `\frac{1}{2}`, and `\sqrt2` becomes `\sqrt{2}`. Where the
    script fails, as for `x/y` or a `\sqrt` at the end, an answer equals only itself.

    >>> spell_as_math(r"x = 1/2"), spell_as_math(r"10\text{ cm}"), spell_as_math(r"\tfrac34\sqrt 2")
    ('\\frac{1}{2}', '10', '\\frac{3}{4}\\sqrt{}2')
    """
    try:
        return _spell_as_math(text)
    except (IndexError, ValueError):
        return _NOT_SPELLED + text


def _spell_as_math(text: str) -> str:
    text = text.replace("\n", "")
    if "\\" in text or "frac" in text:  # in most answers there is neither
        for old, new in _SPELLINGS:
            text = text.replace(old, new)
        if "\\text{ " in text:
            text, _ = text.split("\\text{ ")
        text = text.replace("\\%", "")
    if "." in text:
        text = text.replace(" .", " 0.").replace("{.", "{0.")
        text = f"0{text}" if text.startswith(".") else text
    if text.count("=") == 1 and text.index("=") <= 2:
        text = text.partition("=")[2]
    if "\\sqrt" in text:
        first, *roots = text.split("\\sqrt")
        text = first + "".join("\\sqrt" + (root if root[0] == "{" else f"{{{root[0]}}}{root[1:]}") for root in roots)
    text = text.replace(" ", "")
    text = _brace_fractions(text) if "\\frac" in text else text
    text = "\\frac{1}{2}" if text == "0.5" else text
    if text.count("/") == 1:
        above, below = map(int, text.split("/"))
        text = f"\\frac{{{above}}}{{{below}}}" if text == f"{above}/{below}" else text
    return text


def _brace_fractions(text: str) -> str:
    r"""The text with braces around what is one character above or below `\frac`."""
    spelled, *rest = text.split("\\frac")
    for part in rest:
        spelled += "\\frac"
        if part[0] == "{":
            spelled += part
        elif len(part) < 2:
            return text
        else:
            spelled += f"{{{part[0]}}}" + ("{" if part[1] == "{" else f"{{{part[1]}}}") + part[2:]
    return spelled
