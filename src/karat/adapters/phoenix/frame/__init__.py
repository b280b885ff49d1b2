"""Evaluators applied to a pandas frame: `evaluate_dataframe` and its async form.

An evaluator that can score whole columns does so (`columnwise.py`, with a compiled kernel); any other gets record
after record (`rowwise.py`). Not here: the evaluators, and the frame's scores as annotations (`server/`). Open
`evaluate.py` first.
"""
