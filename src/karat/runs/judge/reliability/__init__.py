"""How far judges can be relied on without people: one by itself, and several of the same rows. Open `single` first.

`single` has a judge's noise, its biases for place, length and author, and what its prompt's wording does; `instrument`
what the mean of verdicts varies by; `panel` what several judges are worth together; `tables` lists their figures, which
come from `karat.stats.reliability`.
"""
