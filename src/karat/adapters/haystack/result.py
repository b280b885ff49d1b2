"""`EvaluationRunResult`: the inputs and the scores of an evaluation run, as reports."""

import csv
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from haystack import logging
from haystack.evaluation import EvaluationRunResult as HaystackResult

from karat.core.errors import ColumnError, RowError, SpecError, did_you_mean
from karat.core.lazy import import_extra
from karat.data.formats.spreadsheet import is_for_spreadsheets, show_formula_texts

logger = logging.getLogger(__name__)

Columns = dict[str, list[Any]]


class EvaluationRunResult(HaystackResult):
    """The inputs and the outputs of an evaluation run, which is a run of Haystack's too.

    `inputs`: columns by name, of the same length. `results`: the output of each evaluator by its name, of which `score`
    and `individual_scores` are used. Raises a `ValueError` if one is missing, lengths differ, or two names are equal.

    >>> outcome = {"em": {"individual_scores": [1, 0], "score": 0.5}}
    >>> run = EvaluationRunResult("baseline", {"question": ["Capital?", "River?"]}, outcome)
    >>> run.aggregated_report()
    {'metrics': ['em'], 'score': [0.5]}
    >>> run.detailed_report()
    {'question': ['Capital?', 'River?'], 'em': [1, 0]}
    """

    def __init__(self, run_name: str, inputs: dict[str, list[Any]], results: dict[str, dict[str, Any]]) -> None:
        self.run_name = run_name
        self.inputs = deepcopy(inputs)
        self.results = deepcopy(results)
        if not inputs:
            raise ColumnError("No inputs provided.")
        lengths = {len(column) for column in inputs.values()}
        if len(lengths) > 1:
            raise RowError("Lengths of the inputs should be the same.")
        for metric, outputs in results.items():
            if "score" not in outputs:
                raise ColumnError(f"Aggregate score missing for {metric}.")
            if "individual_scores" not in outputs:
                raise ColumnError(f"Individual scores missing for {metric}.")
            if {len(outputs["individual_scores"])} != lengths:
                raise RowError(
                    f"Length of individual scores for '{metric}' should be the same as the inputs. "
                    f"Got {len(outputs['individual_scores'])} but expected {lengths.pop()}."
                )
            if metric in inputs:
                raise ColumnError(f"{metric!r} is an input and a metric; give one of them another name")

    def aggregated_report(self, output_format: str = "json", csv_file: str | Path | None = None) -> Any:
        """The score of each metric.

        `output_format`: `"json"` returns a dict of lists, `"df"` a pandas frame; `"csv"` writes `csv_file` and returns
        a message. Raises a `ValueError` for another format or no `csv_file`, an `OSError` if it cannot be written.
        """
        scores = {metric: outputs["score"] for metric, outputs in self.results.items()}
        return _report({"metrics": list(scores), "score": list(scores.values())}, output_format, csv_file)

    def detailed_report(self, output_format: str = "json", csv_file: str | Path | None = None) -> Any:
        """The inputs, and the score of each metric for each row; formats as in `aggregated_report`."""
        return _report(_details(self), output_format, csv_file)

    def comparative_detailed_report(
        self,
        other: HaystackResult,
        keep_columns: Sequence[str] | None = None,
        output_format: str = "json",
        csv_file: str | Path | None = None,
    ) -> Any:
        """The scores of both runs for each row; names of columns begin with the run's name.

        The inputs are those of this run, except `keep_columns`, which come from both runs. Formats as in
        `aggregated_report`. Raises a `TypeError` if `other` is no run, a `ValueError` for runs of the same name or of
        unequal length and for a column in `keep_columns` that is not an input.
        """
        if not isinstance(other, HaystackResult):
            raise TypeError("Comparative scores can only be computed between EvaluationRunResults.")
        if self.run_name == other.run_name:
            raise ColumnError(f"both runs are named {self.run_name!r}; give one of them another name")
        if self.inputs.keys() != other.inputs.keys():
            logger.warning("The runs have different inputs; those of '{run_name}' are used.", run_name=self.run_name)
        for name in keep_columns or ():
            if name not in self.inputs:
                raise ColumnError(f"keep_columns: there is no input {name!r}{did_you_mean(name, self.inputs)}")
        shared = self.inputs.keys() - set(keep_columns or ())
        ours, theirs = _details(self), _details(other)
        columns = {name if name in shared else f"{self.run_name}_{name}": ours[name] for name in ours}
        for name in [name for name in theirs if name not in shared]:
            longer = f"{other.run_name}_{name}"
            if longer in columns:
                raise ColumnError(f"two columns would be named {longer!r}; give a run another name")
            columns[longer] = theirs[name]
        if len({len(column) for column in columns.values()}) > 1:
            raise RowError(f"'{self.run_name}' and '{other.run_name}' have different lengths and cannot be compared")
        return _report(columns, output_format, csv_file)


def _details(run: HaystackResult) -> Columns:
    """The inputs and scores; if one score of a metric is a float, all are."""
    columns = dict(run.inputs)
    for metric, outputs in run.results.items():
        scores = list(outputs["individual_scores"])
        if any(isinstance(score, float) for score in scores):
            scores = [None if score is None else float(score) for score in scores]
        columns[metric] = scores
    return columns


def _report(columns: Columns, output_format: str, csv_file: str | Path | None) -> Any:
    if output_format == "json":
        return columns
    if output_format == "df":
        return import_extra("pandas", extra="pandas", need="output_format='df'").DataFrame(columns)
    if output_format != "csv":
        raise SpecError(f"Invalid output format '{output_format}' provided. Choose from 'json', 'csv', or 'df'.")
    if not csv_file:
        raise SpecError("A file path must be provided in 'csv_file' parameter to save the CSV output.")
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    if is_for_spreadsheets():
        rows = [[show_formula_texts([cell])[0] if isinstance(cell, str) else cell for cell in row] for row in rows]
    with Path(csv_file).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return f"Data successfully written to {csv_file}"
