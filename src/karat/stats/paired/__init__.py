"""Two systems on the same rows: the difference of their values, its interval and the paired test. Open `compare` first.

It returns a `comparison`; `paired_rows` computes what is in it, by McNemar's test and Tango's interval (`mcnemar`) or
the permutation test (`permutation`). `multiple` corrects for several tests, `sample_size` says how many rows a
difference needs, and `power` what such tests can show. Which runs and rows are compared is decided in
`karat.runs.compare`.
"""
