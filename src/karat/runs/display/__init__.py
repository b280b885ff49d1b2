"""What values look like: SVG and HTML written in Python, for notebooks and for the report.

`forest.py` has the forest plot as a table, open it first; `histogram` draws counts, `svg` has axes and `html` safe
markup, `notebook` wraps tables for a notebook, `figure` draws with matplotlib, and `frame` makes frames of pandas.
Everything is drawn from plain values, never from a result or a comparison: those call this.
"""
