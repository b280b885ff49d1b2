"""Metrics that compare the meaning of a prediction and a reference by a model of texts that makes vectors or scores.

Loading and running these models, and the cache of their vectors, are in `karat.models.encoders`; metrics that ask a
chat model are judges, in `karat.judges`. Open `semantic.py` first; `pair_scoring.py` scores each distinct pair once.
"""
