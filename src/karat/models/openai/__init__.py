"""OpenAI-compatible endpoints. Open `model.py` first: `OpenAIModel` builds a request and parses the reply.

`client` sends one HTTP request, `body` reads what comes back; `remedies` says what to type when that fails. Retries,
limits and the cache are not here but in `karat.models.governor`, embeddings in `karat.models.encoders.endpoint`.
"""
