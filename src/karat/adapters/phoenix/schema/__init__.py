"""The input of an evaluator: its fields, the type of each, and which of them are optional.

A schema is made of a function's parameters, of the placeholders of a prompt, or of a pydantic model class. `schema.py`
is karat's own, without pydantic; `types.py` reads annotations. Open `schema.py` first.
"""
