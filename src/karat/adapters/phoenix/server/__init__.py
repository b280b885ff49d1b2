"""A running Phoenix server: its spans read, scores logged to it as annotations.

Annotations are made from a result of `karat.score` or from a frame, and are kept in a file until the server has them.
Not here: what spans mean (`karat.data.spans`), and the evaluators. Open `connection.py` first, then `outbox.py`.
"""
