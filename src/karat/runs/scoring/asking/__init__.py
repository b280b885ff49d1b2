"""Asking judges until a rule ends it: rows in a random order, an interval that holds at all times. Open `ask` first.

`agenda` says which row a judge asks next and hears its votes; the interval is in `karat.stats.sequential`.
"""
