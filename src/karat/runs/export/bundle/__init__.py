"""Bundles: runs in one file with all that their numbers rest on, from which every number is derived again.

Open `bundle.py` first, which writes one; `archive` is its file, a zip of which every byte is known. `verify` reads it:
`recompute` has the rows scored again (`rescore`), without a connection, judges being answered by what they replied
(`replies`), and the runs compared (`verdicts`); `agreement` compares what comes out with what is stored. `patches` has
the gold patch, `digested` leaves texts out, `cite` names a bundle in tables.
What a score is, and a comparison, is not here: it is computed by `karat.runs.scoring` and `karat.runs.compare`.
"""
