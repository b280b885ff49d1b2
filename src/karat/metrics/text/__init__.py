"""Metrics that compare the text of a prediction with a reference's: equality, tokens, n-grams, edits.

Normalisers and tokenisers are in `karat.text`; metrics that read an answer as something else, such as a number, in
`karat.metrics.answers`; metrics of meaning in `karat.metrics.similarity`. Open `match.py` first.
"""
