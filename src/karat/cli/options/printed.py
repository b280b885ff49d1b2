"""What commands print with `--json`, as types: the JSON Schemas that `karat schema` prints are derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from karat.data.json.objects import JsonObject, json_schema
from karat.runs.compare.comparison import Compared
from karat.runs.compare.ranking.ranked import Ranked
from karat.runs.compare.scored_rows import Order, ScoredRow
from karat.runs.export.bundle.verify import Verification
from karat.runs.gold.doubtful import DoubtfulGold
from karat.runs.judge.exam.figures import Exam
from karat.runs.judge.examination import Examination
from karat.runs.store.kept import KeptRun
from karat.runs.store.manifest import Manifest
from karat.runs.store.values import StoredValues
from karat.runs.store.verify import Verified
from karat.stats.corrected.label_count import LabelCount
from karat.stats.paired.margin_size import MarginSize
from karat.stats.paired.sample_size import NoSampleSize, SampleSize
from karat.stats.reliability.design import Design, VarianceComponents
from karat.viewer.rows.facets import Facet, Histogram, Items

ShownOrder: TypeAlias = Literal[Order, "first"]


@dataclass(frozen=True)
class SystemValues(JsonObject):
    """The values of several systems, and how they compare.

    `systems`: the values of each system, by its name. `compared`: null for a single system.
    """

    systems: Mapping[str, StoredValues]
    compared: Compared | None


@dataclass(frozen=True)
class ShownRun(JsonObject):
    """A run: how it was made, and its values."""

    manifest: Manifest
    values: StoredValues


@dataclass(frozen=True)
class ShownRows(JsonObject):
    """Rows of one run, in the `order` of the scores of `metric`, or the first ones."""

    run: str
    metric: str
    order: ShownOrder
    rows: tuple[ScoredRow, ...]


@dataclass(frozen=True)
class MatchedRows(JsonObject):
    """Rows of several runs.

    `metrics`: the spec of each run by which rows are ordered. `rows`: of each row what each run has, as in `runs`.
    `notes`: how rows were matched, and what differs between the runs.
    """

    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    order: ShownOrder
    rows: tuple[tuple[ScoredRow, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CountedRows(JsonObject):
    """How many rows share what.

    `runs`: their names. `n`: the number of rows. `total`: of those for which `--where` holds. `facets`: by label.
    `histograms`: by score and by difference of scores. `items`: of lists beside scores, such as the criteria that
    failed.
    """

    runs: tuple[str, ...]
    metric: str
    n: int
    total: int
    facets: tuple[Facet, ...]
    histograms: tuple[Histogram, ...]
    items: tuple[Items, ...]


PRINTED: Mapping[str, Any] = {
    "compare": Compared | Ranked,
    "experiment": StoredValues,
    "gold": DoubtfulGold,
    "judge": Examination | Exam,
    "power": Mapping[str, SampleSize | MarginSize | LabelCount | VarianceComponents | NoSampleSize | Design],
    "runs": KeptRun,
    "runs show": ShownRun,
    "runs verify": Verified,
    "score": StoredValues | SystemValues,
    "show": ShownRows | MatchedRows | CountedRows,
    "verify": Verification,
}


def load_schema(command: str) -> dict[str, Any]:
    """The schema of a command's output, with the parts that it mentions; `KeyError` for one that prints no JSON.

    >>> load_schema("compare")["$defs"]["Compared"]["properties"]["n"]
    {'type': 'integer'}
    """
    return json_schema(PRINTED[command], f"karat {command} --json")
