"""Fields of JSON values by path, and the patterns that name them: `items[*].price`, or its end, `price`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from karat.core.errors import SpecError

ITEM = 0
"""The step of a path into the items of a list; the other steps are names in objects."""
_STEP = re.compile(r"\[\*\]|\[(\"(?:[^\"\\]|\\.)*\")\]|(?:(?<=[^.])\.|^)([^.\[\]\"]+)")
_PLAIN = re.compile(r"[^.\[\]\"]+")

Steps = tuple[str | int, ...]


def read_pattern(text: str) -> Steps:
    r"""The steps of a path or of the end of one; `*` has none, and so is the end of each.

    >>> read_pattern("items[*].price"), read_pattern("*"), read_pattern('a["b.c"]')
    (('items', 0, 'price'), (), ('a', 'b.c'))
    """
    steps: list[str | int] = []
    at = 0
    while text != "*" and at < len(text):
        if (match := _STEP.match(text, at)) is None:
            break
        quoted, name = match.groups()
        try:
            steps.append(json.loads(quoted) if quoted else name or ITEM)
        except ValueError:  # an escape that JSON does not have
            break
        at = match.end()
    if text != "*" and (not steps or at < len(text)):
        raise SpecError(f'{text!r} is not a path, such as total, items[*].price, address["zip.code"] or * for all')
    return tuple(steps)


@dataclass(eq=False)
class JsonField:
    """A field of JSON values: where it is, and what the patterns say about it.

    `path`: `items[*].price`; `$` is the whole value. `rule`: the place of the longest pattern whose path it has or is
    within, None where there is none. `counted`: whether it is, or is within, the field that is asked for.
    """

    path: str
    steps: Steps
    rule: int | None
    counted: bool
    patterns: Sequence[Steps]
    wanted: Steps
    fields: dict[str | int, JsonField] = field(default_factory=dict)

    @classmethod
    def root(cls, patterns: Iterable[Steps] = (), wanted: Steps = ()) -> JsonField:
        """The field of the whole value."""
        rules = list(patterns)
        return cls("$", (), rules.index(()) if () in rules else None, not wanted, rules, wanted)

    def at(self, step: str | int) -> JsonField:
        """The field of a name in objects, or of the items of a list."""
        if (field := self.fields.get(step)) is None:
            field = self.fields[step] = self._make(step)
        return field

    def _make(self, step: str | int) -> JsonField:
        steps = (*self.steps, step)
        if isinstance(step, int):
            end = "[*]"
        elif _PLAIN.fullmatch(step):
            end = f".{step}" if self.steps else step
        else:
            end = f"[{json.dumps(step, ensure_ascii=False)}]"
        fitting = [n for n, pattern in enumerate(self.patterns) if pattern and _ends(steps, pattern)]
        rule = max(fitting, key=lambda n: len(self.patterns[n]), default=self.rule)
        counted = self.counted or _ends(steps, self.wanted)
        path = (self.path if self.steps else "") + end
        return JsonField(path, steps, rule, counted, self.patterns, self.wanted)


def _ends(steps: Steps, pattern: Steps) -> bool:
    return steps[len(steps) - len(pattern) :] == pattern if len(pattern) <= len(steps) else False
