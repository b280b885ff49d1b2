"""Copies of a few dicts for many rows; `columnwise.copies_one_by_one` is the definition in plain Python."""

from cpython.dict cimport PyDict_SetItem
from cython cimport boundscheck, wraparound


@boundscheck(False)
@wraparound(False)
def copies(list models, const int[::1] which, str inner, object[::1] rows):
    """Write to each row a copy of the model with that number, and of the dict under its key `inner`; -1: nothing."""
    cdef list held = [each[inner] for each in models]
    cdef Py_ssize_t row, count = len(models)
    cdef int model
    cdef dict copied
    if rows.shape[0] != which.shape[0] or not all([type(each) is dict for each in models + held]):
        raise TypeError("models are dicts that hold a dict, and each row has the number of one")
    for row in range(which.shape[0]):
        model = which[row]
        if model >= count:
            raise IndexError(f"row {row}: there is no model {model}")
        if model >= 0:
            copied = (<dict>models[model]).copy()
            PyDict_SetItem(copied, inner, (<dict>held[model]).copy())
            rows[row] = copied
