"""Language models and encoders: the only room whose code leaves the process.

Open `request.py` first for what goes to a model and comes back, then `governor/governor.py`, which sends it. `context`
says which governor the running code uses, `event_loop` runs asynchronous work for synchronous callers, `reply_cache`
keeps replies on disk, `openai` speaks the protocol, `encoders` make vectors, `testing` has fake models. Judges and
their prompts are in `karat.judges`. One exception leaves the process elsewhere: `karat.adapters.phoenix.server` talks
to a Phoenix server through Phoenix's own client, with the retry loop of `governor/retry.py` (decision 007).
"""
