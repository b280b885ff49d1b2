# cython: wraparound=False, initializedcheck=False
# Bounds are checked: `read` is the user's function and could lengthen the list of documents.
"""The definitions in `ranking` and `answers`, compiled."""

from cpython.dict cimport PyDict_Clear
from libc.stdint cimport int64_t


def number(retrieved, relevant, read, int64_t[::1] found, int64_t[::1] wanted, bint first):
    """Write the number of each document into `found` and `wanted`; see `ranking.number`."""
    cdef Py_ssize_t at = 0, known_at = 0, end
    cdef dict places = {}
    cdef object document, value, place
    for documents, golds in zip(retrieved, relevant):
        PyDict_Clear(places)
        for document in golds:
            value = read(document)
            if value is None or value == "":
                wanted[known_at] = -1
            else:
                wanted[known_at] = <int64_t>places.setdefault(value, len(places))
            known_at += 1
        end = at + len(documents)
        for document in documents:
            place = places.get(read(document))
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
    for gold, said in zip(golds, answers):
        if type(gold) is str and type(said) is str:
            scores.append(1 if <str>gold == <str>said else 0)
        else:
            scores.append(is_match(gold, said))
    return scores
