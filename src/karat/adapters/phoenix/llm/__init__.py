"""Evaluators that ask a language model, with Phoenix's names for them.

Here are classifiers with a prompt of the user's (`template.py` renders it), Phoenix's evaluators over karat's own
judges, and the models they ask. Not here: judging itself (`karat.judges`), limits, retries and cache
(`karat.models`). Open `classifier.py` first.
"""
