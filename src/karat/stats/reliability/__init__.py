"""How far a judge can be relied on: its noise, its biases, its calibration. Open `repetition` first.

`repetition` compares verdicts on the same row, `slope` finds what a score depends on (length, author), `calibration`
compares scores with people's. Intervals come from `karat.stats.agreement.coefficient`. Arrays go in;
`karat.runs.judge` asks the judge.
"""
