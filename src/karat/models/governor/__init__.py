"""The governor: sends every request to a model, within limits and budgets, until it is answered.

Open `governor.py` first: `Governor.map` runs the rows, `Governor.ask` sends one request. `rate_limiter` says when a
call may start, `budget` what may be spent, `faults` what an error means, `retry` when to try again, `task_group` runs
rows together and stops them together, `call_spans` records each call as an OpenTelemetry span. How a request goes over
the network is not here but in `karat.models.openai`.
"""
