"""Runs of metrics over tables: scoring, storing, comparing, and experiments. Open `scoring/pipeline.py` first.

`columns` knows which columns tell rows apart and which scoring adds; on it builds `store`, on that `scoring`, on that
`match`, which pairs the rows of systems. `compare` asks about paired rows; `judge` examines scores, mostly a
judge's, beside people's labels, and asks judges again; `experiment` asks a task.
Scoring, comparing and reports read labels by people (`labels`), which knows none of them. Metrics, statistics and
readers of files are not here, nor anything that prints (`karat.cli`). `table` lays out figures; all may call it.
`gold` says which gold is probably wrong, by what systems answer. `export` writes a run to one file, or several to a
bundle of which every number can be derived again.
"""
