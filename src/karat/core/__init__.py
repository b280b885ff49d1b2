"""The ground floor: what a metric is, the columns it reads, and the services that every other room uses.

`columns` defines the kinds of column and of id, `metric` the definition, the registry and the one scoring engine. Next
to them stand errors, parallel work, progress, the context, telemetry, atomic files, plugins, lazy names, paths and the
version. No metric, file format, model or statistic is known here. Open `metric` first, then `errors`.
"""
