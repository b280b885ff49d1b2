"""Values of rows in the order of their confidence, such as the area under the ROC curve, and how two systems compare.

No sum of row statistics gives them: `curve_rows` keeps how many rows have each confidence, in bounded memory. What a
curve is, is in `karat.core.metric.in_order`; the curves themselves are in `karat.metrics.confidence`. Open
`curve_rows.py` first, then `deviation.py`, which has the variance; `paired.py` has how far each row moves a value.
"""
