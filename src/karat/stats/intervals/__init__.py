"""The interval of one value. Open `interval.py` first.

It chooses: with two bounds Wilson's interval with an effective number of trials (`wilson`), else the studentised
bootstrap over units (`bootstrap`). `student` has the quantiles of Student's distribution, which tests need too.
"""
