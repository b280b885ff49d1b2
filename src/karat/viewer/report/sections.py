"""What is read before the rows of a report and after them: verdict, values, differences, distributions, provenance."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.compare.comparison import Compared
from karat.runs.compare.finding import Finding
from karat.runs.match.systems import TableInMemory
from karat.runs.store.run import Run, ScoredFile
from karat.runs.table.histogram import Bar, count_bars, histogram
from karat.runs.table.html import element, show
from karat.runs.table.notebook import html_table
from karat.runs.table.svg import Axis
from karat.runs.table.table import Kind, Row, spell_value
from karat.runs.table.value_table import MetricValue, value_table
from karat.stats.aggregate import points
from karat.stats.value import spell
from karat.viewer.report.material import Material, cut_name
from karat.viewer.report.redaction import LEFT_OUT, Redaction, spell_alignment
from karat.viewer.report.values import SystemValue

_RECOMPUTED = ("cluster", "confidence", "seed")  # of a single run's values, which no other command has with them


def verdict_section(values: Sequence[SystemValue], compared: Compared | None, confidence: float) -> str:
    """The first finding as a sentence with its numbers, and the others of all rows as a list."""
    sentences: list[tuple[str, str, str]] = []
    if compared is None:
        sentences = [(each.spec, _spell(each), "unclear") for each in values if each.slice is None]
    for each in compared.findings if compared else ():
        if each.slice is None:
            sentences.append((each.metric, each.sentence, each.verdict))
            if text := each.corrected_sentence:
                sentences.append((each.metric, text, each.verdict_by_people or "unclear"))
    (metric, sentence, _), *others = sentences
    first = element("p", {"class": "standfirst"}, element("strong", None, show(metric)), ": ", show(sentence), ".")
    listed = (
        element("li", None, sign(kind) if compared else "", element("strong", None, show(name)), ": ", show(text))
        for name, text, kind in others
    )
    rest = element("ul", {"class": "verdicts"}, *listed) if others else ""
    level = f"Brackets hold {100 * confidence:g} % intervals."
    return first + rest + element("p", {"class": "note"}, show(level))


def sign(kind: str) -> str:
    """The sign of a verdict, beside words that say it too."""
    return element("span", {"class": f"verdict {kind}", "aria-hidden": "true"})


def _spell(each: SystemValue) -> str:
    value = each.value
    if value.value is None:
        return f"no value, {value.failed} of {value.n} rows have no score"
    missing = f"; {value.failed} have no score" if value.failed else ""
    shown, low, high = (spell_value(number, each.factor) for number in (value.value, value.low, value.high))
    caution = f"; but {each.caution}" if each.caution else ""
    return f"{shown}{' points' if each.factor > 1 else ''} [{low}, {high}] on {value.n} rows{missing}{caution}"


def value_section(material: Material, values: Sequence[SystemValue], remarks: Sequence[str]) -> str:
    """The values with their intervals, of each metric one system below the other, or one slice below the other.

    `remarks` are what a reader has to know of them.
    """
    several = len({each.system for each in values}) > 1
    bounds = any(each.value.failed for each in values)
    tables = []
    for limits in dict.fromkeys(each.bounds for each in values):
        rows, of_range = list[Row](), [each for each in values if each.bounds == limits]
        for spec in dict.fromkeys(each.spec for each in of_range):
            named = [
                MetricValue(spec, each.system if several else each.slice and cut_name(each.slice), each.value,
                            each.corrected, each.bounds)
                for each in of_range if each.spec == spec
            ]  # fmt: skip
            table = value_table(named, material.confidence, percent=True)
            rows += [Row((spec, *[""] * (len(table.columns) - 1)))] if several else []
            rows += table.rows
        tables.append(_scrolled(html_table(replace(table, rows=tuple(rows)), "Values")))
    notes = ["Each value is of all rows that the system has a score for."] if several else []
    if bounds:
        notes.append("Worst and best: the value had every row without a score the worst or the best one (dotted).")
    if material.compared is None and material.slice_note:
        notes.append(material.slice_note)
    if methods := dict.fromkeys(each.corrected.in_words for each in values if each.corrected is not None):
        notes.append(f"Corrected by people: the mean that people would give to all rows; {'; '.join(methods)}.")
    notes += [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]
    return _section("values", "Values", *tables, *map(_note, notes))


def difference_section(material: Material, redaction: Redaction) -> str:
    """The differences from the first system, of all rows and by slice; "" for a single run."""
    if material.compared is None:
        return ""
    drawn = (each for each in material.compared.findings if each.slice is None or each.slice in material.drawn_slices)
    named = (each if each.slice is None else replace(each, slice=cut_name(each.slice)) for each in drawn)
    compared, by = replace(material.compared, findings=tuple(named)), material.by
    first = compared.systems[0]
    tables = [_scrolled(html_table(table, "Differences")) for table in compared.tables()]
    family = compared.findings[0].family
    corrected = f", corrected for all {family} tests by Holm's method" if family > 1 else ""
    matched = spell_alignment(compared.by)
    notes = [
        f"Differences are those from {first}, on {compared.n} rows matched {matched}.",
        f"p is that of a paired test{corrected}.",
    ]
    notes += [material.slice_note] if material.slice_note else []
    notes += compared.notes
    missing = (each for each in compared.findings if each.slice and each.corrected and each.corrected.value is None)
    notes += [f"{each.heading}: {each.corrected_sentence}." for each in missing]
    turned = [f"{each.heading}: {each.sentence}." for each in compared.findings if each.slice and each.could_turn]
    title = "Differences" if by is None else f"Differences by {by}"
    return _section("differences", title, *tables, *(_note(redaction.clean(note)) for note in [*notes, *turned]))


def distribution_section(material: Material) -> str:
    """Of each metric how many rows have which score, and which difference from the first system."""
    compared, parts = material.compared, []
    for metric in material.scores:
        factor = points(material.bounds[metric.spec])
        shown = metric.scores * factor
        known = shown[np.isfinite(shown)]
        if not len(known):
            continue
        low, high = (None if end is None else end * factor for end in material.bounds[metric.spec])
        axis = Axis.over([float(known.min()) if low is None else low, float(known.max()) if high is None else high])
        pairs = zip(material.names, shown, strict=True)
        figures = [_scores_figure(metric.spec, name, own, axis) for name, own in pairs]
        for finding in compared.findings if compared else ():
            if finding.metric == metric.spec and finding.slice is None:
                difference = metric.scores[material.names.index(finding.system)] - metric.scores[0]
                figures.append(_difference_figure(finding, difference, minimize=metric.minimize))
        parts.append(element("h3", None, show(metric.spec)) + element("div", {"class": "columns"}, *figures))
    return _section("distributions", "How scores are spread", *parts)


def _scores_figure(spec: str, system: str, scores: Array, axis: Axis) -> str:
    missing = int(np.isnan(scores).sum())
    caption = f"{system}: rows by score" + (f"; {missing} without" if missing else "")
    return _figure(caption, histogram(count_bars(scores, axis), axis, f"{spec} of {system}, rows by score"))


def _difference_figure(finding: Finding, difference: Array, *, minimize: bool) -> str:
    """The differences other than zero, on an axis with zero in the middle."""
    found, minus = finding.comparison, f"{finding.system} minus {finding.first}"
    counts = f"rows won {found.wins}, lost {found.losses}; tied {found.ties}, which are not drawn"
    changed = difference[np.isfinite(difference) & (difference != 0)] * finding.scale
    if not len(changed):
        return _figure(f"{minus}: {counts}", "")
    axis = Axis.over([-np.abs(changed).max(), np.abs(changed).max()])
    drawn = [Bar(bar.low, bar.high, bar.count, _kind(bar, minimize=minimize)) for bar in count_bars(changed, axis)]
    return _figure(f"{minus}: {counts}", histogram(drawn, axis, f"{finding.metric}, {minus}, rows by difference"))


def _kind(bar: Bar, *, minimize: bool) -> Kind:
    return "better" if (bar.low + bar.high > 0) != minimize else "worse"


def provenance_section(runs: Sequence[Run], command: str | None, redaction: Redaction) -> str:
    """How each system was scored: signatures, data, mapping, settings, versions and cost."""
    parts = []
    for run in runs:
        facts = [element("dt", None, name) + element("dd", None, show(text)) for name, text in _facts(run, redaction)]
        parts.append(
            element(
                "div",
                None,
                element("h3", None, element("bdi", None, show(run.name))),
                element("dl", {"class": "facts"}, *facts),
            )
        )
    typed = (
        ""
        if command is None
        else _note("The same figures on a terminal, or with --json for programs:")
        + element("p", {"class": "command"}, element("code", None, show(command)))
    )
    return _section("provenance", "How this was measured", element("div", {"class": "columns"}, *parts), typed)


def _facts(run: Run, redaction: Redaction) -> Iterator[tuple[str, str]]:
    manifest, clean, condition = run.manifest, redaction.clean, redaction.hides_condition
    yield from (
        ("metric", each.signature or f"{each.spec} (a file does not say how it was scored)")
        for each in manifest.metrics
    )
    pairs = {
        "rows": "" if manifest.n is None else f"{manifest.n}",
        "scored": manifest.created,
        "read": ", ".join(f"{side} {clean(name)}" for side, name in manifest.sources.items()),
        "mapping": ", ".join(f"{clean(role)} ← {clean(column)}" for role, column in manifest.mapping.items()),
        "call": LEFT_OUT if condition and manifest.call else manifest.call,
        "settings": ", ".join(
            f"{name}={LEFT_OUT if condition and name == 'where' else clean(value)}"
            for name, value in manifest.settings.items()
            if value not in (None, [], {})
        ),
        "versions": ", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
        "models": ", ".join(f"{name} {_spell_use(value)}" for name, value in (manifest.models or {}).items()),
    }
    yield from ((name, text) for name, text in pairs.items() if text)


def _spell_use(value: object) -> str:
    return (
        ", ".join(map(str, value))
        if isinstance(value, list)
        else spell(value, ".4g")
        if isinstance(value, float)
        else str(value)
    )


def spell_command(material: Material, options: Mapping[str, object], redaction: Redaction) -> str | None:
    """The command that prints the same figures; None for rows in memory, and for a file, of which no command does.

    An option of a comparison may have several values, and True is a flag.
    """
    runs = material.runs
    if any(isinstance(run, TableInMemory) for run in runs):
        return None
    if material.compared is None:
        if isinstance(runs[0], ScoredFile) or any(options.get(name) is not None for name in _RECOMPUTED):
            return None
        options = {name: value for name, value in options.items() if name not in {"metric", "by"}}
    words = ["karat", *(["compare"] if material.compared else ["runs", "show"]), *(run.name for run in runs)]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None and each is not False:
                words += [f"--{name}"] if each is True else [f"--{name}", redaction.clean(each)]
    return shlex.join(words)


def _section(name: str, title: str, *content: str) -> str:
    heading = element("h2", {"id": name}, show(title))
    return element("section", {"aria-labelledby": name}, heading, *content)


def _note(text: str) -> str:
    return element("p", {"class": "note"}, show(text))


def _figure(caption: str, drawing: str) -> str:
    return element("figure", {"class": "figure"}, element("figcaption", None, show(caption)), drawing)


def _scrolled(table: str) -> str:
    return element("div", {"class": "scroll"}, table)
