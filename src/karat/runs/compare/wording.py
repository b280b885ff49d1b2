"""A finding in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.runs.compare.comparison import Finding


def say(finding: Finding) -> str:
    """What was found, in a sentence."""
    return "; ".join(_parts(finding))


def say_p(finding: Finding) -> str:
    """The p, the other tests counted."""
    p = finding.adjusted
    if p is None:
        return "p is not known"
    said = "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"
    return f"{said} after Holm over {finding.family}" if finding.family > 1 else said


def _parts(finding: Finding) -> Iterator[str]:
    found, names = finding.comparison, f"{finding.first} or {finding.system}"
    if not finding.known or found.difference is None:
        yield (
            "nothing can be said: no row is scored in both"
            if not found.scored
            else "nothing can be said: a value is not defined"
        )
        return
    if finding.verdict != "unclear":
        low, high = (found.low, found.high) if found.difference > 0 else (_turn(found.high), _turn(found.low))
        by = f"{_size(abs(found.difference), finding)} [{_number(low, finding)}, {_number(high, finding)}]"
        yield f"{finding.system} is {finding.verdict} than {finding.first} by {by}, {say_p(finding)}"
    elif not found.wins and not found.losses:
        yield f"{finding.system} and {finding.first} score the same on every row"
    else:
        ends = f"[{_number(found.low, finding)}, {_number(found.high, finding)}]"
        yield f"no difference could be shown ({_size(found.difference, finding)} {ends}, {say_p(finding)})"
        visible = finding.smallest_visible
        yield (
            "this data could show none"
            if visible is None
            else f"the smallest this data could show is {_size(visible, finding)}"
        )
    if finding.could_turn:
        missing = found.n - found.scored
        yield f"the {missing} row{'s' * (missing > 1)} without a score in {names} could turn this"


def _size(size: float, finding: Finding) -> str:
    return f"{_number(size, finding)} points" if finding.scale > 1 else _number(size, finding)


def _number(number: float | None, finding: Finding) -> str:
    if number is None:
        return "?"
    return f"{number * finding.scale:.1f}" if finding.scale > 1 else f"{number:.4g}"


def _turn(end: float | None) -> float | None:
    return None if end is None else -end
