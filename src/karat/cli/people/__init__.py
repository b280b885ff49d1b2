"""Commands about labels by people and about judges, one file a command; `karat.cli.main` lists them.

They read labels, say how far judges and people agree, collect labels in a terminal, and say which rows to label next.
What they print is here; labels are in `karat.runs.labels`, statistics in `karat.stats`. Open `label.py` first.
"""
