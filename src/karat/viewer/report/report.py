"""`karat.report`: runs, and how they differ, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.atomic import write_text
from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.data.join.join import split_on
from karat.runs.compare.compare import compare
from karat.runs.labels.labels import Labels
from karat.runs.match.match import match
from karat.runs.match.systems import Metrics, System, list_specs, open_systems
from karat.runs.store.run import Run
from karat.stats.aggregate import points
from karat.stats.inference import Inference
from karat.viewer.report.choice import Choice, choose_rows
from karat.viewer.report.document import check_output, make_document, refuse_replacing
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
from karat.viewer.report.values import ReportValues, Settings


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
    confidence: float | None = None,
    seed: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file about runs, which needs nothing else and fetches nothing; returns its path.

    One system is described; several are also compared, each with the first, on the same rows. The file has the verdict
    in a sentence, values with intervals, differences by slice, how scores and differences are spread, rows to search
    and sort, and how everything was measured.

    `systems`, `metrics`, `by`, `cluster`, `on`, `allow_different`, `human` and `label_map` are those of
    `karat.compare`; `cluster`, `human`, `confidence` and `seed` hold for every value and difference on the report. By
    default a single run has the confidence and the seed of its scoring, several have 0.95 and 0. `title`: by default
    the names of the systems. `rows`: at most so many are in the file: half of them those on which systems differ most,
    then the worst and some without a score, and a random sample drawn by `seed`.
    `texts`: without them the file has no question, gold, answer or remark of a judge, but ids, and names of files and
    columns. `redact`: columns of which nothing is in the file, neither their values nor their names; what judges say is
    left out with a text they saw. With either, the command that scored a run and its condition for rows are left out.
    `overwrite`: replace any file; else only a report on the same systems is replaced.

    Raises `ColumnError` for a column to leave out that does not exist, `SpecError` for slices that would show what is
    left out, where there is no system, and for `on` without `human` with a single one, `DataError` for a name
    that does not end in .html, a folder that does not exist and another file that would be replaced, and what
    `karat.compare` raises.

    >>> import karat, tempfile
    >>> table = {"question": ["Capital of France?", "Of Italy?"], "gold": ["Paris", "Rome"]}
    >>> first, second = (karat.score({**table, "prediction": p}, "em") for p in (["Lyon", "Rome"], ["Paris", "Rome"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = report(first, second, output=f"{folder}/report.html").read_text()
    >>> text[:15], "no difference between A and B could be shown (50.0 points" in text
    ('<!doctype html>', True)
    """
    path = Path(output)
    check_output(path)
    if not systems or rows < 0:
        raise SpecError(f"expected at least one run and 0 rows or more, found {len(systems)} and {rows}")
    wanted = list_specs(metrics)
    runs = open_systems(systems, wanted)
    if not overwrite:
        refuse_replacing(path, [run.name for run in runs])
    people = Labels.of(human, label_map)
    asked = {"cluster": cluster, "on": on, "confidence": confidence, "seed": seed}
    people, key = (None, on) if people is None else people.split_on(on)
    matched = match(
        runs, wanted, key if len(runs) > 1 else None, by=by, cluster=cluster, allow_different=allow_different
    )
    shared, aligned = matched.metrics, matched.rows
    redaction = Redaction(texts, (redact,) if isinstance(redact, str) else tuple(redact))
    redaction.check(runs, by, {scored.column for metric in shared for scored in metric.by_run})
    inference = _inference(runs, confidence, seed)
    if len(runs) > 1:
        compared = compare(
            *runs,
            metrics=wanted,
            by=by,
            cluster=cluster,
            on=on,
            allow_different=allow_different,
            human=people,
            confidence=inference.confidence,
            seed=inference.seed,
        )
        joined: tuple[str, str] | None = (aligned.by, (people and people.on) or aligned.by)
    else:
        if on is not None and people is None:
            raise SpecError("on is for comparing runs, and for labels by people (human, --human)")
        compared = None
        joined = None if on is None else split_on(on)
    material = Material(runs, shared, aligned, compared, by, inference.confidence)
    read = ReportValues(matched, Settings(inference, people, joined), {} if compared else material.slices, by)
    values = read.read(material.drawn_slices)
    choice = choose_rows(material.scores, rows, inference.seed)
    used = {"metric": wanted, "by": by, **asked, "allow-different": allow_different, **_human_options(people)}
    command = spell_command(material, used, redaction)
    written = [
        value_section(material, values, [redaction.clean(note) for note in read.notes]),
        difference_section(material, redaction),
        distribution_section(material),
        row_section(
            _encode(material, choice, redaction), list(_notes(choice, len(aligned), redaction, inference.seed))
        ),
        provenance_section(runs, command, redaction),
    ]
    verdict = verdict_section(values, compared, material.confidence)
    named, kicker = title or _list(material.names), f"Report on {len(aligned)} rows"
    write_text(path, make_document(named, kicker, verdict, written, material.names))
    return path


def _inference(runs: Sequence[Run], confidence: float | None, seed: int | None) -> Inference:
    """That of all intervals and tests; what is not given is that of the scoring of a single run."""
    stored = runs[0].manifest.settings if len(runs) == 1 else {}
    level = stored.get("confidence", 0.95) if confidence is None else confidence
    return Inference(float(level), int(stored.get("seed", 0) if seed is None else seed))


def _human_options(people: Labels | None) -> dict[str, object]:
    """The options of a command for labels; LABELS stands for those that are not in files."""
    if people is None:
        return {}
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
        for at, run in enumerate(runs)
        for order in (material.rows.order(at),)
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
