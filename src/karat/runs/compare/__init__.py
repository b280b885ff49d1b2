"""Comparison and ranking of systems on the same rows: `karat.compare`, `karat.rank` and `karat.rank_verdicts`.

Here lives what a comparison reports, which rows it shows, and how many rows the next one needs; `ranking` has rankings.
Rows are paired in `karat.runs.match`; the statistics are in `karat.stats.paired` and `karat.stats.sequential`. Open
`compare.py` first. `asking` asks a judge about two systems until their difference is decided, and `sequence` has the
interval of runs that were asked so. `run_values` has the values of a run, as stored or under other intervals.
"""
