"""Answers of known truth to one question, made from its gold and from the gold of others.

`answer` has a question and an answer as values, `gold_types` tells persons, numbers, dates, places and lists apart.
`right`, `wrong` and `pressure` make answers, in the words of `frames`; `guard` tells a wrong one that might be right.
`classes` is the one table of all kinds of answer: open it first. What is drawn from a table of rows is one room up.
"""
