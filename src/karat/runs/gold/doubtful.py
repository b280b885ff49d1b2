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
from karat.runs.table.table import Column, Row, Table, spell_estimate, spell_p
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

    `doubt`: the probability that its gold is wrong, with the ends of its interval; null where the answers do not say.
    `p_adjusted`: the p of its agreement, corrected for all rows. `reported`: whether that is at most the share of false
    discoveries that was asked for. `reference`: the gold answers. `contexts`: the passages, where there are any.
    """

    id: str
    question: str | None
    reference: tuple[str, ...]
    doubt: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None
    reported: bool
    reasons: tuple[Reason, ...]
    answers: tuple[GivenAnswer, ...]
    contexts: tuple[str, ...] | None = None

    printed: ClassVar = Printed(sparse=("contexts",))


@dataclass(frozen=True, repr=False, kw_only=True)
class DoubtfulGold(JsonObject):
    """Rows of systems whose gold is in doubt, the most doubtful first.

    Of `n` rows, `tested` have no answer that confirms their gold; `share` of these have wrong gold. `reported` counts
    the rows whose gold is probably wrong: on average at most a share `fdr` of them is right. `rows` has these, and as
    many more as were asked for; `expected` of them are wrong. `consequence`: of two systems, what is shown of them
    without these rows, or however these are decided. `by`: the column that matches the rows of the systems, or "order".
    `notes`: remarks for the reader.
    """

    systems: tuple[str, ...]
    metric: str
    by: str
    n: int
    tested: int
    share: Estimate | None
    fdr: float
    confidence: float
    reported: int
    notes: tuple[str, ...] = ()
    rows: tuple[DoubtfulRow, ...]
    consequence: Consequence | None = None

    printed: ClassVar = Printed(also=("expected",), sparse=("consequence",), names={"by": "aligned_by"})

    @property
    def doubts(self) -> Mapping[str, float | None]:
        """The doubt of each of these rows, by its id."""
        return {row.id: row.doubt for row in self.rows}

    @property
    def table(self) -> Table:
        """A row for each doubtful one: its id, its doubt, its gold, and the reasons."""
        doubt = Column("doubt", f"{100 * self.confidence:g} % interval")
        columns = (
            *(Column(name, name=True) for name in ("row", "reported", "gold", "reasons")),
            doubt,
            Column("p, corrected"),
        )
        rows = []
        for each in self.rows:
            reasons = "; ".join(reason.says for reason in each.reasons)
            golds = _cut(" | ".join(each.reference))
            shown = spell_estimate(each.doubt, each.low, each.high), spell_p(each.p_adjusted)
            cells = (_cut(each.id), "yes" if each.reported else "no", golds, reasons, *shown)
            rows.append(Row(cells, value=each.doubt, low=each.low, high=each.high))
        return Table(columns, tuple(rows), self.sentence, self.notes)

    @property
    def sentence(self) -> str:
        """What was found, in a sentence."""
        level = f"{100 * self.fdr:g} %"
        if self.reported:
            found = f"the gold of {self.reported} of {self.n} rows is probably wrong"
            return f"{found}: of such rows at most {level} are right, on average"
        least = min((row.p_adjusted for row in self.rows if row.p_adjusted is not None), default=1.0)
        problem = f"no row is reported, as more than {level} of such rows might be right"
        if least >= _MOST:
            return problem
        enough = math.ceil(100 * least) / 100
        count = sum(row.p_adjusted is not None and row.p_adjusted <= enough for row in self.rows)
        return f"{problem}; --fdr {enough:g} reports {count}"

    @property
    def expected(self) -> Estimate:
        """How many of the rows that are listed, and have a doubt, have wrong gold."""
        known = [row for row in self.rows if row.doubt is not None]
        if not known:
            return Estimate.missing("no row has a doubt")
        value, low, high = (sum(getattr(row, end) for row in known) for end in ("doubt", "low", "high"))
        return Estimate(value, low, high, len(known))

    def to_frame(self) -> Any:
        """The rows as a pandas frame, with their reasons in words; `MissingExtra` without pandas."""
        return make_frame(self._figures(), "DoubtfulGold.to_frame")

    def save(self, path: str | Path, **how: Any) -> None:
        """Write the rows to a file; its ending selects the format.

        `.jsonl`: a row each, with all that was found, for `karat label --gold`. `.json`: `as_dict`. `.md`, `.tex` and
        `.html`: the table. `.csv`, `.parquet` and the other endings of rows: `to_frame`.
        """
        if str(path).endswith((".jsonl", ".ndjson")):
            write_lines(path, (json.dumps(row.as_dict(), ensure_ascii=False) for row in self.rows))
            return
        Document(self.table, self._repr_html_(), self.as_dict(), self._figures()).save(path, **how)

    def _figures(self) -> Sequence[dict[str, Any]]:
        kept = ("id", "question", "doubt", "low", "high", "p_adjusted", "reported")
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
