"""Values inside objects and lists: by path, and where tables of other tools keep what a role needs.

The paths of known tools are in `data/formats/logs/tools`, the readers of whole documents in `karat.data.formats`.
Open `nested.py` first: it reads the values at a path in columns; `known.py` finds the path of a role. What a path
is made of, and the value at one in Python's dicts and lists, are in `karat.core.columns.json_text`.
"""
