"""What karat reads from text: normal forms, tokens, and the answers in replies: options, numbers and formulas.

`columns.py` applies normalisers, tokenisers and extractors to Arrow columns, through `kernel.pyx` where it was built;
`word_diff.py` finds the words to mark where two texts are shown. Scoring two texts is the task of `karat.metrics`. Open
`normalise.py` first.
"""
