"""A metric: its definition, settings, spec and registry, and the one engine that scores columns with it.

The modules import in one direction: `setting`, `definition`, `rows`, `combine`, `score` (columns to `Rows`, in
parallel), `metric` (the value that users hold), `registry`, then `spec` (text to metric)
and `decorator` (function to metric).
`extract` takes the final answer out of a reply before it is scored. The metrics themselves are in `karat.metrics`. Open
`definition` first, then `score`.
"""
