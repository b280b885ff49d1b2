"""Labels by people: named, read, mapped to scores, joined with scored rows by id, and collected in a terminal.

What an annotator said of a row becomes a number on the scale of the metric that it is compared with. `labels` has what
a user says of labels, `table` reads them, `join` matches them with rows, `session` collects them, `narrowing` has the
interval by which a session may stop. Labels of several systems' paired rows are in `karat.runs.match.labelled`. The
statistics of labels are in `karat.stats`, and reports over runs in the rooms above. Open `labels.py` first.
"""
