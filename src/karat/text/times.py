"""Reads times of day (`4:30 p.m.`) and spans of time (`1 h 30 min`)."""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMANDS = re.compile(r"\\(?:text|mathrm|mbox)\s*|\\[ ,;:!]|[{}$~]")
_DAY = re.compile(r"(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\s*(?P<half>[ap])\.?\s?m\.?", re.IGNORECASE)
_CLOCK = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?P<half>)")
_JOINT = r"\s*(?:,|and|,\s*and)?\s*"
_SPAN = re.compile(
    rf"(?:(?P<d>\d+)\s*(?:days?|d){_JOINT})?(?:(?P<h>\d+)\s*(?:hours?|hrs?|h){_JOINT})?"
    rf"(?:(?P<m>\d+)\s*(?:minutes?|mins?|m){_JOINT})?(?:(?P<s>\d+)\s*(?:seconds?|secs?|s))?\.?",
    re.IGNORECASE,
)
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
LONGEST = 80


class Time(NamedTuple):
    """Seconds since midnight or, for a span, its length; the half of the day, `a` or `p`, empty if it is not said."""

    seconds: int
    half: str
    span: bool

    def equals(self, other: Time) -> bool:
        """Whether both are the same time; one that does not say the half of the day equals both."""
        same = self.seconds == other.seconds and self.span == other.span
        return same and (self.half == other.half or not self.half or not other.half)


def parse_time(text: str) -> Time | None:
    r"""The time of day or the span of two or more units that the whole text is, or None.

    >>> parse_time(r"\text{4:30 p.m.}"), parse_time("1 hour and 30 minutes")
    (Time(seconds=16200, half='p', span=False), Time(seconds=5400, half='', span=True))
    """
    if len(text) > LONGEST:
        return None
    text = " ".join(_COMMANDS.sub(" ", text).split())
    if clock := _DAY.fullmatch(text) or _CLOCK.fullmatch(text):
        hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
        return Time((hour % 12 if clock["half"] else hour) * 3600 + minute * 60, clock["half"].lower(), span=False)
    span = _SPAN.fullmatch(text)
    amounts = {unit: int(amount) for unit, amount in span.groupdict().items() if amount} if span else {}
    if not amounts or (list(amounts) == ["m"] and "min" not in text.lower()):  # 5 m is a length
        return None
    return Time(sum(_SECONDS[unit] * amount for unit, amount in amounts.items()), "", span=True)
