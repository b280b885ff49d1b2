"""Scoring of one table: `karat.score`, from the arguments to the `Result`.

Here lives the plan of a run (which columns are read, which are added), the pipeline over its batches, the totals and
the result. Reading files is in `karat.data`, computing a batch in `karat.core.metric.score`, intervals in
`karat.stats`, run folders in `store`. Open `pipeline.py` first, then `plan.py`.
"""
