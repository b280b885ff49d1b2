"""What a reply finally answers: where it announces its answer, that answer, and the options that it chooses.

`announcements.py` has the phrases of many languages, `final_answer.py` finds the formula, number or words behind them,
`choices.py` reads letters of options, `in_json.py` values of JSON, `expressions.py` what is nothing but an expression.
Numbers, times and formulas themselves are parsed in `karat.text`. Open `final_answer.py` first.
"""
