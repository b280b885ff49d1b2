"""Metrics of several answers to one question, which another metric scores: `pass_at(exact_match)@4`.

`answers.py` scores the answers and takes questions with equally many of them together, `counting.py` counts right ones
and equal ones; open `passing.py` first. Rows that share a question are gathered before they come here, by
`karat.runs.scoring.sources`.
"""
