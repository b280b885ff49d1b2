"""Tables of figures, and each format that they are written in: Markdown, LaTeX, HTML, CSV, and a plot of matplotlib.

`table.py` has the table and how numbers are spelled, open it first. `value_table` makes one of the values of metrics;
comparisons and rankings describe themselves as tables. `markdown`, `latex` and `notebook` write one, `document` writes
it to a file by the ending of its name; `figure` draws it with matplotlib, `html` has safe markup. A terminal is
`karat.cli.options.screen`.
"""
