"""One module for each file format or kind of frame, and `writers.py` for writing.

JSON Lines, spans and TREC files have sub-packages of their own. What is common to all sources (validation, filters,
joins) is one level up. Open `frames.py` first: it is the shortest way from Python objects to a `Source`.
"""
