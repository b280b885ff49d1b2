"""Fake models for tests: no request leaves this machine.

Open `fake.py` first: `FakeModel` is a callable, `FakeServer` an OpenAI-compatible endpoint over HTTP, which
`karat fake-llm` starts too. Assertions about metrics are not here but in `karat.testing`.
"""
