"""One examination of scores, mostly a judge's: how far they agree with people and with each other, their noise, biases.

`examine` is the function behind `karat judge`, `examination` what it returns. `raters` reads scores and people's labels
of the same rows; `asking` asks judges again, also in other words, and holds their votes. `exam` asks them about answers
of known truth, which it makes from the gold.
`people` compares a score with people, where `praise` defines false praise and false blame; `reliability` has noise,
bias for place, length and author, and rewordings; `figures` and `sentences` say what was found. `kept_calibration`
stores how a judge compared with people. All figures come from `karat.stats`. Open `examine.py` first.
"""
