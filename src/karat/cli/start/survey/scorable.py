"""A file that can be scored: the metrics that are tried, and what its first rows gave."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from karat.cli.start.survey.folder import DataFile
from karat.judges.judge import Judge
from karat.judges.rubric import own_judges
from karat.runs.scoring.result import Result

TASKS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("prediction", "reference"): ("em", "f1"),
    ("retrieved", "relevant"): ("ndcg@10", "recall@10"),
    ("tool_calls", "reference_tool_calls"): ("tool_call_match",),
}
"""The metrics that are tried, by the role that a system fills and the one of the gold; all are in karat's core."""

_FIRST_JUDGES = ("correctness", "faithfulness")


@dataclass(frozen=True)
class Scorable:
    """A file that can be scored, alone or joined with its gold by `on`, and what its first rows gave.

    `column`: of the system, where the file has the answers of several. `note`: why other metrics are proposed than
    for other files.
    """

    data: DataFile
    specs: tuple[str, ...]
    result: Result
    gold: DataFile | None = None
    on: str | None = None
    column: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.data.path}: {self.column}" if self.column else str(self.data.path)

    @property
    def scored(self) -> int:
        """How many of the first rows have every score."""
        return min(value.scored for value in self.result.values.values())

    @property
    def judges(self) -> list[str]:
        """Karat's own judges that could be asked: what they read is there."""
        of_gold = () if self.gold is None else self.gold.as_gold
        return find_judges({*self.data.roles, *self.result.mapping, *of_gold})


def find_judges(roles: Collection[str]) -> list[str]:
    """The judges of karat that read nothing but these roles; the usual ones, and those that read most, come first."""
    read = {name: Judge(name).definition.columns.keys() for name in own_judges()}
    fitting = [name for name, columns in read.items() if columns <= set(roles)]
    return sorted(fitting, key=lambda name: (name not in _FIRST_JUDGES, -len(read[name])))
