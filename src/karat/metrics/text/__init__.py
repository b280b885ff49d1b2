"""Metrics that compare the text of a prediction with that of a reference: equality, tokens, n-grams, edits.

How texts are normalised and tokenised is in `karat.text`; metrics that read an answer as a number, a formula, JSON, an
option or a label are in `karat.metrics.answers`; metrics of meaning are in `karat.metrics.similarity`. Open `match.py`
first. `string_comparison.py` holds the comparisons of whole columns that several metrics use.
"""
