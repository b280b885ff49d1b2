"""Scoring of one table: `karat.score`, from the arguments to the `Result`. Open `pipeline.py` first, then `plan.py`.

Here are the plan of a run (which columns are read and added), the pipeline over its batches, the totals and the result;
files are read in `karat.data`, batches computed in `karat.core.metric.score`, intervals in `karat.stats`.
"""
