"""`karat.report`: runs, and how they differ, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from karat.core.atomic import write_text
from karat.core.errors import SpecError
from karat.runs.compare.compare import compare_matched
from karat.runs.compare.margins import Margin, spell_margins
from karat.runs.compare.ranking.rank import rank_matched
from karat.runs.export.bundle.cite import cite_bundle
from karat.runs.labels.labels import Labels
from karat.runs.match.match import How, match
from karat.runs.match.shared_metrics import share_metrics
from karat.runs.match.systems import Metrics, System, list_specs, open_systems
from karat.runs.store.run import Run
from karat.runs.table.document import cite_digest
from karat.stats.inference import Inference
from karat.viewer.report.content import Content
from karat.viewer.report.document import check_page_path, make_document, refuse_replacing
from karat.viewer.report.redaction import Redaction


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
    margin: Margin = None,
    confidence: float | None = None,
    seed: int | None = None,
    overwrite: bool = False,
    bundle: str | Path | None = None,
) -> Path:
    """Write one HTML file about runs, which needs nothing else and fetches nothing; returns its path.

    One system is described; several are also compared, each with the first, on the same rows, and more than two are
    ranked. The file has the verdict in a sentence, values with intervals, differences by slice, how scores and
    differences are spread, rows to search and sort, and how everything was measured: the page of `karat view` with its
    data in the file. The verdict and the first table need no JavaScript.

    `systems`, `metrics`, `by`, `cluster`, `on`, `allow_different`, `human`, `label_map` and `margin` are as in
    `karat.compare`; `cluster`, `human`, `confidence` and `seed` hold for every value and difference on the report. By
    default a single run has the confidence and the seed of its scoring, several have 0.95 and 0. `title`: by default
    the names of the systems. `rows`: at most so many are in the file: half of them those on which systems differ most,
    then the worst and some without a score, and a random sample drawn by `seed`.
    `texts`: without them the file has no question, gold, answer or remark of a judge, but ids, and names of files and
    columns. `redact`: columns of which nothing is in the file, neither their values nor their names; what judges say is
    left out with a text they saw. With either, the command that scored a run and its condition for rows are left out.
    `overwrite`: replace any file; else only a report on the same systems is replaced. `bundle`: the file of a bundle of
    these runs (`karat.bundle`), which the report names by its digest.

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
    check_page_path(path)
    if not systems or rows < 0:
        raise SpecError(f"expected at least one run and 0 rows or more, found {len(systems)} and {rows}")
    wanted = list_specs(metrics)
    runs = open_systems(systems, wanted)
    redaction = Redaction(texts, (redact,) if isinstance(redact, str) else tuple(redact))
    redaction.check(runs, by, {scored.column for metric in share_metrics(runs, wanted) for scored in metric.by_run})
    if not overwrite:
        refuse_replacing(path, [run.name for run in runs])
    if len(runs) == 1 and on is not None and human is None:
        raise SpecError("on is for comparing runs, and for labels by people (human, --human)")
    if len(runs) == 1 and margin is not None:
        raise SpecError("margin is for comparing runs: at least two are expected")
    people = Labels.of(human, label_map)
    labels = None if people is None else people.split_on(on)[0]
    inference = _inference(runs, confidence, seed)
    several = len(runs) > 1
    how = How(by=by, cluster=cluster, human=people, allow_different=allow_different)
    cited = "" if bundle is None else cite_bundle(bundle, runs)
    matched = match(runs, wanted, on, **how)
    matched = replace(matched, notes=(*matched.notes, *cite_digest(cited)))
    compared = compare_matched(matched, inference, labels, margin=margin) if several else None
    ranked = rank_matched(replace(matched, slices=None), inference) if len(runs) > 2 else None
    content = Content(matched, inference, redaction, compared, ranked, by)
    options: dict[str, Any] = {
        "metric": wanted,
        "by": by,
        "cluster": cluster,
        "on": on,
        "confidence": confidence,
        "seed": seed,
        "margin": spell_margins(margin),
    }
    options |= {"allow-different": allow_different, **_human_options(people)}
    kicker = f"Report on {len(matched.rows)} rows{f' · bundle {cited}' if cited else ''}"
    page = make_document(title or _list(matched.names), kicker, content.head(), content.answers(rows, options),
                         matched.names)  # fmt: skip
    write_text(path, page)
    return path


def _inference(runs: Sequence[Run], confidence: float | None, seed: int | None) -> Inference:
    """The inference of all intervals and tests; by default as in the scoring of a single run."""
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
    """Names as a phrase: A, B and C; of many their number."""
    if len(names) > 6:
        return f"{len(names)} systems"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
