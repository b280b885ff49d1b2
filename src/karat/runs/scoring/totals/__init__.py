"""The totals of a run: what the statistics of all rows, and of each group, add up to while batches go by.

Totals of parts are merged, also from bytes, and values with their intervals are read from them at the end. Open
`totals.py` first; `metric.py` adds up one metric.
"""
