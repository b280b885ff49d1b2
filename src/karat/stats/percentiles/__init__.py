"""Percentiles of scores, and of two systems' scores on the same rows. Open `values.py` first.

`values` keeps scores so that parts of a table can be merged, and has the percentile with its interval; `paired`
has how far each row moves a percentile. Every other value is computed from sums: `karat.stats.sums`.
"""
