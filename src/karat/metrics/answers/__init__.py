"""Metrics that read an answer as something else than text: an option, a label, a number, a formula, JSON.

How options, numbers and formulas are read from text is in `karat.text`; whether two formulas are equal is decided in
`algebra/`. Metrics that compare answers as text are in `karat.metrics.text`. Open `number.py` first.
"""
