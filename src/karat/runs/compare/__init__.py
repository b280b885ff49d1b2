"""Comparison and ranking of systems on the same rows: `karat.compare`, `karat.rank` and `karat.rank_verdicts`.

Here lives what a comparison and a ranking report, which rows they show, and how many rows the next one needs. Rows are
paired in `karat.runs.match`; the statistics are in `karat.stats.paired` and `karat.stats.ranking`. Open `compare.py`
first; `ranked` is what both rankings return. `run_values` has the values of a run, as stored or under other intervals.
"""
