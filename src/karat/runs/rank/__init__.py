"""Many systems in an order: `karat.rank` from scores on the same rows, `karat.rank_verdicts` from verdicts on pairs.

Here live which rows and verdicts are read and what a ranking reports; the statistics are in `karat.stats.ranking`.
Open `rank.py` first; `ranked` is what both return.
"""
