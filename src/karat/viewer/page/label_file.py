"""The file of labels that a page writes, and whose answers it has labels of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.runs.labels.labels import Labels
from karat.runs.store.run import Run


@dataclass(frozen=True)
class LabelFile:
    """The labels of one annotator: the journal, and the score of each label, in the order in which they are offered.

    `rows` are the files or runs whose rows are labelled; by default of the runs that are picked on the page.
    `option` named them: ("label-map", TEXT) or ("metric", SPEC). `on`, `seed` and `show` are as in `karat label`.
    """

    path: Path
    annotator: str
    choices: Mapping[str, float]
    option: tuple[str, str]
    on: str | None = None
    rows: tuple[str, ...] = ()
    seed: int = 0
    show: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Who labels, which labels are offered, and the name of the file."""
        choices = [{"name": name, "score": score} for name, score in self.choices.items()]
        return {"annotator": self.annotator, "choices": choices, "file": self.path.name}

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
