"""What karat reads from text: normal forms, tokens, and the answers in replies: options, numbers and formulas.

Each function is a readable definition from one text to a result; `columns.py` applies normalisers and tokenisers to
Arrow columns, through the compiled `kernel.pyx` where it was built. Comparing two texts is the task of metrics, in
`karat.metrics`. Open `normalise.py` first.
"""
