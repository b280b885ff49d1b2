"""The values of a run; the types of the dataclasses are the schema of `values.json`, checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from karat.data.json.objects import JsonObject, Printed
from karat.data.storage.checksums import FileSum, parse_json, read_checked
from karat.runs.columns.gold_patch import PatchNote
from karat.runs.store.manifest import check_content
from karat.stats.corrected.value import Corrected
from karat.stats.sequential.stop import Stop
from karat.stats.value import Value


@dataclass(frozen=True, kw_only=True)
class StoredGroup(Value):
    """The value of a group of rows in `values.json`; where people labelled, `corrected` by their labels."""

    corrected: Corrected | None = None

    printed: ClassVar = Printed(sparse=("not_asked", "all_low", "all_high", "corrected"))


@dataclass(frozen=True, kw_only=True)
class StoredMetric(StoredGroup):
    """A metric in `values.json`.

    `counts`, by detail: how often a judge returned each label, how often a list has each item (1,000 at most).
    `groups`: by value of the column of `--by`. `caution`: why it is low however right the answers are. `stop`: how
    far a judge was asked, where a rule said when to stop.
    """

    spec: str
    signature: str | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    groups: Mapping[str, StoredGroup] = field(default_factory=dict)
    caution: str = ""
    stop: Stop | None = None

    printed: ClassVar = Printed(
        ("spec", "signature"),
        sparse=("not_asked", "all_low", "all_high", "corrected", "counts", "groups", "caution", "stop"),
    )


@dataclass(frozen=True, kw_only=True)
class StoredJoin:
    """What was joined, in `values.json`: as in `Result.joined`, with the first ids of each side."""

    missing: int
    missing_ids: tuple[str, ...]
    unknown: int
    unknown_ids: tuple[str, ...]
    retrieved: int = 0
    unjudged: int = 0
    prediction: Mapping[str, int] = field(default_factory=dict)
    reference: Mapping[str, int] = field(default_factory=dict)

    printed: ClassVar = Printed(sparse=("retrieved", "unjudged", "prediction", "reference"))


@dataclass(frozen=True, kw_only=True)
class StoredLabels:
    """Whose labels correct the values: `labelled` rows, `left_out` of others; `weighted`: drawn with probabilities."""

    source: str
    labelled: int
    left_out: int
    weighted: bool
    annotators: tuple[str, ...]
    choices: Mapping[str, float]
    notes: tuple[str, ...] = ()

    printed: ClassVar = Printed(sparse=("notes",))


@dataclass(frozen=True, kw_only=True)
class StoredClusters:
    """The column by which rows belong together; `count` is the number of its values, an estimate above 4,096."""

    column: str
    count: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class StoredValues(JsonObject):
    """The content of `values.json`: what `--json` prints.

    `n` rows; `mapping` has the column of each role; `clusters`: by what intervals go, where it is not by row;
    `gold_patch`: what people changed of the gold.
    """

    n: int
    mapping: Mapping[str, str]
    clusters: StoredClusters | None = None
    joined: StoredJoin | None = None
    human: StoredLabels | None = None
    gold_patch: PatchNote | None = None
    metrics: tuple[StoredMetric, ...]

    printed: ClassVar = Printed(sparse=("clusters", "joined", "human", "gold_patch"))


def read_stored_values(path: str | Path, written: FileSum | None) -> dict[str, Any]:
    """The values in a file with this checksum, if it is known; `DataError` where they are damaged."""
    values: dict[str, Any] = parse_json(read_checked(path, written), path)
    _name_unscored(values)
    check_content(values, StoredValues, f"{path} does not hold the values of a run", finite=False)
    return values


def _name_unscored(values: Any) -> None:
    """Name the rows without a score `unscored` in values of format 1, where they are `failed`."""
    metrics = values.get("metrics") if isinstance(values, dict) else None
    for metric in metrics if isinstance(metrics, list) else ():
        groups = metric.get("groups") if isinstance(metric, dict) else None
        for entry in (metric, *(groups.values() if isinstance(groups, dict) else ())):
            if isinstance(entry, dict) and "failed" in entry:
                members = [("unscored" if name == "failed" else name, each) for name, each in entry.items()]
                entry.clear()
                entry.update(members)
