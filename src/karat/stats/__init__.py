"""Statistics: from the row statistics of a metric to values with intervals, and to paired tests. Open `value` first.

Everything takes arrays and a `Scale`; nothing knows a metric, a file or a run. `aggregate` adds up row statistics by
unit, exactly (`sums`); `intervals` has the interval of one value, `percentiles` what no sum gives, `paired` tests pairs
of systems and says what a comparison can show, `ranking` puts many in an order, `agreement` says how far raters agree,
`corrected` adds people's labels to a judge's scores.
"""
