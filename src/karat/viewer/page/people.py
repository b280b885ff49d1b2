"""How far a run's scores agree with people's labels, and its values corrected by them."""

from __future__ import annotations

from typing import Any

from karat.core.columns.ids import ROW_IDS
from karat.core.errors import DataError, SpecError
from karat.data.open import open_source
from karat.data.roles import singular
from karat.runs.agreement.agreement import agreement
from karat.runs.labels.choices import known_choices
from karat.runs.labels.human import Human
from karat.runs.labels.join import LabelledRows, join_labels, no_estimate, why_not_corrected
from karat.runs.labels.labels import read_labels
from karat.runs.scoring.groups import cluster_keys
from karat.runs.store.run import Run
from karat.stats.corrected.estimate import corrected_mean
from karat.stats.inference import Inference
from karat.viewer.page.label_file import LabelFile
from karat.viewer.page.query import Query, explained
from karat.viewer.page.workspace import Workspace

_ROW_ID = "id"  # in a line of the file of labels


def show_agreement(space: Workspace, query: Query) -> dict[str, Any]:
    """How far a run's scores agree with people's labels, and its values corrected by them."""
    (run,), by, file = space.catalog.open(query.runs()), query.text("by"), space.labels
    if file is None:
        raise SpecError("there are no labels: open the page with --labels FILE --label-map good=1,bad=0")
    on = file.on or _find_id(run)
    command = space.command("agreement", space.name(run), human=file.path, on=on, by=by, json=True)
    if not {run.name, None} & file.systems():
        reason = f"no answer of {run.name} is labelled yet"
        return {"agreement": None, "corrected": {}, "reason": reason, "command": command}
    with explained():
        return {**_agree(run, file, on, by), "reason": None, "command": command}


def _agree(run: Run, file: LabelFile, on: str, by: str | None) -> dict[str, Any]:
    choices = list(known_choices(run.specs).values())
    labels = read_labels(str(file.path), on=_ROW_ID, choices=choices, system=run.name)
    found = agreement(run, human=labels, on=on, by=by)
    source = open_source(run.read([on]))
    joined = join_labels(Human(labels), source, source, (on, on), choices)
    return {"agreement": found.as_dict(), "corrected": _correct(run, joined)}


def _find_id(run: Run) -> str:
    """The column of the ids by which `karat label` names rows."""
    names = {singular(name): name for name in reversed(run.schema.names)}
    return next((names[each] for each in ROW_IDS if each in names), _ROW_ID)


def _correct(run: Run, joined: LabelledRows) -> dict[str, Any]:
    """The values of a run corrected by people's labels, by spec."""
    settings, metrics = run.manifest.settings, run.manifest.metrics
    inference = Inference(settings.get("confidence", 0.95), settings.get("seed", 0))
    cluster = settings.get("cluster")
    keys = None if cluster is None else cluster_keys(run.column(cluster).combine_chunks())
    try:
        reasons = why_not_corrected(metrics, joined.labels, known_choices(run.specs))
    except (DataError, SpecError) as error:
        reasons = {metric.spec: str(error) for metric in metrics}
    corrected = {}
    for metric in metrics:
        scores, bounds = run.scores(metric.spec), (metric.low, metric.high)
        if reason := reasons.get(metric.spec):
            found = no_estimate(reason, len(scores), len(joined.at))
        else:
            found = corrected_mean(joined.judged(scores, keys), bounds=bounds, inference=inference)
        corrected[metric.spec] = found.as_dict()
    return corrected
