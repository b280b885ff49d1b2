"""Which rows of a run people should label, and how many of them: samples drawn for `karat.runs.labels` to read again.

The probabilities are computed in `karat.stats.corrected`. Open `next_rows` first, which draws rows and writes them to a
file; `labels_needed` says how many labels an interval of a given width takes, `free_metrics` what narrows an interval
while labels come in.
"""
