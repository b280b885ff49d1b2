"""A result on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from karat.runs.scoring.result import Result
from karat.stats.value import Value, format_value

REASONS = 8  # why rows are unscored, the most frequent first; a judge's errors may all differ
WIDE = 1_000  # columns of a pipe: nothing is cut there
_QUERIES = ("queries without results", "queries without judgements")
_NOTES = {"comments": "comment lines", "duplicates": "documents that a query has twice"}


def console() -> Console:
    """Standard output: coloured and wrapped on a terminal, plain and whole in a pipe."""
    said = Console(highlight=False)
    return said if said.is_terminal else Console(highlight=False, width=WIDE)


def show(result: Result, by: str | None) -> None:
    """Print the mapping, the values with their intervals, and what is missing."""
    out = console()
    pairs = "  ".join(f"{role} ← {column}" for role, column in result.mapping.items())
    out.print(pairs, style="dim", markup=False)
    if result.joined is not None:
        for line in _said_of_join(result):
            out.print(line, markup=False)
    failed = any(value.failed for value in result.values.values())
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("metric")
    if by is not None:
        table.add_column(Text(by))
    for name in (
        "value",
        f"{100 * result.confidence:g} % interval",
        "n",
        "scored",
        "failed",
    ):
        table.add_column(name, justify="right")
    if failed:
        table.add_column("worst – best", justify="right")
    for spec, value in result.values.items():
        table.add_row(Text(spec), *([] if by is None else [""]), *_cells(value, bounds=failed))
        for label, group in result.groups.get(spec, {}).items():
            table.add_row("", Text(label), *_cells(group, bounds=failed))
    out.print(table)
    if failed:
        out.print("failed: rows without a score; worst – best: the value had each been scored so", style="dim")
        for line in _said_of_reasons(result):
            out.print(line, markup=False, style="dim")
    for spec, counts in result.counts.items():
        for name, counted in counts.items():
            said = ", ".join(f"{label} {count}" for label, count in sorted(counted.items()))
            out.print(f"{spec}.{name}: {said}", markup=False, style="dim")
    for line in _said_of_files(result):
        out.print(line, style="dim", markup=False)


def _said_of_files(result: Result) -> Iterator[str]:
    if result.output is not None:
        yield f"rows written to {result.output}"
    if result.run is not None:
        yield f"run {result.run.name} is kept in {result.run.path}"


def _said_of_join(result: Result) -> Iterator[str]:
    """The ids that one side only has; of retrieval also what was read, and what nobody judged."""
    joined = result.joined or {}
    ranked = "retrieved" in result.mapping
    missing, unknown = _QUERIES if ranked else ("gold without prediction", "predictions without gold")
    yield "  ".join(
        f"{words}: {joined[kind]}"
        + (f" (such as {', '.join(map(str, joined[f'{kind}_ids'][:3]))})" if joined[kind] else "")
        for kind, words in (("missing", missing), ("unknown", unknown))
    )
    for side, file in (("prediction", "run"), ("reference", "qrels")):
        if noted := [f"{_NOTES[kind]}: {n}" for kind, n in joined.get(side, {}).items() if n]:
            yield f"{file}: {'  '.join(noted)}"
    if joined.get("unjudged"):
        yield f"{joined['unjudged']} of {joined['retrieved']} retrieved documents are not judged: see -m judged@10"


def _said_of_reasons(result: Result) -> Iterator[str]:
    """Why rows are unscored, once where it is the same for all metrics."""
    same = all(reasons == next(iter(result.reasons.values())) for reasons in result.reasons.values())
    for spec, reasons in list(result.reasons.items())[: 1 if same else None]:
        told = sorted(reasons.items(), key=lambda each: -each[1])
        for reason, count in told[:REASONS]:
            yield (
                f"{reason} in {count} of {result.n} rows" if same else f"{spec}: {reason} in {count} of {result.n} rows"
            )
        if rest := told[REASONS:]:
            yield f"{len(rest)} more reasons in {sum(count for _, count in rest)} of {result.n} rows"


def _cells(value: Value, *, bounds: bool) -> list[str]:
    interval = _range(value.low, value.high)
    cells = [format_value(value.value), interval, f"{value.n}", f"{value.scored}", f"{value.failed}"]
    return [*cells, _range(value.worst, value.best)] if bounds else cells


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None and high is None else f"{format_value(low)} – {format_value(high)}"
