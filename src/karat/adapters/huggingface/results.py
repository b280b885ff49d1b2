"""YAML as https://huggingface.co/docs/hub/eval-results defines it; JSON texts are YAML's scalars too."""

from __future__ import annotations

import json
from pathlib import Path

from karat.core.atomic import write_text
from karat.core.errors import DataError, SpecError
from karat.core.version import __version__
from karat.runs.compare.run_values import value_of
from karat.runs.match.systems import System, open_system
from karat.stats.value import format_value


def write_results(
    system: System,
    path: str | Path,
    *,
    dataset: str,
    task: str,
    metric: str | None = None,
    revision: str | None = None,
    source: str | None = None,
    user: str | None = None,
    notes: str | None = None,
) -> None:
    """Write the value of one metric as a result on a benchmark of the Hub, for `.eval_results/NAME.yaml` of a model.

    `dataset`: the id of the benchmark, such as `Idavidrein/gpqa`; `task`: its `task_id`; `revision`: its commit.
    `metric`: by default the only one of the run. `source`: the address of what proves the value, `user`: who ran it.
    `notes`: by default the metric, its interval, the rows and karat's version. The value is as karat gives it, 0 to 1
    for most metrics.

    Raises `SpecError` for several metrics without `metric` and for a `user` without a `source`, `DataError` for a
    metric without a value.
    """
    run = open_system(system)
    if metric is None and len(run.specs) > 1:
        raise SpecError(f"{run.name} has several metrics: which one is the result (metric)? {', '.join(run.specs)}")
    if user and not source:
        raise SpecError("user needs a source: the address of what proves the value")
    spec = run.manifest.metric(metric or run.specs[0]).spec
    value = value_of(run, spec)
    if value.value is None:
        raise DataError(f"{run.name}: {spec} has no value")
    level = 100 * run.manifest.settings.get("confidence", 0.95)
    interval = f"{level:g} % interval {format_value(value.low)} to {format_value(value.high)}"
    about = notes or f"{spec}, {interval}, {value.scored} of {value.n} rows, karat {__version__}"
    known = {"id": dataset, "task_id": task, "revision": revision}
    lines = ["- dataset:", *(f"    {name}: {_scalar(each)}" for name, each in known.items() if each is not None)]
    lines += [f"  value: {value.value!r}"]
    lines += [f"  date: {_scalar(run.manifest.created)}"] if run.manifest.created else []
    if source:
        lines += ["  source:", f"    url: {_scalar(source)}", *([f"    user: {_scalar(user)}"] if user else [])]
    write_text(Path(path), "\n".join([*lines, f"  notes: {_scalar(about)}", ""]))


def _scalar(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
