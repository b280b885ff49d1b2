"""Evaluators applied to a pandas frame: `evaluate_dataframe` and its async form.

An evaluator scores whole columns if it can (`columnwise.py`; `known.py` for Phoenix's own), else record after record
(`rowwise.py`); models are asked through karat's governor.
Not here: the evaluators, and scores as annotations (`server/`). Open `evaluate.py` first.
"""
