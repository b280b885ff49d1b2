# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles `karat.core.columns.hashes.texts.hash_texts`."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t mix(uint64_t key, uint64_t step) noexcept nogil:
    key += step
    key = (key ^ (key >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    key = (key ^ (key >> 27)) * <uint64_t> 0x94D049BB133111EB
    return key ^ (key >> 31)


def hash_texts(const unsigned char[::1] data, const int64_t[::1] ends, uint64_t[::1] out, uint64_t step):
    cdef Py_ssize_t row, n = out.shape[0]
    cdef int64_t at, size
    cdef uint64_t key, word
    with nogil:
        for row in range(n):
            at, size = ends[row], ends[row + 1] - ends[row]
            key = mix(<uint64_t> size, step)
            while size > 0:
                word = 0
                memcpy(&word, &data[at], 8 if size > 8 else size)  # of a machine whose words begin with their low byte
                key = mix(key ^ word, step)
                at += 8
                size -= 8
            out[row] = key
