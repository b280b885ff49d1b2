"""Values inside objects and lists: by path, and where tables of other tools keep what a role needs.

What the paths of known tools are is in `karat.data.roles`; the readers of whole documents are in `karat.data.formats`.
Open `nested.py` first: it reads the values at a path; `known.py` finds the path of a role.
"""
