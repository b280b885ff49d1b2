"""Predictions joined with their gold by id, as one source of rows.

`join.py` comes first: `join`. `match.py` finds the prediction of each gold row, `half.py` is one of the two sources,
and `parts.py` reads the join in parts, each on its own.
"""
