"""Runs on the disk: a folder for each, with its manifest, rows, statistics and values.

Here lives what reads, writes, resumes, locks, lists and removes run folders. How the scores are computed does not
matter here: that is `scoring`. Open `run.py` first, which also says in which state a run is; `writer.py` is the other
side. Of a run that is continued, `unfinished` locks and finds the folder, `parts` finds the finished parts, and `tail`
reads their rows again and checks the rows before against their digests.
"""
