"""Whether two parsed formulas are equal: first by exact arithmetic, then by numbers, then by sympy in another process.

`canonical.py` proves equality, `numeric.py` disproves it; `worker.py` runs `symbolic.py`, which alone uses sympy.
Parsing is in `karat.text.latex`; the metric is `karat.metrics.answers.mathematics`. Open `equivalence.py` first.
"""
