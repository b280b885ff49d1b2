"""What is kept of a judge, mostly how its scores compared with people's, and for exactly which judge that holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
class KeptForm:
    """What a file holds of judges: its `name` in plural, the command that writes one, the type of its figures."""

    name: str
    command: str
    figures: type


@dataclass(frozen=True)
class _KeptJudge:
    """A judge in such a file."""

    judge: str
    settings: Mapping[str, Any]
    version: int
    prompt: Any
    signature: str
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class _KeptJudges:
    """The content of such a file."""

    judges: tuple[_KeptJudge, ...]


_CALIBRATIONS = KeptForm("calibrations", "karat judge --keep-calibration", _Counts)


def save_kept(path: str | Path, form: KeptForm, figures: Iterable[tuple[Metric, Mapping[str, Any]]]) -> None:
    """Write figures of judges to a file of JSON, each with everything of which its judge's signature is made."""
    judges = [{**_identity(judge), "signature": judge.signature, "figures": dict(each)} for judge, each in figures]
    kind = {} if form is _CALIBRATIONS else {"kind": form.name}  # files of calibrations came first, without a kind
    content = {"format": FORMAT, **kind, "judges": judges}
    write_text(Path(path), json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def read_kept(path: str | Path, form: KeptForm) -> list[dict[str, Any]]:
    """The judges in a file. Raises `DataError` for a file that `save_kept` did not write in this form."""
    try:
        content = json.loads(read_small(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a file of {form.name} ({form.command} writes one): {error}") from None
    kind = None if form is _CALIBRATIONS else form.name
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("kind") != kind:
        raise DataError(f"{path}: a file of {form.name} is expected, which {form.command} writes")
    wrong = f"{path} does not hold {form.name} as {form.command} writes them"
    check_type(content, _KeptJudges, wrong)
    judges: list[dict[str, Any]] = content["judges"]
    for each in judges:
        check_type(each["figures"], form.figures, wrong)
    return judges


def save_calibrations(path: str | Path, figures: Iterable[tuple[Metric, Mapping[str, Any]]]) -> None:
    """Write how judges compare with people to a file of JSON, each with its judge's signature."""
    save_kept(path, _CALIBRATIONS, figures)


def read_calibrations(path: str | Path) -> list[dict[str, Any]]:
    """The calibrations in a file. Raises `DataError` for a file that `save_calibrations` did not write."""
    return read_kept(path, _CALIBRATIONS)


def find_kept(judge: Metric, kept: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any] | None, tuple[str, ...]]:
    """Of all in a file that have a judge's name, that which differs least, and what differs; None where none has."""
    now = _identity(judge)
    named = [(each, _changes(each, now)) for each in kept if each["judge"] == judge.name]
    return min(named, key=lambda pair: len(pair[1])) if named else (None, ())


def find_calibration(judge: Metric, kept: Iterable[Mapping[str, Any]]) -> KeptCalibration:
    """What the calibrations of a file say of a judge: of all that have its name, that which differs least."""
    each, changed = find_kept(judge, kept)
    if each is None:
        return KeptCalibration(False, (f"the file has no calibration of {judge.name}",), {})
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
