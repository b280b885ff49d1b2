"""The command line `karat`: one file for each command, with its flags and the text that it prints.

A command calls one function of a lower room, which computes. What several commands share is in `options/`. `main` finds
the commands: a file that holds a click command of the file's name. Open `score.py` first.
"""
