"""Sums of row statistics that are the same bits whatever the order and the parts of the rows. Open `exact` first.

`exact` has the sums, `blocks` the hash by which many units fall into few groups; `kernel` compiles the inner loop of
both. `units` decides what a unit is, and when units are put together; `tally` counts different numbers, in place of
sums, for `karat.stats.ordered`.
"""
