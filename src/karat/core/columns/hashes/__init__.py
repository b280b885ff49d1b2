"""Hashes of texts and keys, the same on every machine: the definition, and beside it a kernel. Open `texts.py`.

They number rows by their ids, sort rows into buckets and clusters, and choose samples that no order of rows changes.
"""
