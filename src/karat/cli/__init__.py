"""The command line `karat`: one file for each command, with its flags and the text that it prints.

A command reads its flags, calls one function of a lower room and prints the result; what it computes is in `karat.runs`
and below. Flags and output that several commands share are in `options/`. A file here that holds a click command of
the file's name is a command: `main` finds it, and imports it when it is called. Open `score.py` first.
"""
