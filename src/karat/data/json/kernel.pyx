# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where the members of JSON objects lie; what says no decides nothing."""

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memchr, memcmp, memcpy

ctypedef const uint8_t* Bytes

cdef enum:
    MOST = 256  # columns

cdef struct Column:
    Bytes key  # with its quotes
    Py_ssize_t size


def find_members(const uint8_t[::1] data, const int32_t[:] lows, const int32_t[:] highs, list keys,
                 int32_t[:, ::1] starts, int32_t[:, ::1] stops, bint loose):
    """Write where each object has the value of each key; False where one is not plainly an object with these keys.

    Row `i` is `data[lows[i]:highs[i]]`, known to be JSON, and none where that is -1. What is not there, or null, keeps
    the -1 it has in `starts` and `stops`.
    `loose`: objects may have other keys, and rows that are not objects have none.
    """
    cdef Column columns[MOST]
    cdef Py_ssize_t count = len(keys), at, row
    cdef bint plain = True
    if count > MOST:
        return False
    for at in range(count):
        columns[at].key = keys[at]
        columns[at].size = len(keys[at])
    if data.shape[0] == 0:
        return lows.shape[0] == 0 or loose
    cdef Bytes text = &data[0]
    with nogil:
        for row in range(lows.shape[0]):
            if lows[row] >= 0 and not find(text, text + lows[row], text + highs[row], columns, count, loose,
                                           &starts[row, 0], &stops[row, 0]):
                plain = False
                break
    return plain


def copy_slices(const uint8_t[::1] data, const int32_t[:] starts, const int32_t[::1] offsets, uint8_t[::1] copy):
    """Write slices of `data` one after the other: the one at `starts[i]` to `offsets[i]` of the copy, up to the next."""
    cdef Py_ssize_t at
    with nogil:
        for at in range(starts.shape[0]):
            if offsets[at + 1] > offsets[at]:
                memcpy(&copy[offsets[at]], &data[starts[at]], offsets[at + 1] - offsets[at])


cdef bint find(Bytes text, Bytes s, Bytes end, const Column* columns, Py_ssize_t count, bint loose,
               int32_t* starts, int32_t* stops) noexcept nogil:
    cdef bint known
    cdef Py_ssize_t at = 0, looked
    cdef uint8_t seen[MOST]
    cdef Bytes stop
    for looked in range(count):
        seen[looked] = 0
    s = past_space(s, end)
    if s == end or s[0] != 123:
        return loose
    s = past_space(s + 1, end)
    if s < end and s[0] == 125:
        return past_space(s + 1, end) == end
    while True:
        known = False
        for looked in range(count):  # keys mostly come in their order
            if end - s > columns[at].size and memcmp(s, columns[at].key, columns[at].size) == 0:
                known = True
                break
            at = 0 if at + 1 == count else at + 1
        if known:
            if seen[at]:
                return False
            seen[at] = 1
            s = past_space(s + columns[at].size, end)
        else:
            stop = after_text(s, end)
            if not loose or stop == NULL or memchr(s, 92, stop - s) != NULL:  # a known key may be spelled otherwise
                return False
            s = past_space(stop, end)
        if s == end or s[0] != 58:
            return False
        s = past_space(s + 1, end)
        stop = after_any(s, end)
        if stop == NULL:
            return False
        if known:
            if s[0] != 110:  # not null
                starts[at] = <int32_t> (s - text)
                stops[at] = <int32_t> (stop - text)
            at = 0 if at + 1 == count else at + 1
        s = past_space(stop, end)
        if s == end:
            return False
        if s[0] == 125:
            return past_space(s + 1, end) == end
        if s[0] != 44:
            return False
        s = past_space(s + 1, end)


cdef Bytes after_text(Bytes s, Bytes end) noexcept nogil:
    cdef Bytes quote
    cdef Bytes slash
    if s == end or s[0] != 34:
        return NULL
    s += 1
    while True:
        quote = <Bytes> memchr(s, 34, end - s)
        if quote == NULL:
            return NULL
        slash = <Bytes> memchr(s, 92, quote - s)
        if slash == NULL:
            return quote + 1
        s = slash + 2  # an escaped quote does not end it
        if s > end:
            return NULL


cdef inline Bytes past_space(Bytes s, Bytes end) noexcept nogil:
    while s < end and (s[0] == 32 or s[0] == 10 or s[0] == 13 or s[0] == 9):
        s += 1
    return s


cdef Bytes after_any(Bytes s, Bytes end) noexcept nogil:
    """Past any value of JSON that is known to be valid."""
    cdef Py_ssize_t depth = 0
    while s < end:
        if s[0] == 34:
            s = after_text(s, end)
            if s == NULL:
                return NULL
        elif s[0] == 123 or s[0] == 91:
            depth += 1
            s += 1
        elif s[0] == 125 or s[0] == 93:
            depth -= 1
            s += 1
        elif depth == 0:
            while s < end and s[0] not in (44, 125, 93, 32, 9, 10, 13):
                s += 1
        else:
            s += 1
            continue
        if depth == 0:
            return s
    return NULL
