"""Language models and encoders: the only room whose code leaves the process.

Open `request.py` first for what goes to a model and comes back, then `governor/governor.py`, which sends it. Judges are
in `karat.judges`. One exception: `karat.adapters.phoenix.server` talks to a Phoenix server by itself (decision 007).
"""
