"""Write the pages that follow from the definitions: metrics.md, edge-cases.md and cli.md of docs/reference.

Run it after changing a metric or a command; the tests fail where a page is stale.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from karat.cli.main import main
from karat.core.columns.kinds import TEXT, TEXTS
from karat.core.metric.metric import Metric
from karat.core.metric.registry import all_metrics

DOCS = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Written by scripts/docs.py from the definitions; edit those. -->"

LABELS = {"labels": ["Paris", "Lyon"]}
NEEDED: dict[str, dict[str, Any]] = {
    "matches_regex": {"pattern": "Paris"},
    "label_precision": LABELS,
    "label_recall": LABELS,
    "label_f": LABELS,
}
CASES = {
    "equal": ("Paris", ["Paris"]),
    "other case": ("paris", ["Paris"]),
    "full stop": ("Paris.", ["Paris"]),
    "second reference": ("Paris", ["Lyon", "Paris"]),
    "1 in 15": ("15", ["1"]),
    "thousands": ("1,234", ["1234"]),
    "-5 for 5": ("-5", ["5"]),
    "only articles": ("the", ["a"]),
    "both empty": ("", [""]),
    "empty prediction": ("", ["Paris"]),
    "empty reference": ("Paris", [""]),
    "no reference": ("Paris", []),
    "null": (None, ["Paris"]),
}


def pages() -> dict[str, str]:
    """The text of each generated page, by name."""
    return {"metrics.md": metrics_page(), "edge-cases.md": edge_case_page(), "cli.md": cli_page()}


def metrics_page() -> str:
    """Every metric: summary, columns, settings, range, source, example."""
    parts = ["# Metrics", "", NOTE, "", "| metric | is |", "|---|---|"]
    found = [metric for metric in all_metrics() if metric.definition.function.__module__.startswith("karat.")]
    parts += [f"| [`{metric.name}`](#{metric.name}) | {metric.definition.summary} |" for metric in found]
    for metric in found:
        parts += ["", *_section(metric)]
    return "\n".join(parts) + "\n"


def _section(metric: Metric) -> list[str]:
    definition = metric.definition
    text, _, example = definition.documentation.partition(">>> ")
    columns = ", ".join(f"`{role}` ({kind.name})" for role, kind in definition.columns.items())
    settings = [
        f"| `{setting.name}` | `{setting.default!r}` | {', '.join(f'`{c!r}`' for c in setting.choices)} |"
        for setting in definition.settings.values()
    ]
    low, high = ("−∞" if definition.low is None else f"{definition.low:g}"), definition.high
    return [
        f"## {metric.name}",
        "",
        text.strip(),
        "",
        "```python",
        f">>> from karat.metrics import {metric.name}",
        *f">>> {example}".strip().splitlines(),
        "",
        "```",
        "",
        f"Columns: {columns}."
        + (f" Also found as: {', '.join(f'`{a}`' for a in definition.aliases)}." if definition.aliases else ""),
        f"Range: {low} to {'∞' if high is None else f'{high:g}'}, {definition.direction}.",
        f"Version {definition.version}.",
        f"Source: {definition.source}.",
        *(["", "| setting | default | choices |", "|---|---|---|", *settings] if settings else []),
    ]


def edge_case_page() -> str:
    """What every metric of texts gives where it is not obvious."""
    found = [
        metric.using(**NEEDED.get(metric.name, {}))
        for metric in all_metrics()
        if set(metric.definition.columns.values()) <= {TEXT, TEXTS}
        and metric.definition.function.__module__.startswith("karat.")
        and not metric.definition.remote  # what a model says depends on the model
    ]
    heads = [f"{name}<br>`{prediction!r}`<br>`{reference!r}`" for name, (prediction, reference) in CASES.items()]
    lines = [
        "# Edge cases",
        "",
        NOTE,
        "",
        "What each metric gives, with its default settings, for a prediction and its references.",
        "Empty cells are unscored rows.",
        "",
        "| metric | " + " | ".join(heads) + " |",
        "|---|" + "---|" * len(heads),
        *(f"| `{metric.spec}` | {' | '.join(_scores(metric))} |" for metric in found),
    ]
    return "\n".join(lines) + "\n"


def _scores(metric: Metric) -> list[str]:
    predictions, references = zip(*CASES.values(), strict=True)
    lists, choices = pa.array(references), pa.array([["Paris", "Lyon"]] * len(references))
    given = {"prediction": pa.array(predictions), "reference": lists, "references": lists, "choices": choices}
    scores = metric(**{role: given[role] for role in metric.definition.columns})
    return ["" if score is None else f"{score:.4g}" for score in scores.to_pylist()]


def cli_page() -> str:
    """The help of every command."""
    parts = ["# Command line", "", NOTE, "", textwrap.dedent(inspect.getdoc(_module()) or "")]
    context = click.Context(main, info_name="karat", terminal_width=100, **main.context_settings)
    for name, command in [("", main), *sorted(main.commands.items())]:
        inner = click.Context(command, info_name=name, parent=context) if name else context
        parts += ["", f"## {f'karat {name}'.strip()}", "", "```", command.get_help(inner), "```"]
    return "\n".join(parts) + "\n"


def _module() -> object:
    import karat.cli.main as module  # noqa: PLC0415  (the name `main` is the command's)

    return module


if __name__ == "__main__":
    for page, text in pages().items():
        (DOCS / page).write_text(text, encoding="utf-8")
        print(f"docs/reference/{page}")
