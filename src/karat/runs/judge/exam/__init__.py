"""The judge's exam: answers of known truth, made from the gold alone, and what a judge or a metric says of them.

`questions` reads questions with gold from any table, `answers` makes answers to one, and `paper` puts an exam together:
a table whose columns a judge reads. `exam` asks about it; `figures` says what was found, and `tables` lays it out.
Which share of errors is false praise is defined in `karat.runs.judge.praise`. Open `exam.py` first.
"""
