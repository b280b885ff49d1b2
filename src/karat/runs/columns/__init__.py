"""Columns of tables: those that tell rows apart, that a metric names itself, and that scoring adds.

`ids` finds the column that tells rows apart, `groups` the values by which rows belong together; `score_columns` reads
the numbers of a column that a metric names itself, as in `column(gpt4)`; `lengths` says how long answers are beside
their gold, `judged_documents` how many documents are judged; `output` names what scoring adds beside the user's
columns. Open `output.py` first.
"""
