"""The governor: sends every request to a model, within limits and budgets, until it is answered.

Open `governor.py` first: `Governor.map` runs the rows, `Governor.ask` sends one request; the other files are its parts.
`permits.py` holds what all calls of a run share; `leases.py` lends it to other processes.
How a request goes over the network is not here but in `karat.models.openai`.
"""
