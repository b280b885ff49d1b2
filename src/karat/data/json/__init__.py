"""JSON without re-typing: column types inferred from all rows, values kept as they are spelled.

Files are read in `formats`, by `json.py` and `documents.py`, not here. Open `values.py` first: what a column of JSON
text holds; `lines.py` reads most JSON Lines by a kernel (`scan.pyx`); `infer.py` finds the types of other files, which
DuckDB reads; `members.py` and `raw.py` extract members as text, `explain.py` finds what is wrong in a broken file,
`texts.py` has what a person reads of a cell.
"""
