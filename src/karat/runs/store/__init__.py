"""Runs on the disk: a folder for each, with its manifest, rows, statistics and values.

Here lives what reads, writes, resumes, locks, lists and removes run folders. How the scores are computed
does not matter here: that is `scoring`. Open `run.py` first; `writer.py` is the other side.
"""
