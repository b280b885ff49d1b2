"""Retrieval results and judgements: TREC files and tables with one document per row, grouped into one row per query.

Retrieval metrics are in `karat.metrics.retrieval`, and rules for comparing ids in `karat.core.columns.ids`. Open
`group.py` first.
"""
