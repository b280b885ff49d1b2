"""Many systems in an order, and what of the order the data supports. Open `standing.py` first.

Pairs are tested in `karat.stats.paired`, or by their strengths, which `bradley_terry` estimates from verdicts on pairs;
both give `PairTests`. `standing` corrects these for their number and finds the ranks that each system may have;
`letters` names the groups that are not separated. `rasch` has the abilities of systems from who is right on which row.
"""
