"""What several commands share: their flags, the checks of these, and how results are printed.

`scoring` has the flags of commands that score, `models` those of judges, `phoenix` those of spans. `screen` prints
lines and tables, on a terminal by `terminal`; `result_table` and `comparison_table` print results with it. Commands
themselves do not live here, but one folder up. Open `scoring.py` first.
"""
