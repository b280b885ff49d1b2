"""The rows whose gold is in doubt: the result of `karat.gold`, its table, and its file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from karat.data.json.objects import JsonObject, Printed
from karat.runs.gold.consequence import Consequence
from karat.runs.gold.reasons import Reason
from karat.runs.table.document import Document, make_frame, write_lines
from karat.runs.table.notebook import show_tables
from karat.runs.table.table import Column, Row, Table
from karat.stats.value import Estimate

_SHOWN = 80
_MOST = 0.5  # false discoveries that anybody would accept


@dataclass(frozen=True)
class GivenAnswer(JsonObject):
    """What a system answered, and its score by the metric; null where there is none."""

    system: str
    answer: str | None
    score: float | None


@dataclass(frozen=True)
class DoubtfulRow(JsonObject):
    """A row whose gold is in doubt.

    `doubt`: of this row and those before it, or all that are reported at this level, at least this share has wrong
    gold, on average; 1 and 0 where people said so, null where nothing says it. `reported`: whether 1 less the doubt is
    at most the share of false discoveries that was asked for. `reference`: the gold answers. `contexts`: the passages,
    where there are any.
    """

    id: str
    question: str | None
    reference: tuple[str, ...]
    doubt: float | None
    reported: bool
    reasons: tuple[Reason, ...]
    answers: tuple[GivenAnswer, ...]
    contexts: tuple[str, ...] | None = None

    printed: ClassVar = Printed(sparse=("contexts",))


@dataclass(frozen=True, repr=False, kw_only=True)
class DoubtfulGold(JsonObject):
    """Rows of systems whose gold is in doubt, the most doubtful first.

    Of `n` rows, `tested` have two answers or more, none of which confirms the gold. `reported` counts the rows whose
    gold is probably wrong: on average at most a share `fdr` of them is right. `rows` has these, and as many of the most
    doubtful ones as were asked for. Where people looked at some rows, `share` of the first `reach` have gold that is
    not right; `share.n` is how many they looked at, and there is no value where the rows were of another list.
    `consequence`: of two systems, what is shown of them without these rows, or however these are decided. `by`: the
    column that matches the rows of the systems, or "order". `notes`: remarks for the reader.
    """

    systems: tuple[str, ...]
    metric: str
    by: str
    n: int
    tested: int
    fdr: float
    confidence: float
    reported: int
    share: Estimate | None = None
    reach: int = 0
    notes: tuple[str, ...] = ()
    rows: tuple[DoubtfulRow, ...]
    consequence: Consequence | None = None

    printed: ClassVar = Printed(sparse=("consequence", "share", "reach"), names={"by": "aligned_by"})

    @property
    def doubts(self) -> Mapping[str, float | None]:
        """The doubt of each of these rows, by its id."""
        return {row.id: row.doubt for row in self.rows}

    @property
    def table(self) -> Table:
        """A row for each doubtful one: its id, its doubt, its gold, and the reasons."""
        columns = (*(Column(name, name=True) for name in ("row", "reported", "gold", "reasons")), Column("doubt"))
        rows = []
        for each in self.rows:
            reasons, golds = "; ".join(reason.says for reason in each.reasons), _cut(" | ".join(each.reference))
            doubt = "–" if each.doubt is None else f"{each.doubt:.2f}"
            cells = (_cut(each.id), "yes" if each.reported else "no", golds, reasons, doubt)
            rows.append(Row(cells, value=each.doubt))
        return Table(columns, tuple(rows), self.sentence, self.notes)

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        level = f"{100 * self.fdr:g} %"
        if self.share is not None:
            return self._describe_people(level)
        if self.reported:
            claim = f"the gold of {self.reported} of {self.n} rows is probably wrong"
            return f"{claim}: of such rows at most {level} are right, on average"
        most = max((row.doubt for row in self.rows if row.doubt is not None), default=0.0)
        problem = f"no row is reported: answers alone do not show that at most {level} of such rows are right"
        if most <= 1 - _MOST:
            return problem
        enough = math.ceil(100 * (1 - most)) / 100
        count = sum(row.doubt is not None and row.doubt >= 1 - enough for row in self.rows)
        return f"{problem}; --fdr {enough:g} reports {count}"

    def _describe_people(self, level: str) -> str:
        share = self.share or Estimate.missing("")
        if share.value is None:
            return (
                f"people say of {self.reported} of {share.n} rows that the gold is not right; no other is reported, as "
                f"{share.reason}"
            )
        wrong = round(share.n * share.value)
        sentence = f"of {share.n} of the first {self.reach} rows, people say of {wrong} that the gold is not right"
        if share.n < self.reach:
            sentence += f" (of all {self.reach}: {100 * (share.low or 0):.0f} to {100 * (share.high or 0):.0f} %)"
        more = self.reported - wrong
        rest = f"{more} others are reported: at most {level} of all {self.reported} are right, on average"
        return f"{sentence}; {rest if more else 'no other is reported'}"

    def to_frame(self) -> Any:
        """The rows as a pandas frame, with their reasons in words; `MissingExtra` without pandas."""
        return make_frame(self._figures(), "DoubtfulGold.to_frame")

    def save(self, path: str | Path) -> None:
        """Write the rows to a file; its ending selects the format.

        `.jsonl`: a row each, with all that was found, for `karat label --gold`. `.json`: `as_dict`. `.md`, `.tex` and
        `.html`: the table. `.csv`, `.parquet` and the other endings of rows: `to_frame`.
        """
        if str(path).endswith((".jsonl", ".ndjson")):
            write_lines(path, (json.dumps(row.as_dict(), ensure_ascii=False) for row in self.rows))
            return
        Document(self.table, self._repr_html_(), self.as_dict(), self._figures()).save(path)

    def _figures(self) -> Sequence[dict[str, Any]]:
        kept = ("id", "question", "doubt", "reported")
        return [
            {name: getattr(row, name) for name in kept}
            | {
                "reference": json.dumps(row.reference, ensure_ascii=False),
                "reasons": "; ".join(each.says for each in row.reasons),
            }
            for row in self.rows
        ]

    def _repr_html_(self) -> str:
        return show_tables(self.sentence, [self.table], self.notes)

    def __repr__(self) -> str:
        lines = [f"<karat.DoubtfulGold: {self.sentence}"]
        for row in self.rows:
            doubt = "–" if row.doubt is None else f"{row.doubt:.2f}"
            lines.append(f"  {row.id} {doubt} {'; '.join(each.says for each in row.reasons)}")
        return "\n".join(lines) + ">"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
