"""Comparison of systems that were scored on the same rows: `karat.compare`.

Here lives how rows are matched, which runs may be compared, what a comparison reports, and how many rows the next one
needs. The paired tests themselves are in `karat.stats.paired`. Open `compare.py` first.
"""
