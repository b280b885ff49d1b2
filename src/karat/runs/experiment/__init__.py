"""Experiments: a task answers every row of a table, and the answers are scored.

Here lives how a user's function is called for each row, how its answers are kept on the disk, and how they become
columns. Retries and limits are those of `karat.models.governor`; the scoring is `karat.runs.scoring`. Open
`experiment.py` first.
"""
