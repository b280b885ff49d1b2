"""Metrics of numbers that are in the data already, such as the verdicts of a judge that was asked elsewhere.

Nothing is computed from answers here; the columns are read by `karat.core.columns.numbers`. Open `column.py` first;
`percentile` takes a percentile of such a column instead of its mean.
"""
