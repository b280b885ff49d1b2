# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles `karat.stats.sums.exact.add_values` and `karat.stats.sums.blocks.blocks`."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    POINT = 1088
    BLOCKS = 4096

cdef int64_t LOW = 4294967295  # the bits of a limb
cdef int64_t FRACTION = (<int64_t> 1 << 52) - 1
cdef double WHOLE = 2147483648.0  # integers below it lie in one limb


def add(int64_t[:, ::1] limbs, Py_ssize_t low, const int64_t[:] cells, const double[:] values, Py_ssize_t start):
    cdef Py_ssize_t n = values.shape[0], width = limbs.shape[1], one = POINT // 32 - low, row, at
    cdef bint counts = 0 <= one < width
    cdef double value
    cdef int64_t bits, exponent, mantissa, shift, sign, first, second, third
    cdef int64_t* line
    cdef int64_t* base = &limbs[0, 0] if width and limbs.shape[0] else NULL
    with nogil:
        for row in range(start, n):
            value = values[row]
            line = base + cells[row] * width
            if counts and -WHOLE < value < WHOLE and <double> <int64_t> value == value:
                line[one] += <int64_t> value
                continue
            if value == 0:
                continue
            memcpy(&bits, &value, sizeof(double))
            exponent = bits >> 52 & 2047
            mantissa = bits & FRACTION
            if exponent:
                mantissa += FRACTION + 1
                exponent -= 1
            exponent += POINT - 1074  # the place of the mantissa's last bit
            shift = exponent & 31
            sign = bits >> 63  # (x ^ sign) - sign is -x for a negative value
            at = <Py_ssize_t> (exponent >> 5) - low
            first = <int64_t> (<uint64_t> mantissa << shift) & LOW
            second = mantissa >> (32 - shift) & LOW
            third = mantissa >> 32 >> (32 - shift)
            if at < 0 or at + 2 >= width:
                if first and not 0 <= at < width:
                    break
                if second and not 0 <= at + 1 < width:
                    break
                if third and not 0 <= at + 2 < width:
                    break
            if first:
                line[at] += (first ^ sign) - sign
            if second:
                line[at + 1] += (second ^ sign) - sign
            if third:
                line[at + 2] += (third ^ sign) - sign
        else:
            row = n
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
