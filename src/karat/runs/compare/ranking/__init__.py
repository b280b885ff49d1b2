"""Rankings of systems: `karat.rank` by the scores of their rows, `karat.rank_verdicts` by verdicts on pairs of answers.

`ranked` is what both return, with its tables; the statistics are in `karat.stats.ranking`. Open `rank.py` first.
"""
