"""The ground floor: what a metric is (`metric`), the columns it reads (`columns`), and services that every room uses.

These are errors, parallel work, progress, the context, telemetry, atomic files, plugins, lazy names, paths and
versions. No metric, file format, model or statistic is known here. Open `metric` first, then `errors`.
"""
