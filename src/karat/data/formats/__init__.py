"""One module for each file format or kind of frame, and `writers.py` for writing.

Spans and TREC files have packages of their own, and so has JSON text. `validate.py` has what holds for every source;
filters and joins are one level up. Open `frames.py` first: it is the shortest way from Python objects to a `Source`.
"""
