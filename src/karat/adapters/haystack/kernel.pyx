# cython: wraparound=False, initializedcheck=False
# Bounds are checked: hashing a value of `meta` runs its own code, which could lengthen the list of documents.
"""The definitions in `ranking` and `answers`, compiled."""

from cpython.dict cimport PyDict_Clear
from libc.stdint cimport int64_t


cdef inline object value_of(object document, tuple path, Py_ssize_t depth, object read):
    """The value at a path if it is None, a text or a whole number; `read(document)` for other values."""
    cdef object value
    cdef Py_ssize_t at
    if depth == 0:
        return read(document)
    value = getattr(document, path[0])
    for at in range(1, depth):
        if not isinstance(value, dict):
            return None
        value = (<dict>value).get(path[at])
    if type(value) is str:
        return value if value else None
    return value if value is None or type(value) is int else read(document)


def number(retrieved, relevant, tuple path, read, int64_t[::1] found, int64_t[::1] wanted, bint first):
    """Write the number of each document into `found` and `wanted`; see `ranking.number`."""
    cdef Py_ssize_t at = 0, known_at = 0, end, depth = len(path)
    cdef dict places = {}
    cdef object document, value, place
    for documents, golds in zip(retrieved, relevant):
        PyDict_Clear(places)
        for document in golds:
            value = value_of(document, path, depth, read)
            wanted[known_at] = -1 if value is None else <int64_t>places.setdefault(value, len(places))
            known_at += 1
        end = at + len(documents)
        for document in documents:
            place = places.get(value_of(document, path, depth, read))
            found[at] = -1 if place is None else <int64_t>place
            at += 1
            if first and place is not None:
                break
        while first and at < end:
            found[at] = -1
            at += 1


def match(golds, answers, is_match):
    """The list of 1 and 0 of each pair; `is_match` decides pairs that are not two texts."""
    cdef list scores = []
    for gold, answer in zip(golds, answers):
        if type(gold) is str and type(answer) is str:
            scores.append(1 if <str>gold == <str>answer else 0)
        else:
            scores.append(is_match(gold, answer))
    return scores
