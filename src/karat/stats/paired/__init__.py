"""Two systems on the same rows: the difference of their values, its interval and the paired test.

`compare` is the entry: it checks both systems' statistics and returns a `comparison`. `paired_rows` computes what is in
it, with McNemar's test and Tango's interval (`mcnemar`) or the permutation test (`permutation`). Which runs and which
rows are compared is decided in `karat.runs.compare`. Open `compare` first.
"""
