"""How the runs of a bundle compare, as it is stored beside them."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from karat.core.errors import DataError, KaratError
from karat.data.storage.addresses import hide_secrets
from karat.data.storage.checksums import parse_json
from karat.runs.compare.compare import compare
from karat.runs.compare.ranking.rank import rank
from karat.runs.export.bundle.archive import Archive
from karat.runs.labels.labels import Labels
from karat.runs.match.systems import list_specs
from karat.runs.scoring.provenance.describe import find_versions
from karat.runs.store.manifest import check_content
from karat.runs.store.run import Run

VERDICTS = "verdicts.json"


@dataclass(frozen=True)
class _Arguments:
    """How runs were compared."""

    metrics: tuple[str, ...] = ()
    by: str | None = None
    cluster: str | None = None
    on: str | None = None
    margin: float | Mapping[str, float] | None = None
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class _Finding:
    """What is read of a stored finding; there is more."""

    metric: str
    system: str
    slice: str | None


@dataclass(frozen=True)
class _Compared:
    """The same of a comparison."""

    systems: tuple[str, ...]
    findings: tuple[_Finding, ...]


@dataclass(frozen=True)
class Verdicts:
    """The content of `verdicts.json`: what `karat.compare` and, of three runs or more, `karat.rank` found, and how."""

    arguments: Annotated[Mapping[str, Any], _Arguments]
    versions: Mapping[str, str]
    machine: Mapping[str, str]
    compared: Annotated[Mapping[str, Any], _Compared]
    ranked: Mapping[str, Any] | None = None


COMPARED = tuple(each.name for each in fields(_Arguments))
"""The arguments of `karat.compare` that a bundle may have been written with."""


def compare_runs(
    runs: Sequence[Run], compared: Mapping[str, Any], human: Labels | None = None
) -> tuple[bytes | None, str | None]:
    """What a bundle says of how runs compare; or why they are not compared."""
    if "metrics" in compared:
        compared = {**compared, "metrics": list_specs(compared["metrics"])}
    try:
        comparison = compare(*runs, **compared, human=human).as_dict()
    except KaratError as error:
        if compared or human is not None:
            raise
        return None, str(error)
    content = {"arguments": compared, **environment(), "compared": comparison}
    content |= {"ranked": rank_runs(runs, compared)} if len(runs) > 2 else {}
    return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode(), None


def rank_runs(runs: Sequence[Run], compared: Mapping[str, Any]) -> dict[str, Any]:
    """How three runs or more are ranked, by the arguments with which they are compared."""
    return rank(*runs, **{name: each for name, each in compared.items() if name != "margin"}).as_dict()


def environment() -> dict[str, Any]:
    """The versions and the platform on which the last bits of numbers may rest."""
    return {"versions": find_versions(), "machine": {"system": platform.platform(), "processor": platform.machine()}}


def read_verdicts(archive: Archive) -> Verdicts:
    """What a bundle says of how its runs compare; `DataError` where it is not of that form."""
    where = f"{hide_secrets(str(archive.path))}: {VERDICTS}"
    content: dict[str, Any] = parse_json(archive.read(VERDICTS), where)
    check_content(content, Verdicts, where, finite=False)
    if unknown := content["arguments"].keys() - set(COMPARED):
        raise DataError(f"{where}: there is no argument {min(unknown)!r} of comparing runs")
    if unknown := content.keys() - {each.name for each in fields(Verdicts)}:
        raise DataError(f"{where}: expected no {min(unknown)!r}")
    return Verdicts(**content)
