"""A judge asked about two systems, row by row, until their difference is decided. Open `ask` first.

`sequence` has the interval of runs that were asked so, whenever they are compared again. Which row is asked next is in
`karat.runs.scoring.asking`.
"""
