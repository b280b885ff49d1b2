"""How far a run's scores agree with people's labels, and its values corrected by them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from karat.core.columns.ids import ROW_IDS
from karat.core.errors import KaratError, SpecError
from karat.data.roles import singular
from karat.runs.compare.run_values import read_values
from karat.runs.judge.examine import examine
from karat.runs.labels.choices import known_choices
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import read_labels
from karat.runs.store.run import Run
from karat.viewer.page.catalog import display_metrics
from karat.viewer.page.label_file import LabelFile
from karat.viewer.page.query import Query, explained
from karat.viewer.page.workspace import Workspace

_ROW_ID = "id"  # in a line of the file of labels


def show_agreement(space: Workspace, query: Query) -> dict[str, Any]:
    """How far a run's scores agree with people's labels, and its values corrected by them."""
    (run,), by, file = space.catalog.open(query.runs), query.by, space.labels
    if file is None or file.gold:
        raise SpecError("there are no labels: open the page with --labels FILE --label-map good=1,bad=0")
    on = file.on or _find_id(run)
    command = space.command("judge", space.name(run), human=file.path, on=on, by=by, json=True)
    if not {run.name, None} & file.systems():
        reason = f"no answer of {run.name} is labelled yet"
        return {"agreement": None, "corrected": None, "reason": reason, "command": command}
    with explained():
        return {**_agree(space, run, file, on, by), "reason": None, "command": command}


def _agree(space: Workspace, run: Run, file: LabelFile, on: str, by: str | None) -> dict[str, Any]:
    labels = read_labels(str(file.path), on=_ROW_ID, choices=known_choices(run.specs).values(), system=run.name)
    answer: dict[str, Any] = {"agreement": examine(run, human=labels, on=on, by=by).as_dict(), "corrected": None}
    with suppress(KaratError):  # the labels are on no metric's scale
        values = read_values(run, human=Labels(labels), on=on).values
        command = space.command("runs", "show", space.name(run), human=file.path, on=on, json=True)
        answer |= {"corrected": {"values": values, "command": command}, "display": display_metrics(run)}
    return answer


def _find_id(run: Run) -> str:
    """The column of the ids by which `karat label` names rows."""
    names = {singular(name): name for name in reversed(run.schema.names)}
    return next((names[each] for each in ROW_IDS if each in names), _ROW_ID)
