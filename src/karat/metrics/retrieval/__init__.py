"""Metrics of ranked lists of document ids against the ids that are relevant or graded.

`alignment.py` matches retrieved ids with judged ones; `ranking.py` holds the formula of each metric. Readers of qrels
and run files are in `karat.data.retrieval`. Open `binary.py` first: the metrics for which an id is relevant or not.
"""
