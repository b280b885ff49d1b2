"""Many systems in an order, and what of the order the data supports. Open `standing.py` first.

`pairs` tests every pair of systems on the same rows, `bradley_terry` estimates strengths from verdicts on pairs; both
give `PairTests`. `standing` corrects these for their number and finds the ranks that each system may have; `letters`
names the groups that are not separated. Two systems alone are compared in `karat.stats.paired`.
"""
