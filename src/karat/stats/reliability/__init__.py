"""How far a judge can be relied on: its noise, its biases, its calibration. Open `estimate` first.

It turns statistics of rows into a value with an interval, or the reason why there is none. `repetition` compares
verdicts on the same row, `slope` finds what a score depends on (length, author), `calibration` compares scores with
people's. Arrays go in; `karat.runs.judge` asks the judge.
"""
