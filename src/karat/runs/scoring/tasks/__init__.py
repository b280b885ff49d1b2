"""Scoring in tasks: parts of the rows that are read, scored and written on their own, by threads or processes here.

Engines of other machines (`karat.engines`) call the same function. `task.py` is the first file to open.
"""
