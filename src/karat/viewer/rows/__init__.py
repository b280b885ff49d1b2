"""Matched rows of runs: filtered, sorted, counted and read for display, a million of them at a time.

`table.py` holds what a comparison matches (`karat.runs.match`): numbers and labels as arrays, in the order of the first
run's rows. `sql.py` writes a filter and an order once, as SQL, for the command that the page shows and for DuckDB, with
which `relation.py` runs it over those arrays. Texts stay in the runs' Parquet files; the texts of the rows on a page
are read. No figure of a comparison is computed here. Open `table.py` first, then `fields.py`, which reads a filter;
`filters.py` finds the rows.
"""
