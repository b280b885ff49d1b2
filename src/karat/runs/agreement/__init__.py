"""How far judges, people and metrics agree on the rows of a run, a scored file or a frame. Open `agreement.py` first.

`raters` reads scores and people's labels of the same rows, `figures` has the coefficients of two raters, `praise`
defines false praise and blame, `verdict` compares each score with people, and `report` is the result. The coefficients
are in `karat.stats.agreement`.
"""
