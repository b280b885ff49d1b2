"""Whether two parsed formulas are equal: first by exact arithmetic, then by numbers, then by sympy in another process.

`canonical.py` proves equality, `numeric.py` disproves it, `matrices.py` computes with matrices; `worker.py` runs
`symbolic.py`, the only module that uses sympy. Parsing is in `karat.text.latex`; the metric is
`karat.metrics.answers.mathematics`. Open `equivalence.py` first.
"""
