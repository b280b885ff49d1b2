"""Encoders: models that turn texts into vectors, or score pairs of texts.

Open `open.py` first: it turns a `Choice` of model into a running encoder. `base` holds the shared types, `files` reads
a model's folder, `machine` says what this machine can run, `local` makes batches of tokens for the networks in `onnx`
and `torch`, `endpoint` asks a server, and `vector_cache` keeps vectors on disk. Metrics of vectors are not here but in
`karat.metrics.similarity`.
"""
