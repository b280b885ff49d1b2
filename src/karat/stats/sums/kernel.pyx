# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles `karat.stats.sums.exact.add_values` and `karat.stats.sums.blocks.blocks`."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    POINT = 1088
    BLOCKS = 4096

cdef int64_t LOW = 4294967295  # the bits of a limb
cdef int64_t FRACTION = (<int64_t> 1 << 52) - 1
cdef double WHOLE = 2147483648.0


def add(int64_t[:, ::1] limbs, Py_ssize_t low, const int64_t[:] cells, const double[:] values, Py_ssize_t start):
    cdef Py_ssize_t n = values.shape[0], width = limbs.shape[1], row = start
    cdef size_t at, room = width - 2 if width > 2 else 0
    cdef double value
    cdef int64_t bits, normal, mantissa, place, sign
    cdef int64_t* line
    cdef int64_t* base = &limbs[0, 0] if width and limbs.shape[0] else NULL
    if width == 1 and low == POINT // 32:
        with nogil:
            while row < n:
                value = values[row]
                if not (-WHOLE < value < WHOLE and <double> <int64_t> value == value):
                    break
                base[cells[row]] += <int64_t> value
                row += 1
        return row
    with nogil:  # without branches but for 0, which most rows have in counts by bin
        while row < n:
            value = values[row]
            memcpy(&bits, &value, sizeof(double))
            if <uint64_t> bits << 1 == 0:
                row += 1
                continue
            place = bits >> 52 & 2047
            normal = place != 0
            mantissa = (bits & FRACTION) + (normal << 52)
            place += POINT - 1074 - normal  # of the mantissa's last bit
            sign = bits >> 63  # (x ^ sign) - sign is -x for a negative value
            at = <size_t> ((place >> 5) - low)
            place &= 31
            if at >= room:
                break
            line = base + cells[row] * width + at
            line[0] += ((<int64_t> (<uint64_t> mantissa << place) & LOW) ^ sign) - sign
            mantissa >>= 32 - place
            line[1] += ((mantissa & LOW) ^ sign) - sign
            line[2] += ((mantissa >> 32) ^ sign) - sign
            row += 1
    return row


def blocks(const uint64_t[:] keys, uint64_t start, int64_t[::1] out):
    cdef Py_ssize_t row
    cdef uint64_t mixed
    with nogil:
        for row in range(keys.shape[0]):
            mixed = keys[row] + start
            mixed = (mixed ^ (mixed >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
            mixed = (mixed ^ (mixed >> 27)) * <uint64_t> 0x94D049BB133111EB
            out[row] = <int64_t> ((mixed ^ (mixed >> 31)) % BLOCKS)
