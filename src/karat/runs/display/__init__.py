"""What values look like: SVG and HTML for notebooks and the report, Markdown, LaTeX and files of any other ending.

`forest.py` has the forest plot as a table, open it first; `histogram` draws counts, `svg` has axes and `html` safe
markup, `notebook` wraps tables for a notebook, `figure` draws with matplotlib, and `frame` makes frames of pandas.
`document` writes a table as a file: whatever has figures makes a `Forest` of its lines and a `Document` around it;
`markdown` and `latex` spell it, `values` does so for the values of metrics. Everything is drawn from plain values,
never from a result or a comparison: those call this.
"""
