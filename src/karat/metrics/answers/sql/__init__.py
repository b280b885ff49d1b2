"""The metric of SQL: whether a query returns what the gold query returns, from the same database.

`queries` reads what matters in the text of a query, `databases` runs queries without writing and within limits,
`results` compares two results. Open `match.py` first.
"""
