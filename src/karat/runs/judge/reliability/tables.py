"""What verdicts vary by, and what judges are worth together, as figures with names and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from karat.runs.judge.reliability.panel import JudgePanel
from karat.runs.table.table import Table
from karat.stats.reliability.instrument import Instrument
from karat.stats.value import Estimate, format_value

PANEL = "judges together"


def component_table(name: str, instrument: Instrument) -> Table:
    """The components of variance of the verdicts on a row, and their parts in the variance of the mean."""
    components = instrument.components
    whole = sum(components.variances.values())
    parts = components.parts(components.rows, components.levels, components.repeats)
    total = sum(parts.values())
    rows = [
        [name, format_value(each), _percent(each, whole), _percent(parts[name], total)]
        for name, each in components.variances.items()
    ]
    notes = [f"one verdict on each of {components.rows} rows: the mean ± {instrument.single:.3f}"]
    if not components.repeated:
        notes.append("repeat: with what rows, prompts and judges do only together; --ask 3 tells them apart")
    if components.negative:
        notes.append(f"estimates below 0, taken for 0: {', '.join(components.negative)}")
    columns = ["variance", "of one verdict", "share", "share in the mean's"]
    return replace(Table.of_texts(columns, rows), caption=f"What verdicts of {name} vary by", notes=tuple(notes))


def list_panel(panel: JudgePanel) -> Iterator[tuple[str, Estimate]]:
    """The name of each figure of several judges together, and the figure."""
    if (errors := panel.errors) is not None:
        yield "correlation of errors", errors.correlation
        yield "effective votes", errors.effective
        for name, each in zip(panel.judges, errors.errors, strict=True):
            yield f"error of {name}", each
        yield "error of all together", errors.together
        yield "error of the best alone", errors.alone
        yield "… more than all together", errors.difference
    if panel.instrument is not None:
        yield from list_means(panel.instrument)


def list_means(instrument: Instrument) -> Iterator[tuple[str, Estimate]]:
    """The mean of verdicts with its intervals."""
    yield "mean score, other rows", instrument.rows_alone
    if facets := instrument.components.facets:
        yield f"mean score, other rows and {' and '.join(f'{name}s' for name in facets)}", instrument.value


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"
