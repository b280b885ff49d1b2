"""JSON without re-typing: column types inferred from all rows, rows read by DuckDB, values kept as they are spelled.

Whole documents with a layout of their own (SQuAD, logs) are in `formats`, not here. Open `reader.py` first; `infer.py`
finds the types, `members.py` and `raw.py` extract members as text, `explain.py` finds what is wrong in a broken file,
`texts.py` has what a person reads of a cell.
"""
