"""Systems on the same rows: the difference of two values, its interval and the paired test. Open `systems.py` first.

`systems` adds up rows and tests every pair, for two systems and for hundreds: right and wrong answers by `mcnemar`, all
else by what each unit adds to the values (`contributions`). `compare` adds who wins rows, and what missing rows could
do; it returns a `comparison`. `multiple` corrects for several tests, `sample_size` says how many rows a difference
needs, and `power` what such tests can show. Which runs and rows are compared is decided in `karat.runs.compare`.
"""
