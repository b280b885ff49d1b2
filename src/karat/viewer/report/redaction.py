"""What a report leaves out: all texts, or everything that comes from some columns, their names too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.runs.store.run import Run
from karat.viewer.rows.columns import RunColumns

LEFT_OUT = "(left out)"
_TOLD = ("name", "created", "n", "metrics", "mapping", "call", "settings", "sources", "versions", "models")
_UNREAD = {"raw", "input_tokens", "output_tokens", "cost", "latency", "trace_id"}  # of a judge, for no reader


@dataclass(frozen=True)
class Redaction:
    """Which texts and columns a report leaves out."""

    texts: bool
    columns: tuple[str, ...]

    def check(self, runs: Sequence[Run], by: str | None, scores: Collection[str]) -> None:
        """Raise `ColumnError` for a column that no run has, `SpecError` for the slices' column or the scores'."""
        names = [name for run in runs for name in run.schema.names]
        for column in self.columns:
            if column not in names:
                raise ColumnError(f"there is no column {column!r} to leave out{did_you_mean(column, names)}")
            if column in scores:
                raise SpecError(f"column {column!r} holds the scores of a metric: report others (metrics, -m)")
        if by is not None and self.hides_values(runs, by):
            raise SpecError(f"slices by {by!r} would show what is to be left out: choose other slices, or none")

    def hides(self, column: str | None) -> bool:
        """Whether the texts of a column are left out."""
        return not self.texts or column in self.columns

    def hides_values(self, runs: Iterable[Run], column: str) -> bool:
        """Whether values of a column would show what is left out: it is redacted, a text, or may quote one."""
        return column in self.columns or any(self._shows(run, column) for run in runs)

    def _shows(self, run: Run, column: str) -> bool:
        quotes = self.hides_quotes(run) and column in RunColumns.of(run).added
        return quotes or (not self.texts and column in _texts(run))

    def cut(self, run: Run) -> RunColumns:
        """The columns of a run that the report reads: those with a role, and no others beside a row."""
        columns, quotes = RunColumns.of(run), self.hides_quotes(run)
        shown = {
            role: None if name is None or self.hides(name) else name
            for role in ("question", "prediction", "reference")
            for name in (getattr(columns, role),)
        }
        details = {
            spec: {} if quotes else {key: name for key, name in own.items() if self._tells(key, name)}
            for spec, own in columns.details.items()
        }
        reason = None if quotes else columns.reason
        return replace(columns, **shown, contexts=None, reason=reason, details=details, others=False)

    def _tells(self, detail: str, column: str) -> bool:
        return detail not in _UNREAD and column not in self.columns

    def clean_manifest(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """How a run was made, without conditions and names of columns that are left out."""
        cleaned = {name: self._clean_part(manifest[name]) for name in _TOLD}
        if self.hides_condition:
            cleaned["call"] = LEFT_OUT if manifest.get("call") else ""
            cleaned["settings"] = {
                name: LEFT_OUT if name == "where" and value else value for name, value in cleaned["settings"].items()
            }
        return cleaned

    def _clean_part(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self.clean(name): self._clean_part(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean_part(each) for each in value]
        return self.clean(value) if isinstance(value, str) else value

    def hides_quotes(self, run: Run) -> bool:
        """Whether what judges and metrics say is left out, because it may quote a text that is."""
        return any(map(self.hides, _texts(run)))

    @property
    def hides_condition(self) -> bool:
        """Whether the condition for rows (SQL) is left out: it may hold a value, and SQL has many ways to say so."""
        return not self.texts or bool(self.columns)

    def clean(self, text: object) -> str:
        r"""A text about a run; nothing of it where it names a column that is left out.

        >>> Redaction(True, ("name",)).clean("rows matched by Name")
        '(left out)'
        """
        words = (rf"(?<!\w){re.escape(column)}(?!\w)" for column in self.columns)
        named = any(re.search(word, str(text), re.IGNORECASE) for word in words)
        return LEFT_OUT if named else str(text)


def _texts(run: Run) -> set[str]:
    """The columns that metrics read, and the columns of questions, gold, answers and contexts."""
    return {*run.manifest.mapping.values(), *RunColumns.of(run).roles}
