"""Evaluators: objects that turn one record into a list of scores, and that compute.

Here are the base class and the evaluators made from a function, from karat's metrics, and of Phoenix's own names. Not
here: evaluators with a prompt of their own (`llm/`), and their use on frames (`frame/`). Open `evaluator.py` first.
"""
