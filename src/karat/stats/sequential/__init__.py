"""Intervals that hold however often one looks, so that asking may stop by what they show. Open `sequence` first.

`population` has what is known of the rows before any is asked, `lower_bound` the bets against values that are too low,
`sequence` the interval of one mean, `two_phase` what joins an expensive score and a cheaper one of more rows, `drift`
the test whether a judge changed meanwhile, `until` the rule by which asking stops. Everything is about the rows of a
finite table: when all are asked the width is 0.
"""
