"""Encoders: models that turn texts into vectors, or score pairs of texts.

Open `open.py` first: it turns a `Choice` of model into an encoder in this process (`local`) or behind an `endpoint`.
Metrics of vectors are not here but in `karat.metrics.similarity`.
"""
