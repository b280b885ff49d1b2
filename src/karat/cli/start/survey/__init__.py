"""What is in a folder: files of answers, rankings, gold and questions, and what could be scored of them.

`folder.py` finds the files and opens them with the readers of `karat.data`; `trials.py` scores the first rows of every
file, and of every pair of files, that fit by the names of their columns; `comparable.py` tells which of these answer
the same questions. Nothing is written here. Open `trials.py` first.
"""
