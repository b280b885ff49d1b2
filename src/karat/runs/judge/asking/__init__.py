"""Judges that are asked again about each row, several times and in other words, and their votes as arrays.

`votes` makes a judge one that is asked repeatedly, and reads its verdicts; `rewordings` are prompts that mean the same.
What the votes say of a judge, its noise and its biases, is in `karat.runs.judge.reliability`. Open `votes.py` first.
"""
