"""What the readers and writers share: file names, streams, temporary files, DuckDB connections, validation.

No format is parsed here. Open `files.py` first; `duckdb.py` holds the settings of every DuckDB connection and
`disk_table.py` rows on disk with random access.
"""
