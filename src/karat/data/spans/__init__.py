"""Spans of traces as rows: question, prediction, contexts and retrieved ids, found in each span's attributes.

Reads exports of OpenInference, OpenTelemetry and TruLens, from files or frames; reading from a running Phoenix server
is in `karat.adapters.phoenix`. Open `source.py` first; `names.py` lists the attribute names of each convention.
"""
