"""Runs of metrics over tables: scoring, storing, comparing, and experiments. Open `scoring/pipeline.py` first.

`output_columns` names the columns that scoring adds; on it builds `store`, on that `scoring`, on that `compare` and
`experiment`. Scoring and comparing read labels by people (`labels`), which knows neither. Metrics, statistics and
readers of files are not here, nor anything that prints (`karat.cli`).
"""
