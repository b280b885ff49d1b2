"""Evaluators applied to a pandas frame: `evaluate_dataframe` and its async form.

An evaluator scores whole columns if it can (`columnwise.py`, with a compiled kernel), else record after record
(`rowwise.py`). Not here: the evaluators, and scores as annotations (`server/`). Open `evaluate.py` first.
"""
