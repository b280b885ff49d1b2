"""Files and frames to Arrow and back: opening any source, finding columns by role, filtering, joining, writing.

Sub-packages hold the file `formats`, `json`, `spans` of traces, `retrieval` (runs and qrels) and `storage` (temporary
files, DuckDB). Nothing here knows metrics or runs. Open `source.py` first, then `open.py`.
"""
