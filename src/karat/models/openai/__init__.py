"""OpenAI-compatible endpoints: chat completions and the HTTP requests under them.

Open `model.py` first: `OpenAIModel` builds a request, finds the form of structured output that the endpoint supports,
and parses the reply. `client` sends one HTTP request over aiohttp and turns failures into errors without the key.
Retries, limits and the cache are not here but in `karat.models.governor`, embeddings in
`karat.models.encoders.endpoint`.
"""
