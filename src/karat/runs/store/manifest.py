"""What a run says of itself: all that was decided before its first row, and what stands behind its values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from karat.core.atomic import write_text
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse

FORMAT = 1
FILE = "manifest.json"


@dataclass(frozen=True)
class Scored:
    """One metric of a run.

    `column` is that of its scores among the rows. `signature` is None where nobody says it: in a scored file that is no
    run. `counts` tells that its values come of counts through a finish, not of scores by their mean. `low`, `high` and
    `direction` are the metric's own.
    """

    spec: str
    signature: str | None
    column: str
    direction: str
    low: float | None
    high: float | None
    counts: bool


def note(metric: Metric, column: str, *, signed: bool = True) -> Scored:
    """What a manifest says of a metric whose scores stand in `column`."""
    definition = metric.definition
    return Scored(
        spec=metric.spec,
        signature=metric.signature if signed else None,
        column=column,
        direction=definition.direction,
        low=definition.low,
        high=definition.high,
        counts=definition.finish is not None,
    )


@dataclass(frozen=True)
class Manifest:
    """What `manifest.json` holds.

    `call` is the command or the call that made the run, `sources` are what was read, by side, `settings` the arguments
    that decide what is scored and how. `digests` are of the columns that were scored, by role: equal where the same
    values came in the same order. `n` is the number of rows, `models` what judges were asked and what that took.
    """

    name: str
    created: str
    metrics: tuple[Scored, ...]
    mapping: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    call: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    models: Mapping[str, Any] | None = None
    format: int = FORMAT

    def metric(self, spec: str) -> Scored:
        """What is said of the metric of that spec, however it is spelled; `SpecError` where it was not scored.

        >>> run = Manifest("a", "", (note(parse("token_f1"), "token_f1"),), {})
        >>> run.metric("f1").column
        'token_f1'
        """
        known = {each.spec: each for each in self.metrics}
        if spec in known:
            return known[spec]
        try:
            same = parse(spec).spec
        except SpecError:
            same = spec
        if same not in known:
            raise SpecError(f"{self.name}: {spec} was not scored{did_you_mean(spec, known)}")
        return known[same]


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write the manifest of a run's folder, whole or not at all."""
    write_text(folder / FILE, json.dumps(asdict(manifest), ensure_ascii=False, indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run's folder; `DataError` where it is damaged or of a newer karat."""
    path = folder / FILE
    try:
        said = json.loads(path.read_text("utf-8"))
        if said["format"] > FORMAT:
            raise DataError(f"{path} is of a newer karat (format {said['format']}, this one reads {FORMAT}): update it")
        known = {each.name for each in fields(Manifest)}
        return Manifest(
            **{name: value for name, value in said.items() if name in known}
            | {"metrics": tuple(Scored(**each) for each in said["metrics"])}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not the manifest of a run: {error}") from error
