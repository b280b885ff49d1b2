"""Reads the number in texts such as `1,234.50`, `−5`, `€ 12`, `12 km`, `1 1/2`, `50 %`, `1.2×10^3`, `5 million`.

Numbers are exact: a `Fraction` or, with very many digits, a `Decimal`. A currency, and a unit after the number, are
ignored; the text may contain nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 1000
"""A number with more significant digits than this, or more zeros before or after them, is a Decimal."""

_SIGNS = str.maketrans({"−": "-", "–": "-", "﹣": "-", "－": "-", "＋": "+", "’": "'", "⁄": "/", "\u00a0": " "})
_THIN = str.maketrans(dict.fromkeys("\u2009\u202f\u2007", " "))
_RAISED = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8"}
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_CURRENCY = r"(?:\\?\$|[€£¥₹₽₩₪₺₴₿¢]|(?:USD|EUR|GBP|CHF|JPY|US\$)(?=[\s\d]))"
_GROUPED = r"[1-9]\d{0,2}(?P<thousands>[ ,'.])\d{3}(?!\d)(?:(?P=thousands)\d{3}(?!\d))*+(?:[.,]\d++)?"
_PLAIN = r"(?:\d++(?:[.,]\d*+)?|[.,]\d++)"
_NO_UNIT = r"(?!(?:or|and|to|plus|minus|times|over|by|x|per)\b)"
_WORD = _NO_UNIT + r"(?:\\(?:text|mathrm|mbox|textbf)\s*\{[^{}]{1,40}\}|[^\W\d_]{1,20})"
_ONE_UNIT = rf"{_WORD}(?:\^?\{{?-?[1-9²³]\}}?)?"
_DEGREES = r"°\s*[CF]?|\^?\{?\\circ\}?"
_UNIT = rf"(?:{_DEGREES}|{_ONE_UNIT}(?:\s*(?:[/·*. -]|per\b)\s*{_ONE_UNIT}){{0,3}})"
_NUMBER = re.compile(
    rf"""(?P<sign>[-+]?)\s*(?:{_CURRENCY}\s*)?(?P<inner>[-+]?)
    (?:(?P<whole>\d++)[ -](?P<part>\d++)\s*/\s*(?P<of>\d++)
     |\\[dtc]?frac\s*\{{(?P<top>-?\d++)\}}\s*\{{(?P<bottom>\d++)\}}
     |(?P<decimal>{_GROUPED}|{_PLAIN})(?:\s*/\s*(?P<below>{_PLAIN}))?
    )
    (?:[eE](?P<e>[-+]?\d++)|\s*(?:×|x|\*|·|\\times|\\cdot)\s*10\s*(?:\^|\*\*)\s*\{{?(?P<ten>[-+]?\d++)\}}?)?
    (?:\s*(?P<scale>{"|".join(_SCALES)})\b)?
    \s*(?:(?P<percent>\\?%|percentage\b|percent\b|pct\b)|{_CURRENCY}|(?P<unit>{_UNIT}))?\s*\.?""",
    re.VERBOSE,
)
_POWER = re.compile(r"(?P<sign>[-+]?)10\s*(?:\^|\*\*)\s*(?:\{([-+]?\d++)\}|([-+]?\d++))")
_RAISED_TEN = re.compile(r"10([⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹]+)")


@dataclass(frozen=True)
class ParsedNumber:
    """A number as it is written: 50 % has the value 50 and is a percentage.

    `places` is how many decimals are written, with the exponent: 2 for 1.50, 36 for 6.62e-34, None for a whole number
    or fraction.
    """

    value: Fraction | Decimal
    percent: bool = False
    unit: bool = False
    places: int | None = None


def parse_number(text: str, *, decimal_comma: bool = True) -> ParsedNumber | None:
    """The number that the whole text is, or None.

    A comma, space, apostrophe or full stop between groups of three digits separates thousands (but `1.234` is a
    decimal); any other single comma is a decimal comma, unless `decimal_comma` is False.

    >>> parse_number("$1,234.50").value
    Fraction(2469, 2)
    >>> parse_number("1 1/2 cups").value, parse_number("1.2×10^3 m/s").value, parse_number("5 million").value
    (Fraction(3, 2), Fraction(1200, 1), Fraction(5000000, 1))
    >>> parse_number("3 or 4"), parse_number("B2"), parse_number("2 + 2")
    (None, None, None)
    """
    text = " ".join(text.translate(_SIGNS).translate(_THIN).split())
    if text and not text.isascii():
        text = _RAISED_TEN.sub(lambda m: "10^" + m[1].translate(_RAISED), text)
        for sign, fraction in _VULGAR.items():
            text = text.replace(sign, f" {fraction}" if text[0] != sign else fraction)
    if power := _POWER.fullmatch(text):
        text = f"{power['sign']}1e{power[2] or power[3]}"
    match = _NUMBER.fullmatch(text)
    if match is None or (match["sign"] and match["inner"]) or (value := _value(match, decimal_comma)) is None:
        return None
    if "-" in match["sign"] + match["inner"]:
        value = -value if isinstance(value, Fraction) else value.copy_negate()
    return ParsedNumber(value, match["percent"] is not None, match["unit"] is not None, _places(match))


def _places(match: re.Match[str]) -> int | None:
    if not match["decimal"] or match["below"]:
        return None
    mark = re.search(r"[.,](\d*)$", match["decimal"])
    written = len(mark[1]) if mark and (match["thousands"] != mark[0][0] or mark[0][0] == ".") else 0
    places = written - int(match["e"] or match["ten"] or 0) - _SCALES.get(match["scale"], 0)
    return places if written or places > 0 else None


def _value(match: re.Match[str], decimal_comma: bool) -> Fraction | Decimal | None:
    exponent = match["e"] or match["ten"] or "0"
    if len(exponent) > 16:
        return None
    shift = int(exponent) + _SCALES.get(match["scale"], 0)
    if match["decimal"]:
        top = _decimal(match["decimal"], match["thousands"], shift, decimal_comma)
        bottom = _decimal(match["below"], None, 0, decimal_comma) if match["below"] else Fraction(1)
    else:
        digits = [match[name] or "0" for name in ("whole", "part", "of", "top", "bottom")]
        if max(map(len, digits)) > DIGITS or abs(shift) > DIGITS:
            return None
        whole, part, of, over, under = map(int, digits)
        top, bottom = Fraction(whole * of + part + over) * Fraction(10) ** shift, Fraction(of + under)
    if top is None or bottom is None or not bottom:
        return None
    if isinstance(top, Decimal) or isinstance(bottom, Decimal):
        return top if bottom == 1 else None
    return top if bottom == 1 else top / bottom


def _decimal(text: str, thousands: str | None, shift: int, decimal_comma: bool) -> Fraction | Decimal | None:
    if thousands == "." and text.count(".") == 1 and "," not in text:
        thousands = None  # 1.234 is a decimal
    if thousands:
        text = text.replace(thousands, "")
    elif "," in text and not decimal_comma:
        return None
    whole, _, part = text.replace(",", ".").partition(".")
    digits = (whole + part).lstrip("0")
    if not digits:
        return Fraction(0)
    shift -= len(part)
    shift += len(digits) - len(digits := digits.rstrip("0"))
    if len(digits) <= DIGITS and abs(shift) <= DIGITS:
        return Fraction(int(digits) * 10**shift) if shift >= 0 else Fraction(int(digits), 10**-shift)
    return Decimal(f"{digits}e{shift}")


def close(a: Fraction | Decimal, b: Fraction | Decimal, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Whether |a - b| ≤ max(relative·|b|, absolute); with both 0, whether the numbers are exactly equal.

    >>> close(Fraction(1, 3), Fraction("0.3333"), absolute=1e-3), close(Fraction(1, 3), Fraction("0.3333"))
    (True, False)
    """
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a == b or abs(a - b) <= max(_exactly(relative) * abs(b), _exactly(absolute))
    if isinstance(a, Decimal) and isinstance(b, Decimal) and a == b:
        return True
    if not relative and not absolute:
        return False  # parse_number makes a Decimal only of numbers that it never makes a Fraction of
    with localcontext(prec=60, Emax=999999999999999999, Emin=-999999999999999999) as context:
        context.clear_traps()
        x, y = (d if isinstance(d, Decimal) else Decimal(d.numerator) / d.denominator for d in (a, b))
        return abs(x - y) <= max(Decimal(repr(relative)) * abs(y), Decimal(repr(absolute)))


def _exactly(tolerance: float) -> Fraction:
    return Fraction(repr(tolerance))  # 0.1 exactly, not the nearest float
