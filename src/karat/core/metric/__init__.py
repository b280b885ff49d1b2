"""A metric: its definition, settings, spec and registry, and the one engine that scores columns with it.

The modules import in one direction: `setting`, `definition`, `rows`, `combine`, `score` (columns to `Rows`), `metric`
(what users hold), `registry`, then `spec` (text to metric) and `decorator` (function to metric). The metrics themselves
are in `karat.metrics`. Open `definition` first, then `score`.
"""
