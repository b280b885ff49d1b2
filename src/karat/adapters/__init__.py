"""The interfaces of other frameworks over karat's functions: their class names, calls and columns, a package each.

Nothing is scored here that `karat.score` could not score, and no adapter imports another. Each works without its
framework wherever that is possible. Open `phoenix/__init__.py` or `haystack/__init__.py` first: each lists its names.
"""
