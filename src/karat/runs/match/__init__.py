"""The same rows, seen by several systems: the one place where systems are opened and their rows are paired.

`compare`, `rank`, reports, the page, agreement and drawing rows to label call it. Here lives how systems are opened
(`systems`), which column pairs their rows (`keys`), the pairing and the rows that it leaves out (`alignment`), whether
they may be compared (`compatible`), and slices and clusters of paired rows (`row_groups`). What differs between the
systems is computed elsewhere. Open `match.py` first: it calls all of these, and writes the notes.
"""
