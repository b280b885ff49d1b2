"""A result, and a comparison, as lines and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from karat.cli.options.item_table import print_items
from karat.cli.options.screen import Screen, Tint, open_screen
from karat.core.columns.arrow import lists_text
from karat.metrics.names.legend import name_recipes, tell_apart
from karat.runs.columns.lengths import list_cautions
from karat.runs.scoring.result import Result

if TYPE_CHECKING:
    from karat.runs.compare.comparison import Compared
    from karat.stats.paired.comparison import ComparisonVerdict

LABELS = "labels"  # of several answers to a question; all others of a list are items, such as fields
REASONS = 8  # why rows are unscored, the most frequent first; a judge's errors may all differ
_TINTS: Mapping[ComparisonVerdict, Tint] = {"better": "green", "worse": "red"}
_UNMATCHED = ("missing", "unknown")
_QUERIES = ("queries without results", "queries without judgements")
_NOTES = {"comments": "comment lines", "duplicates": "documents that a query has twice"}


def print_result(result: Result, by: str | None) -> None:
    """Print the mapping, the values with their intervals, and what is missing."""
    screen = open_screen()
    named = {role for metric in result.metrics for role in metric.definition.inputs.named}
    if mapping := [f"{role} ← {column}" for role, column in result.mapping.items() if role not in named]:
        tools = f"{' and '.join(result.tools)}: " if result.tools else ""
        screen.line(tools + "  ".join(mapping), "dim")
    clusters = None if result.clusters is None or result.clusters.named else result.clusters
    for about in filter(None, (result.gathered, clusters, result.gold_patch)):
        screen.line(str(about), "dim")
    if result.joined is not None:
        for line in _describe_join(result):
            screen.line(line)
    missing = any(value.unscored for value in result.values.values())
    screen.table(result.values_table(), by)
    for line, tint in describe_values(result):
        screen.line(line, tint)
    if missing:
        screen.line("worst to best: the value if every unscored row had the worst, or the best, score", "dim")
        for line in _describe_reasons(result):
            screen.line(line, "dim")
    recipes = name_recipes({each.spec: each.recipe for each in result.metrics})
    for line in chain(recipes, tell_apart(result.values), _describe_counts(result)):
        screen.line(line, "dim")
    for metric in result.metrics:
        counts = result.counts.get(metric.spec, {})
        lists = [name for name, kind in metric.details.items() if lists_text(kind) and name != LABELS]
        print_items(screen, metric.spec, {name: counts.get(name, {}) for name in lists})
    if result.human is not None:
        _print_corrected(screen, result)
    if result.output is not None:
        screen.line(f"rows written to {result.output}", "dim")
    if result.run is not None:
        screen.line(f"run {result.run.name} is kept in {result.run.path}", "dim")


def print_comparison(compared: Compared, by: str | None) -> None:
    """Print the table, a sentence for each of its lines, and the rows of `--flipped`."""
    screen = open_screen()
    screen.line(f"{compared.n} rows, compared row by row, by {compared.by}", "dim")
    for note in (*compared.notes, *compared.citation):
        screen.line(note, "dim")
    screen.table(compared.table(), by)
    for finding in compared.findings:
        screen.line(f"{finding.heading}: {finding.sentence}", _TINTS.get(finding.verdict, ""))
        if finding.corrected_sentence is not None:
            tint = _TINTS.get(finding.verdict_by_people or "unclear", "")
            screen.line(f"{finding.heading}: {finding.corrected_sentence}", tint)
    if compared.flipped:
        from karat.cli.options.marked_rows import print_flips  # noqa: PLC0415  (only where rows are shown)

        print_flips(screen, compared.flipped, compared.systems[0])


def describe_values(result: Result) -> Iterator[tuple[str, Tint]]:
    """What is to be said of the values: how far judges were asked, and cautions; with the colour of each line."""
    for spec, stop in result.stops.items():
        yield f"{spec}: {stop}", ""
    if result.groups and any(stop.asked < stop.rows for stop in result.stops.values()):
        yield "slices: their intervals are for a number of rows that is fixed beforehand", "dim"
    for line in list_cautions(result.cautions):
        yield f"caution: {line}", "yellow"


def _print_corrected(screen: Screen, result: Result) -> None:
    """Whose labels correct the values, and what these are worth."""
    human = result.human or {}
    out = f"; {human['left_out']} more are of rows that were filtered out" if human["left_out"] else ""
    weighted = ", weighted by their column 'probability'" if human["weighted"] else ""
    annotators = f"{len(human['annotators'])} annotators" if len(human["annotators"]) > 1 else "one annotator"
    screen.line("")
    screen.line(
        f"labels by people: {human['source']}, {human['labelled']} of {result.n} rows, {annotators}{weighted}{out}"
    )
    for note in human.get("notes", ()):
        screen.line(note, "dim")
    groups = ((spec, *pair) for spec, each in result.corrected_groups.items() for pair in each.items())
    for spec, label, corrected in [*((spec, None, corrected) for spec, corrected in result.corrected.items()), *groups]:
        if label is None or corrected.value is None:
            screen.line(f"{spec if label is None else f'{spec}, {label}'}: {corrected.worth_in_words}", "dim")
    screen.line("corrected: the mean that people would give to all rows; no row without a label counts as wrong", "dim")


def _describe_counts(result: Result) -> Iterator[str]:
    """How often a judge returned each label, and how often a warning such as `truncated` is true of a row."""
    for metric in result.metrics:
        for name, counted in result.counts.get(metric.spec, {}).items():
            quiet = counted.keys() == {"false"} and not metric.definition.judge
            if not quiet and (name == LABELS or not lists_text(metric.details[name])):
                labels = [f"{label} {count}" for label, count in sorted(counted.items())]
                yield f"{metric.spec}.{name}: {counted['true'] if name == 'repaired' else ', '.join(labels)}"


def _describe_join(result: Result) -> Iterator[str]:
    """The ids that only one side has; for retrieval also what was read, and how many documents are not judged."""
    from karat.data.join.match import find_variants  # noqa: PLC0415  (loads DuckDB, which a join has loaded)

    joined = result.joined or {}
    ranked = "retrieved" in result.mapping
    missing, unknown = _QUERIES if ranked else ("gold without prediction", "predictions without gold")
    yield "  ".join(
        f"{words}: {joined[kind]}"
        + (f" (such as {', '.join(map(str, joined[f'{kind}_ids'][:3]))})" if joined[kind] else "")
        for kind, words in zip(_UNMATCHED, (missing, unknown), strict=True)
    )
    if variants := find_variants(*([str(each) for each in joined.get(f"{kind}_ids", ())] for kind in _UNMATCHED)):
        of_gold, of_prediction = map(ascii, variants)
        yield f"gold has {of_gold}, predictions {of_prediction}: ids are compared as text, and must be spelled alike"
    for side, file in (("prediction", "run"), ("reference", "qrels")):
        if noted := [f"{_NOTES[kind]}: {n}" for kind, n in joined.get(side, {}).items() if n and kind in _NOTES]:
            yield f"{file}: {'  '.join(noted)}"
    if joined.get("retrieved") and joined.get("unjudged"):
        yield f"{joined['unjudged']} of {joined['retrieved']} retrieved documents are not judged: see -m judged@10"


def _describe_reasons(result: Result) -> Iterator[str]:
    """Why rows are unscored; printed once where the reasons are the same for all metrics."""
    same = all(reasons == next(iter(result.reasons.values())) for reasons in result.reasons.values())
    for spec, reasons in list(result.reasons.items())[: 1 if same else None]:
        ordered = sorted(reasons.items(), key=lambda each: -each[1])
        for reason, count in ordered[:REASONS]:
            yield f"{'' if same else f'{spec}: '}{reason} in {count} of {result.n} rows"
        if rest := ordered[REASONS:]:
            yield f"{len(rest)} more reasons in {sum(count for _, count in rest)} of {result.n} rows"
