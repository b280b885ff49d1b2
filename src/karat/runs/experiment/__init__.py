"""Experiments: a task answers every row of a table, and the answers are scored. Open `experiment.py` first.

Here is how a function is called for each row, how its answers are kept on the disk, and how they become columns.
Retries and limits come from `karat.models.governor`; the scoring is `karat.runs.scoring`.
"""
