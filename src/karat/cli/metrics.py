"""``karat metrics``: the metrics, judges and presets, from their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli.options.completion import SPEC

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.core.metric.registry import Preset


@click.command()
@click.argument("name", type=SPEC, required=False)
def metrics(name: str | None) -> None:
    """List the metrics, judges and presets, or explain the one called NAME.

    \b
    karat metrics
    karat metrics token_f1
    karat metrics judge:correctness
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.core.metric.registry import PRESET, all_metrics, all_presets, find_preset  # noqa: PLC0415
    from karat.core.metric.spec import parse_all  # noqa: PLC0415
    from karat.judges import Judge, own_judges  # noqa: PLC0415

    screen = open_screen()
    if name is not None:
        chosen = [metric for metric in all_metrics() if metric.name == name] or parse_all(name)
        preset = find_preset(name)
        for line in (explain_preset(preset) if preset else "\n\n".join(map(explain, chosen))).splitlines():
            screen.line(line)
        return
    summaries = {metric.name: metric.definition.summary for metric in (*all_metrics(), *map(Judge, own_judges()))}
    summaries |= {PRESET + preset.name: preset.summary.split(". ")[0].rstrip(".") + "." for preset in all_presets()}
    width = max(map(len, summaries))
    for listed, summary in summaries.items():
        screen.line(summary, label=f"{listed:{width}}  ")


def explain_preset(preset: Preset) -> str:
    """A preset as text: what the script does with the data, the metrics that the name stands for, and the script."""
    lines = [f"preset:{preset.name}", "", preset.summary, "", "metrics", *(f"  {spec}" for spec in preset.specs)]
    return "\n".join([*lines, f"source     {preset.source}"])


def explain(metric: Metric) -> str:
    """A metric's definition as text: columns, settings, range, source and signature."""
    from karat.core.metric.setting import Range  # noqa: PLC0415  (heavy)

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
            + (f"  {setting.check}" if isinstance(setting.check, Range) else "")
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
