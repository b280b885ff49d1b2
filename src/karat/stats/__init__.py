"""Statistics: from the row statistics of a metric to values with intervals, and to paired tests. Open `value` first.

Everything takes arrays and a `Scale`; nothing knows a metric, a file or a run. `aggregate` says what all have in
common that keep row statistics, such as exact sums by unit (`sums`); `intervals` has the interval of one value,
`ordered` what no sum gives, `sequential` intervals that hold however often one looks, `paired` tests pairs of systems
and says what a comparison can show, `ranking` puts many in an order, `agreement` says how far raters agree,
`corrected` adds people's labels to a judge's scores.
"""
