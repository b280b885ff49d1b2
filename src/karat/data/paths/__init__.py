"""Values inside objects and lists: by path, and where tables of other tools keep what a role needs.

The paths of known tools are in `data/formats/logs/tools`, the readers of whole documents in `karat.data.formats`.
Open `nested.py` first: it reads the values at a path; `known.py` finds the path of a role.
"""
