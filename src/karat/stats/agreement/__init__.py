"""How far raters agree: coefficients of agreement and association, each with an interval. Open `coefficient` first.

A rater is a person, a judge or a metric; arrays in, values out. Every coefficient says how much each row moves it, and
from that one thing follow its interval, its difference to another one, clusters and weights. `distance` says how far
two labels are apart, `kappa`, `alpha` and `gwet` correct agreement for chance, `rare_label` widens their intervals,
`correlation` and `auroc` compare orders, `threshold` cuts a score into yes and no, `overview` has all that suits two
raters.
"""
