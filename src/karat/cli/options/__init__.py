"""What several commands share: their flags, the checks of these, and how results are printed. Open `scoring.py` first.

`scoring` has the flags of commands that score, `models` of judges, `phoenix` of spans; `completion` has the
types of values that a shell completes. `screen` prints, on a terminal by `terminal`; `result_table` prints results and
comparisons with it. `gates` has `--fail-under` and the exit codes. Commands are one folder up.
"""
