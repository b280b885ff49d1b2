"""Logs of other evaluation tools, one tool a file.

`tools` has a TOML file for each: the columns that tell its rows apart, and the paths to the values of roles. Those that
need more have a module that turns a record into a row, with what `rows.py` offers. Open `mlflow.py` first.
"""
