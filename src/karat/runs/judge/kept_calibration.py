"""A stored calibration: how a judge's scores compared with people's, and for exactly which judge that holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from karat.core.atomic import write_text
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.data.json.typed import check_type
from karat.data.storage.files import read_small

FORMAT = 1


@dataclass(frozen=True)
class KeptCalibration:
    """What a file of calibrations says of a judge.

    `holds`: the judge is the one that was compared with people. Else `changed` names what differs (model, prompt,
    version, a setting), and the labels no longer vouch for it. `figures`: the stored ones; {} where the file has none
    of a judge of this name.
    """

    holds: bool
    changed: tuple[str, ...]
    figures: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        if self.holds:
            return f"the kept calibration holds: {self.figures['labelled']} labels vouch for this judge"
        return f"the labels no longer vouch for this judge: {'; '.join(self.changed)}"


@dataclass(frozen=True)
class _Counts:
    """The figures of a stored calibration that are read; there are more."""

    labelled: int


@dataclass(frozen=True)
class _StoredCalibration:
    """A stored calibration."""

    judge: str
    settings: Mapping[str, Any]
    version: int
    prompt: Any
    signature: str
    figures: Annotated[Mapping[str, Any], _Counts]


@dataclass(frozen=True)
class _Calibrations:
    """The content of a file of calibrations."""

    judges: tuple[_StoredCalibration, ...]


def save_calibrations(path: str | Path, figures: Iterable[tuple[Metric, Mapping[str, Any]]]) -> None:
    """Write how judges compare with people to a file of JSON, each with its judge's signature."""
    judges = [{**_identity(judge), "signature": judge.signature, "figures": dict(each)} for judge, each in figures]
    write_text(Path(path), json.dumps({"format": FORMAT, "judges": judges}, ensure_ascii=False, indent=1) + "\n")


def read_calibrations(path: str | Path) -> list[dict[str, Any]]:
    """The calibrations in a file. Raises `DataError` for a file that `save_calibrations` did not write."""
    try:
        content = json.loads(read_small(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: no file of calibrations (karat judge --keep-calibration writes one): {error}"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path}: a file of calibrations is expected, which karat judge --keep-calibration writes")
    check_type(
        content, _Calibrations, f"{path} does not hold calibrations as karat judge --keep-calibration writes them"
    )
    judges: list[dict[str, Any]] = content["judges"]
    return judges


def find_calibration(judge: Metric, kept: Iterable[Mapping[str, Any]]) -> KeptCalibration:
    """What the calibrations of a file say of a judge: of all that have its name, that which differs least."""
    now = _identity(judge)
    named = [(each, _changes(each, now)) for each in kept if each["judge"] == judge.name]
    if not named:
        return KeptCalibration(False, (f"the file has no calibration of {judge.name}",), {})
    each, changed = min(named, key=lambda pair: len(pair[1]))
    return KeptCalibration(not changed, changed, each["figures"])


def _identity(judge: Metric) -> dict[str, Any]:
    """Everything of which the judge's signature is made, as JSON values."""
    definition = judge.definition
    settings = json.loads(json.dumps(dict(judge.settings)))
    prompt = definition.marks.get("prompt")
    return {"judge": judge.name, "settings": settings, "version": definition.version, "prompt": prompt}


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    changes = []
    for name in sorted(before["settings"].keys() | now["settings"].keys()):
        old, new = before["settings"].get(name), now["settings"].get(name)
        if old != new:
            changes.append(f"its {name} was {old!r} and is {new!r}")
    if before["version"] != now["version"]:
        changes.append(f"its version was {before['version']} and is {now['version']}")
    if before["prompt"] != now["prompt"]:
        changes.append("its prompt has changed")
    return tuple(changes)
