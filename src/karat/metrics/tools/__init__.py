"""Metrics of agents: which tools were called, with which arguments, in which order.

The calls are found in the forms of other tools by `karat.core.columns.conversations`. Open `calls.py` first: it says
when two calls are equal. `call_counts.py` and `call_match.py` hold the metrics of calls, `trajectory.py` the metric of
whole conversations, `bfcl.py` the metric of the Berkeley Function-Calling Leaderboard, whose references list the
allowed values.
"""
