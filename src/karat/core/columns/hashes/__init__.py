"""Hashes of texts and keys, the same on every machine: the definition, and beside it a kernel. Open `texts.py`.

They number rows by their ids, sort rows into buckets and clusters, choose samples that no order of rows changes, and
tell where cells differ (`cells`).
"""
