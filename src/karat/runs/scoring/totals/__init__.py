"""The totals of a run, added up while batches go by, and merged from its parts. Open `totals.py` first."""
