"""Statistics: from the row statistics of a metric to values with intervals, and to paired tests of two systems.

Everything here takes arrays and a `Scale`; nothing knows a metric by name, a file or a run. `aggregate` adds up row
statistics by sampling unit, `value` and `interval` turn the totals into a value with its interval (`wilson` for values
with two bounds, `bootstrap` for others), `paired` compares two systems, `multiple` corrects for several tests, and
`power` and `sample_size` say how many rows a difference needs. Open `value` first.
"""
