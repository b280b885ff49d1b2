"""The provenance of a run: from what and with what it was made, and what it used.

`describe` makes the manifest before the first row is read, `own_code` digests code that is not karat's, `models` says
where models are asked and what that took. Open `describe.py` first.
"""
