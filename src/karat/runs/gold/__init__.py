"""Which gold is probably wrong, ambiguous or incomplete, from what several systems answer. Open `check.py` first.

`rows` reads the paired rows of systems, `answers` says which answers mean the same, and which mean the gold;
`doubts` ranks and tests the rows, `reasons` says what speaks against the gold of each, and `verdicts` reads what people
say of some, from which follows what is reported. `doubtful` is the result, its table and its file.
`people` shows these rows to people, whose verdicts become a gold patch, and `nuggets` those of a nugget bank, which
they edit: in both a file follows from a session (`following`); `consequence` says what they change for the
verdict on two systems.
The statistics are in `karat.stats.reliability` (`coincidence`, `selection`).
"""
