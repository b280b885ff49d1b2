"""How far a judge can be relied on: its noise, its biases, its calibration. Open `repetition` first.

`repetition` compares verdicts on the same row, `slope` finds what a score depends on (length, author), `parts` has the
mean score over the parts of a range, `calibration` compares scores with people's, `certificate` tests that a share
of errors is below a limit. `components` has what scores vary by (rows, prompts, judges, repetition), `instrument` the
interval that all of it is part of, `design` what to ask next, `panel` what several judges are worth together.
`coincidence` has how often wrong answers agree, `selection` which rows to report by labels of some. Intervals come from
`karat.stats.agreement.coefficient`. Arrays go in; `karat.runs.judge` asks the judge.
"""
