"""Answers with figures: values, comparisons, agreement with people. Each comes from the function behind a command."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from karat.core.errors import KaratError, SpecError
from karat.core.version import __version__
from karat.runs.compare.run_values import scored_inference
from karat.runs.store.run import Run
from karat.viewer.answers import answer_compared, answer_ranked
from karat.viewer.page.catalog import display_metrics
from karat.viewer.page.query import Query
from karat.viewer.page.workspace import Workspace


def list_runs(space: Workspace, _: Query) -> dict[str, Any]:
    """All runs, with their values and the state of those that are being written."""
    labels = None if space.labels is None else space.labels.describe()
    runs = [run | {"problem": run["problem"] and space.clean(run["problem"])} for run in space.catalog.describe()]
    return {"runs": runs, "labels": labels, "version": __version__, "command": space.command("runs", json=True)}


def show_values(space: Workspace, query: Query) -> dict[str, Any]:
    """The values of a run, as they are stored."""
    (run,) = space.catalog.open(query.runs)
    level = scored_inference(run).confidence
    return {"values": run.values, "display": display_metrics(run), "confidence": level, "command": _show(space, run)}


def show_provenance(space: Workspace, query: Query) -> dict[str, Any]:
    """The manifest of a run."""
    (run,) = space.catalog.open(query.runs)
    return {"manifest": asdict(run.manifest), "command": _show(space, run)}


def compare_runs(space: Workspace, query: Query) -> dict[str, Any]:
    """Runs compared with the first, and corrected by people's labels where these are of the same systems."""
    runs = space.catalog.open(query.runs)
    if len(runs) < 2:
        raise SpecError("runs: at least two are expected")
    chosen: dict[str, Any] = {name: getattr(query, name) for name in ("by", "cluster", "on", "margin")}
    chosen["allow_different"] = query.different
    labels, note = None if space.labels is None else space.labels.find(runs), None
    if labels is not None:
        try:
            compared = space.compare(runs, chosen, *labels)
        except KaratError as error:  # the labels are of other rows or another scale: the figures without them stand
            labels, note = None, str(error)
    if labels is None:
        compared = space.compare(runs, chosen, None, 0)
    human = None if labels is None else labels[0].source
    command = space.command("compare", *map(space.name, runs), **chosen, human=human, json=True)
    return {**answer_compared(compared), "labels_note": note, "command": command}


def rank_runs(space: Workspace, query: Query) -> dict[str, Any]:
    """Runs in the order of each metric, with letters that tell which are separated."""
    runs = space.catalog.open(query.runs)
    if len(runs) < 2:
        raise SpecError("runs: at least two are expected")
    chosen: dict[str, Any] = {name: getattr(query, name) for name in ("cluster", "on")}
    chosen["allow_different"] = query.different
    command = space.command("compare", *map(space.name, runs), rank=True, **chosen, json=True)
    return {**answer_ranked(space.rank(runs, chosen)), "command": command}


def _show(space: Workspace, run: Run) -> str:
    return space.command("runs", "show", space.name(run), json=True)
