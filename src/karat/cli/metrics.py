"""``karat metrics``: the metrics and judges, from their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric


@click.command()
@click.argument("name", required=False)
def metrics(name: str | None) -> None:
    """List the metrics and judges, or explain the one called NAME."""
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.core.metric.registry import all_metrics  # noqa: PLC0415
    from karat.core.metric.spec import parse_all  # noqa: PLC0415
    from karat.judges import Judge, own_judges  # noqa: PLC0415

    screen = open_screen()
    if name is not None:
        found = [metric for metric in all_metrics() if metric.name == name] or parse_all(name)
        for line in "\n\n".join(explain(metric) for metric in found).splitlines():
            screen.line(line)
        return
    listed = [*all_metrics(), *map(Judge, own_judges())]
    width = max(len(metric.name) for metric in listed)
    for metric in listed:
        screen.line(metric.definition.summary, label=f"{metric.name:{width}}  ")


def explain(metric: Metric) -> str:
    """A metric's definition as text: columns, settings, range, source and signature."""
    definition = metric.definition
    low, high = ("-∞" if definition.low is None else f"{definition.low:g}"), definition.high
    lines = [
        metric.name + (f"  (also: {', '.join(definition.aliases)})" if definition.aliases else ""),
        "",
        definition.documentation,
        "",
        "columns",
        *(f"  {role}: {kind.name}{_describe_lists(metric, role)}" for role, kind in definition.columns.items()),
        "settings",
        *(
            f"  {setting.name} = {setting.default!r}"
            + (f"  of {', '.join(map(repr, setting.choices))}" if setting.choices else "")
            for setting in definition.settings.values()
        ),
        f"range      {low} to {'∞' if high is None else f'{high:g}'}, {definition.direction}",
        f"source     {definition.source}",
        f"signature  {metric.signature}",
    ]
    return "\n".join(lines)


def _describe_lists(metric: Metric, role: str) -> str:
    from karat.core.metric.setting import SEVERAL  # noqa: PLC0415  (heavy)

    setting = metric.definition.settings.get(SEVERAL.get(role, ""))
    return f", or a list of texts, combined by {setting.name}" if setting and setting.of_core else ""
