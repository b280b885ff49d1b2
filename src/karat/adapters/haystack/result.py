"""`EvaluationRunResult`: the inputs and the scores of an evaluation run, as reports."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from haystack.evaluation import EvaluationRunResult as HaystackResult

from karat.core.errors import ColumnError, RowError, did_you_mean
from karat.data.formats.spreadsheet import is_for_spreadsheets, show_formula_texts


class EvaluationRunResult(HaystackResult):
    """A run of Haystack's that overwrites nothing: columns of one name, and runs of one name or two lengths are errors.

    An unscored row stays None. A file that cannot be written is an error.

    >>> outcome = {"em": {"individual_scores": [1, 0], "score": 0.5}}
    >>> run = EvaluationRunResult("baseline", {"question": ["Capital?", "River?"]}, outcome)
    >>> run.aggregated_report()
    {'metrics': ['em'], 'score': [0.5]}
    >>> run.detailed_report()
    {'question': ['Capital?', 'River?'], 'em': [1, 0]}
    """

    def __init__(self, run_name: str, inputs: dict[str, list[Any]], results: dict[str, dict[str, Any]]) -> None:
        super().__init__(run_name, inputs, results)
        for metric in results.keys() & inputs.keys():
            raise ColumnError(f"{metric!r} is an input and a metric; give one of them another name")

    def detailed_report(self, output_format: Any = "json", csv_file: Any = None) -> Any:
        """The inputs and the score of each metric for each row; if one score of a metric is a float, all are."""
        columns = dict(self.inputs)
        for metric, outputs in self.results.items():
            scores = outputs["individual_scores"]
            if any(isinstance(score, float) for score in scores):
                scores = [None if score is None else float(score) for score in scores]
            columns[metric] = scores
        return self._handle_output(columns, output_format, csv_file)

    def comparative_detailed_report(
        self,
        other: HaystackResult,
        keep_columns: Sequence[str] | None = None,
        output_format: Any = "json",
        csv_file: Any = None,
    ) -> Any:
        """The scores of both runs for each row; the names of columns begin with the run's name.

        The inputs come from this run, except `keep_columns`, which come from both runs.
        """
        if isinstance(other, HaystackResult):
            if self.run_name == other.run_name:
                raise ColumnError(f"both runs are named {self.run_name!r}; give one of them another name")
            if len({len(column) for run in (self, other) for column in run.inputs.values()}) > 1:
                raise RowError(
                    f"{self.run_name!r} and {other.run_name!r} have different lengths and cannot be compared"
                )
            for name in keep_columns or ():
                if name not in self.inputs:
                    raise ColumnError(f"keep_columns: there is no input {name!r}{did_you_mean(name, self.inputs)}")
            kept = set(keep_columns or ())
            ours, theirs = ({f"{run.run_name}_{name}" for name in {*run.results, *kept}} for run in (self, other))
            for name in theirs & {*ours, *self.inputs}:
                raise ColumnError(f"two columns would be named {name!r}; give a run another name")
        return super().comparative_detailed_report(other, list(keep_columns or ()), output_format, csv_file)

    @staticmethod
    def _handle_output(data: dict[str, list[Any]], output_format: Any = "csv", csv_file: Any = None) -> Any:
        """What a report returns; a CSV file is written here, since Haystack's returns its errors as a text."""
        if output_format != "csv" or not csv_file:
            return HaystackResult._handle_output(data, output_format, csv_file)  # noqa: SLF001
        rows = [list(data), *map(list, zip(*data.values(), strict=True))]
        if is_for_spreadsheets():
            rows = [[show_formula_texts([cell])[0] if isinstance(cell, str) else cell for cell in row] for row in rows]
        with Path(csv_file).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        return f"Data successfully written to {csv_file}"
