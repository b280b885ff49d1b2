"""Runs of metrics over tables: scoring, storing, comparing, and experiments whose answers are scored.

Here lives what turns a table and metrics into values, rows and run folders. The metrics, the statistics and the
readers of files do not live here, nor does anything that prints: the command line is in `karat.cli`. `output_columns`
names the columns that scoring adds; on it builds `store`, on that `scoring`, on that `compare` and `experiment`,
which do not import each other. Open `scoring/pipeline.py` first.
"""
