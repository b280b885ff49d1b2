"""How asking came to its end, as a run keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from karat.data.json.objects import JsonObject, Printed
from karat.stats.sequential.until import describe_stop


@dataclass(frozen=True)
class Stop(JsonObject):
    """The end of an asking after `asked` of `rows`, drawn at random by the `seed`.

    `width`, `cost`, `decided`: of the rule. `met`: the part of it that was met, in words, empty where all rows were
    asked. `paired`: two systems were asked together, row by row, until the rule about their difference ended it, which
    was held against the `margin`, if there is one. `drift`: how scores changed meanwhile, where not by chance.

    >>> print(Stop(412, 3_000, 0, "width 0.04", width=0.04))
    stopped at 412 of 3,000 rows, by its rule (width 0.04)
    """

    asked: int
    rows: int
    seed: int
    met: str
    width: float | None = None
    cost: float | None = None
    decided: bool = False
    paired: bool = False
    margin: float | None = None
    drift: str = ""

    printed: ClassVar = Printed(also=("sentence",), sparse=("decided", "paired", "margin", "drift"))

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Stop:
        """From the values in JSON."""
        return cls(**{each.name: content[each.name] for each in fields(cls) if each.name in content})

    @property
    def sentence(self) -> str:
        """How it ended, in words."""
        return describe_stop(self.asked, self.rows, self.met)

    def __str__(self) -> str:
        return self.sentence
