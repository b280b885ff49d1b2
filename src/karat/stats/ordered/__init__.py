"""Values that rest on the order of the rows, such as percentiles and the area under the ROC curve.

No sum of row statistics gives them, and what is kept can be merged: `percentile_values` keeps scores, `curve_rows` how
many rows have each confidence, in bounded memory; both have the interval. `percentile_pairs` and `curve_pairs` have how
far each row moves the difference of two systems, `deviation` the variance of a curve's value. What a curve is, is in
`karat.core.metric.in_order`; the curves themselves are in `karat.metrics.confidence`. Every other value is computed
from sums: `karat.stats.sums`. Open `percentile_values.py` first.
"""
