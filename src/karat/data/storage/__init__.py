"""What the readers and writers share: file names, streams, temporary files, stores, DuckDB connections, batches.

No format is parsed here. Open `files.py` first, and for addresses of object stores `remote_files.py`, above `stores.py`
(file systems and their errors) and `http_file.py`; `duckdb.py` holds the settings of every DuckDB connection and
`batches.py` cuts batches and keeps rows on disk with random access.
"""
