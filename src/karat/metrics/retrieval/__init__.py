"""Metrics of ranked lists of document ids against the ids that are relevant or graded.

`alignment.py` matches retrieved ids with judged ones, once for all metrics of a batch; `ranking.py` holds the formula
of each metric for one row; `dialect.py` knows the names that trec_eval and ir_measures use. Readers of qrels and run
files are in `karat.data.retrieval`. Open `binary.py` first: the metrics for which an id is relevant or not.
"""
