"""Of this folder only the tests are collected: the scripts are run by hand, and tasks by commands."""

collect_ignore = ["make.py", "recompute.py", "data"]
