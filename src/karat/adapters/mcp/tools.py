"""What an agent can ask of karat: runs, their rows, comparisons, sample sizes and the scores of a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from karat.core.errors import DataError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.metric.spec import names_in, parse
from karat.data.storage.addresses import is_address
from karat.judges.rubric import own_judges
from karat.runs.compare.compare import compare
from karat.runs.compare.rows_needed import plan_rows
from karat.runs.compare.run_values import read_values
from karat.runs.compare.scored_rows import find_rows
from karat.runs.match.systems import open_system
from karat.runs.scoring.pipeline import score
from karat.runs.store.folders import run_names
from karat.runs.store.kept import list_runs
from karat.runs.store.run import Run

_MOST = 100  # rows in one reply


class Tools:
    """The tools: an agent gets their names, parameters and docstrings.

    Files are below `folder`; runs are also in `$KARAT_RUNS`, by name. Unless `judges`, metrics that ask a
    model or load one are refused.
    """

    def __init__(self, folder: Path, *, judges: bool = False) -> None:
        self.folder = folder.resolve()
        self.judges = judges

    def list_runs(self) -> dict[str, Any]:
        """List the runs that are kept: name, when it was begun, number of rows, state, and the value of each metric."""
        return {"runs": [run.as_dict() for run in list_runs()]}

    def show_run(self, run: str) -> dict[str, Any]:
        """Show a run: its manifest (what was scored, from which data, how) and its values with their intervals."""
        opened = self._open(run)
        return {"manifest": asdict(opened.manifest), "values": read_values(opened).values}

    def show_rows(
        self, run: str, metric: str = "", order: Literal["worst", "best", "unscored"] = "worst", count: int = 10
    ) -> dict[str, Any]:
        """Show at most `count` rows of a run (up to 100): question, gold, answer, scores, why a row is unscored.

        The worst rows by `metric` come first, by default by the run's first metric.
        """
        opened = self._open(run)
        spec = opened.manifest.metric(metric or opened.specs[0]).spec
        rows = find_rows(opened, spec, order, min(count, _MOST))
        return {"run": opened.name, "metric": spec, "order": order, "rows": [row.as_dict() for row in rows]}

    def compare(
        self, systems: list[str], metrics: list[str] | None = None, by: str | None = None, on: str | None = None
    ) -> dict[str, Any]:
        """Compare two or more systems on the same rows, each with the first: differences, intervals, tests, verdicts.

        A system is a run or a file of scored rows. `metrics`: by default all that they share. `by`: a column; compare
        for each of its values too. `on`: the id that matches their rows.
        """
        return self._compare(systems, metrics or (), by=by, on=on)

    def flipped_rows(self, first: str, second: str, metric: str, count: int = 10) -> dict[str, Any]:
        """Show the rows on which `second` does worst against `first`, then those on which it does best.

        At most `count` of each, up to 50. A system is a run or a file of scored rows.
        """
        compared = self._compare([first, second], [metric], flipped=min(count, _MOST // 2))
        return {"systems": compared["systems"], "flipped": compared["flipped"]}

    def power(self, runs: list[str], difference: float, power: float = 0.8, level: float = 0.05) -> dict[str, Any]:
        """Say how many rows show a difference between two systems, and how small a one the rows at hand show.

        `runs`: one run, or two, whose scores show how much the differences of rows vary. By metric.
        """
        if len(runs) not in {1, 2}:
            raise SpecError(f"runs: expected one run or two, found {len(runs)}")
        opened = [self._open(run) for run in runs]
        plans = plan_rows(
            opened[0] if len(opened) == 1 else (opened[0], opened[1]), difference, power=power, level=level
        )
        return {spec: plan.as_dict() for spec, plan in plans.items()}

    def score(
        self,
        file: str,
        metrics: list[str],
        gold: str | None = None,
        on: str | None = None,
        mapping: dict[str, str] | None = None,
        by: str | None = None,
        run: str | None = None,
    ) -> dict[str, Any]:
        """Score the answers in a file: each metric's value with its interval.

        `metrics` are specs such as exact_match or token_f1(normalize='none'). `gold`: a second file with the gold,
        joined by the column `on`. `mapping`: the column of a role, as {"reference": "answer"}. `by`: a column; also a
        value for each of its values. `run`: keep the run under this name, for show_run and compare.
        """
        chosen = [self._metric(spec) for spec in metrics]
        other = None if gold is None else self._file(gold)
        result = score(self._file(file), chosen, gold=other, on=on, map=mapping, by=by, run=run)
        return result.as_dict()

    def _compare(self, systems: list[str], metrics: Any, **options: Any) -> dict[str, Any]:
        if len(systems) < 2:
            raise SpecError(f"systems: expected at least two, found {len(systems)}")
        return compare(*(self._open(system) for system in systems), metrics=metrics, **options).as_dict()

    def _open(self, name: str) -> Run:
        """A run by its name, or a run or a file of scored rows below the folder."""
        return open_system(name if name in run_names() else self._path(name, run_names()))

    def _file(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            near = did_you_mean(name, [each.name for each in path.parent.glob("*")] if path.parent.is_dir() else [])
            raise DataError(f"{name} is not a file in {self.folder}{near}")
        return path

    def _path(self, name: str, runs: list[str] | None = None) -> Path:
        """A path below the folder; `DataError` for any other."""
        path = (self.folder / name).resolve()
        if is_address(name) or not path.is_relative_to(self.folder):
            raise DataError(f"{name}: only files below {self.folder} are read")
        if runs is not None and not path.exists():
            raise DataError(f"there is no run and no file {name!r}{did_you_mean(name, runs)}")
        return path

    def _metric(self, spec: str) -> Metric:
        """A metric that may be computed here."""
        for name in names_in(spec):  # before a file is read
            judge = name.removeprefix("judge:")
            if judge != name and judge not in own_judges():
                raise SpecError(f"{spec}: there is no judge {judge!r}{did_you_mean(judge, own_judges())}")
        metric = parse(spec)
        if not self.judges and (metric.asks_model or metric.definition.remote):
            raise SpecError(f"{metric.spec} uses a model: the server was started without --allow-models")
        return metric
