"""Fake models for tests: no request leaves this machine.

Open `fake.py` first: `FakeModel` is a callable, `FakeServer` an OpenAI-compatible endpoint over HTTP. `http` is the
server under it, `injected_faults` what can go wrong on request, `schema_sample` a value that matches a JSON Schema.
`karat fake-llm` starts the same server from the command line. Assertions about metrics are not here but in
`karat.testing`.
"""
