"""What leaves the store: a run as one file, and a bundle of runs from which everybody can derive their numbers again.

`one_file` writes rows, a table of values, or JUnit; `bundle` the file whose digest stands for a number, and verifies
it. Where runs are kept, and how they are read, is `karat.runs.store`. Open `one_file.py` first.
"""
