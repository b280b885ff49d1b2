"""`karat.report`: runs, and how they differ, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.atomic import write_text
from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.data.write import check_folder
from karat.runs.compare.compare import compare
from karat.runs.labels.human import Human
from karat.runs.match.alignment import Alignment, align_numbers
from karat.runs.match.keys import align
from karat.runs.match.shared_metrics import share_metrics
from karat.runs.match.systems import Metrics, System, list_specs, open_system
from karat.runs.store.run import Run
from karat.stats.aggregate import points
from karat.viewer.report.choice import Choice, choose_rows
from karat.viewer.report.document import make_document
from karat.viewer.report.material import Material, cut_name
from karat.viewer.report.redaction import Redaction
from karat.viewer.report.row_section import row_section
from karat.viewer.report.rows import encode_rows, read_cells
from karat.viewer.report.sections import (
    difference_section,
    distribution_section,
    provenance_section,
    spell_command,
    value_section,
    verdict_section,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def report(
    *systems: System,
    output: str | Path,
    title: str | None = None,
    rows: int = 500,
    texts: bool = True,
    redact: Iterable[str] = (),
    metrics: Metrics = (),
    by: str | None = None,
    cluster: str | None = None,
    on: str | None = None,
    allow_different: bool = False,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Path:
    """Write one HTML file about runs, which needs nothing else and fetches nothing; returns its path.

    One system is described; several are also compared, each with the first, on the same rows. The file has the verdict
    in a sentence, values with intervals, differences by slice, how scores and differences are spread, rows to search
    and sort, and how everything was measured.

    `systems`, `metrics`, `by`, `cluster`, `on`, `allow_different`, `human`, `label_map` and `confidence` are those of
    `karat.compare`. `title`: by default the names of the systems. `rows`: at most so many are in the file: half of them
    those on which systems differ most, then the worst and some without a score, and a random sample drawn by `seed`.
    `texts`: without them the file has no question, gold, answer or remark of a judge, but ids, and names of files and
    columns. `redact`: columns of which nothing is in the file, neither their values nor their names; what judges say is
    left out with a text they saw. With either, the command that scored a run and its condition for rows are left out.

    Raises `ColumnError` for a column to leave out that does not exist, `SpecError` for slices that would show what is
    left out, where there is no system, and for `human`, `on` and `cluster` with a single one, `DataError` for a folder
    that does not exist, and what `karat.compare` raises.

    >>> import karat, tempfile
    >>> table = {"question": ["Capital of France?", "Of Italy?"], "gold": ["Paris", "Rome"]}
    >>> first, second = (karat.score({**table, "prediction": p}, "em") for p in (["Lyon", "Rome"], ["Paris", "Rome"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = report(first, second, output=f"{folder}/report.html").read_text()
    >>> text[:15], "no difference could be shown (50.0 points" in text
    ('<!doctype html>', True)
    """
    path = Path(output)
    check_folder(path)
    if not systems or rows < 0:
        raise SpecError(f"expected at least one run and 0 rows or more, found {len(systems)} and {rows}")
    wanted = list_specs(metrics)
    runs = [open_system(system, label, wanted) for system, label in zip(systems, _LETTERS, strict=False)]
    redaction = Redaction(texts, (redact,) if isinstance(redact, str) else tuple(redact))
    shared = share_metrics(runs, wanted)
    redaction.check(runs, by, {scored.column for metric in shared for scored in metric.by_run})
    if len(runs) > 1:
        compared = compare(
            *systems,
            metrics=wanted,
            by=by,
            cluster=cluster,
            on=on,
            allow_different=allow_different,
            human=human,
            label_map=label_map,
            confidence=confidence,
            seed=seed,
        )
        aligned = align(runs, on)
    else:
        for name, value in {"human": human, "on": on, "cluster": cluster}.items():
            if value is not None:
                raise SpecError(
                    f"{name} is for comparing runs; one run is shown as it was scored (karat score --{name})"
                )
        compared, aligned = None, _in_order(runs[0])
    material = Material(runs, shared, aligned, compared, by)
    choice = choose_rows(material.scores, rows, seed)
    used: dict[str, object] = {"metric": wanted, "by": by, "cluster": cluster, "on": on}
    used |= {
        "allow-different": allow_different,
        "confidence": None if confidence == 0.95 else confidence,
        "seed": seed or None,
    }
    command = spell_command(material, used | _human_options(human, label_map), redaction)
    values = list(material.values())
    written = [
        value_section(material, values),
        difference_section(material, redaction),
        distribution_section(material),
        row_section(_encode(material, choice, redaction), list(_notes(choice, len(aligned), redaction, seed))),
        provenance_section(runs, command, redaction),
    ]
    verdict = verdict_section(values, compared, material.confidence)
    write_text(path, make_document(title or _list(material.names), f"Report on {len(aligned)} rows", verdict, written))
    return path


def _human_options(human: Any, label_map: Mapping[str, float] | str | None) -> dict[str, object]:
    """The options of a command for labels; LABELS stands for those that are not in files."""
    if human is None:
        return {}
    people = human if isinstance(human, Human) else Human(human, label_map)
    source, scores = people.source, people.label_map
    named = (
        list(source.items())
        if isinstance(source, Mapping)
        else [(None, each) for each in (source if isinstance(source, list) else [source])]
    )
    files = [file if name is None else f"{name}={file}" for name, file in named if isinstance(file, str)]
    if isinstance(scores, Mapping):
        scores = ",".join(f"{label}={score:g}" for label, score in scores.items())
    options = {"human": files or ["LABELS"], "label-map": scores, "label-column": list(people.columns)}
    return options | {"strata": people.strata, "these-rows": people.finite, "human-threshold": people.threshold}


def _list(names: Sequence[str]) -> str:
    """Names as a phrase: A, B and C."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _in_order(run: Run) -> Alignment:
    """The rows of a single run, as they are."""
    n = sum(len(batch) for batch in run.batches(run.schema.names[:1]))
    return align_numbers(n)


def _encode(material: Material, choice: Choice, redaction: Redaction) -> dict[str, Any]:
    """The chosen rows as `report.js` reads them."""
    rows, runs = choice.rows, material.runs
    hidden = material.id_column is not None and redaction.hides_values(runs, material.id_column)
    labels: Array = np.full(len(material.rows), "", object)
    for label, part in material.slices.items():
        labels[part] = label
    values, codes = np.unique(labels[rows], return_inverse=True)
    cells = [
        read_cells(run, [metric.by_run[at] for metric in material.metrics], order[rows], redaction)
        for at, (run, order) in enumerate(zip(runs, material.rows.orders, strict=True))
    ]
    bounds = material.bounds
    return {
        "systems": material.names,
        "metrics": [
            {"spec": each.spec, "minimize": each.minimize, "factor": points(bounds[each.spec])}
            for each in material.scores
        ],
        "id": material.name_rows(rows, numbered=hidden),
        "slice": {"name": material.by, "values": [cut_name(label) for label in values], "codes": codes.tolist()}
        if material.by
        else None,
        "sample": [at for at, row in enumerate(rows.tolist()) if row in choice.sampled],
        **encode_rows(cells, {each.spec: each.scores[:, rows] for each in material.scores}),
    }


def _notes(choice: Choice, n: int, redaction: Redaction, seed: int) -> Iterator[str]:
    """Which rows these are, and what is left out."""
    if len(choice.rows) == n:
        yield f"All {n} rows are here."
    else:
        kinds = {
            "differ": "on which systems differ most",
            "worst": "with the worst scores",
            "unscored": "without a score",
        }
        parts = [f"{choice.counts[kind]} {words}" for kind, words in kinds.items() if choice.counts[kind]]
        parts.append(f"{choice.counts['sample']} drawn at random (seed {seed})")
        yield f"{len(choice.rows)} of {n} rows are in this file: {', '.join(parts)}. All figures above are of all rows."
    if not redaction.texts:
        yield "Texts are left out."
    if redaction.columns:
        columns = "One column is" if len(redaction.columns) == 1 else f"{len(redaction.columns)} columns are"
        yield f"{columns} left out."
