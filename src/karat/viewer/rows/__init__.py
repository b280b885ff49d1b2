"""Aligned rows of run folders: filtered, sorted, counted and read for display, a million of them at a time.

`table.py` holds what a comparison matches (`karat.runs.compare`): scores and codes of facets as arrays in the order of
the first run's rows. Texts stay in the runs' Parquet files, and only those of the rows on a page are read. No figure of
a comparison is computed here. Open `table.py` first, then `fields.py`: what a filter may say.
"""
