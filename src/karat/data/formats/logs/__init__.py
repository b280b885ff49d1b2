"""Logs of other evaluation tools that need more than a path for each role: one module a tool.

Tools whose rows have their values at paths need no module: they are in `karat.data.roles.LAYOUTS`. Open `inspect.py`
first: it is the longest, and shows how rows of a large log go through a temporary file.
"""
