"""The file of labels that a page writes, and whose answers it has labels of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.runs.gold.people import TAKES_GOLD, DoubtfulRows, GoldSession, open_doubtful_rows
from karat.runs.labels.labels import Labels
from karat.runs.labels.rows_to_label import RowsToLabel, open_rows_to_label
from karat.runs.labels.session import Session
from karat.runs.sampling.free_metrics import read_rule
from karat.runs.store.run import Run
from karat.stats.sequential.until import Until


@dataclass(frozen=True)
class LabelFile:
    """The labels of one annotator: the journal, and the score of each label, in the order in which they are offered.

    `rows` are the files or runs whose rows are labelled; by default of the runs that are picked on the page.
    `option` named them: ("label-map", TEXT) or ("metric", SPEC). `on`, `seed` and `show` are as in `karat label`, and
    so is `until`, the rule by which labelling ends, with the price of a label, in USD, and the `metrics` that narrow
    its interval. `gold`: the rows are a file of `karat gold -o`, and `path` is a gold patch.
    """

    path: Path
    annotator: str
    choices: Mapping[str, float]
    option: tuple[str, str]
    on: str | None = None
    rows: tuple[str, ...] = ()
    seed: int = 0
    show: tuple[str, ...] = ()
    until: Until | None = None
    price: float = 0.0
    metrics: tuple[str, ...] = ()
    gold: bool = False

    def open_session(self, sources: Sequence[str]) -> tuple[RowsToLabel | DoubtfulRows, Session]:
        """The rows of a run, or of several systems, and the session in which they are labelled."""
        if self.gold:
            rows_of_gold = open_doubtful_rows(sources[0], self.seed)
            return rows_of_gold, GoldSession(rows_of_gold, self.path, self.annotator, self.seed)
        rows = open_rows_to_label(sources, self.on, self.show)
        rule = None if self.until is None else read_rule(sources, self.metrics, self.until, self.price)
        return rows, Session(rows.rows, self.path, self.annotator, self.choices, self.seed, rule)

    def describe(self) -> dict[str, Any]:
        """Who labels, which labels are offered, the name of the file, and whether it has its own rows."""
        choices = [{"name": name, "score": score} for name, score in self.choices.items()]
        about = {"annotator": self.annotator, "choices": choices, "file": self.path.name, "rows": bool(self.rows)}
        return {**about, "takes_gold": list(TAKES_GOLD)} if self.gold else about

    def systems(self) -> set[str | None]:
        """The systems whose answers are labelled; None: of a single one, which has no name in the file."""
        systems = set()
        for line in self.path.read_text("utf-8", "replace").splitlines() if self.path.is_file() else ():
            with suppress(ValueError, AttributeError):
                if (parsed := json.loads(line)).get("action") == "label":
                    systems.add(parsed.get("system"))
        return systems

    def find(self, runs: Sequence[Run]) -> tuple[Labels, int] | None:
        """The labels of all these runs, and the size of the file; None where one has none yet."""
        if {run.name for run in runs} <= self.systems():
            return Labels(str(self.path)), self.path.stat().st_size
        return None
