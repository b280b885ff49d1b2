"""Runs of karat in MLflow, and metrics of karat as scorers of `mlflow.genai.evaluate`.

`run` logs a run: its settings, its values with their intervals, and its rows as a table. `scorer` makes a scorer of any
metric or judge. No metric is defined here. Open `run` first. Calls need `karat[mlflow]`, importing this does not.
"""

from karat.adapters.mlflow.run import log_run
from karat.adapters.mlflow.scorer import scorer

__all__ = ["log_run", "scorer"]
