# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles the definitions of `karat.metrics.text.string_comparison`."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memset

from karat.metrics._kernels.tokens cimport (
    FEW, Bytes, Column, Text, Token, alike, are_equal, column, first_bit, longest_of, mark_all, place, same, split, text_of,
)


def equal(a_offsets, a_places, a_data, b_offsets, b_places, b_data, double[::1] out):
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row
    with nogil:
        for row in range(out.shape[0]):
            out[row] = are_equal(text_of(&a, row), text_of(&b, row))


def contains(a_offsets, a_places, a_data, b_offsets, b_places, b_data, bint whole, double[::1] out):
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Text x, y
    cdef Py_ssize_t row
    cdef int64_t* border = <int64_t*> malloc((longest_of(&b, out.shape[0]) + 2) * sizeof(int64_t))
    if border == NULL:
        raise MemoryError
    with nogil:
        for row in range(out.shape[0]):
            x = text_of(&a, row)
            y = text_of(&b, row)
            out[row] = find(x.start, x.size, y.start, y.size, whole, border)
    free(border)


cdef bint find(Bytes a, int64_t a_size, Bytes b, int64_t b_size, bint whole, int64_t* border) noexcept nogil:
    """Whether a contains b, by Knuth, Morris and Pratt's search: time is linear in a and b."""
    cdef int64_t i, held = 0
    if b_size == 0 or b_size > a_size:
        return a_size == b_size
    border[0] = border[1] = 0
    for i in range(1, b_size):
        while held and b[i] != b[held]:
            held = border[held]
        held += b[i] == b[held]
        border[i + 1] = held
    held = 0
    for i in range(a_size):
        while held and a[i] != b[held]:
            held = border[held]
        held += a[i] == b[held]
        if held == b_size:
            if not whole or (starts_word(a, i + 1 - b_size) and ends_word(a, i + 1, a_size)):
                return True
            held = border[held]
    return False


cdef inline bint starts_word(Bytes a, int64_t at) noexcept nogil:
    return at == 0 or a[at - 1] == 32 or (at > 1 and joins(a[at - 1]) and is_letter(a[at - 2]))


cdef inline bint ends_word(Bytes a, int64_t at, int64_t size) noexcept nogil:
    if at == size or a[at] == 32:
        return True
    return (at + 1 < size and joins(a[at]) and is_letter(a[at + 1])) or (at + 2 < size and is_hangul(a + at))


cdef inline bint joins(uint8_t byte) noexcept nogil:
    return byte == 39 or byte == 46 or byte == 58  # ' . :


cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    return byte >= 128 or 97 <= (byte | 32) <= 122


cdef inline bint is_hangul(Bytes a) noexcept nogil:
    return a[0] & 0xF0 == 0xE0 and 0xAC00 <= ((a[0] & 15) << 12 | (a[1] & 63) << 6 | (a[2] & 63)) <= 0xD7A3


def overlap(a_offsets, a_places, a_data, b_offsets, b_places, b_data,
            int64_t[::1] common, int64_t[::1] a_count, int64_t[::1] b_count):
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Text x, y
    cdef Bytes last = NULL
    cdef Py_ssize_t row, rows = common.shape[0], in_a = 0, in_b
    cdef Py_ssize_t longest = max(longest_of(&a, rows), longest_of(&b, rows)) // 2 + 10  # tokens
    cdef Token* tokens = <Token*> malloc(2 * longest * sizeof(Token))
    cdef int64_t* table = <int64_t*> malloc(5 * longest * sizeof(int64_t))
    try:
        if tokens == NULL or table == NULL:
            raise MemoryError
        with nogil:
            for row in range(rows):
                x = text_of(&a, row)
                y = text_of(&b, row)
                if x.size == 0:
                    in_a = 0
                elif x.start != last:  # not the text of the row before, which is split already
                    in_a = split(x.start, x.start + x.size, a.limit, tokens)
                last = x.start if x.size else NULL
                a_count[row] = in_a
                if are_equal(x, y):
                    common[row] = b_count[row] = in_a
                    continue
                b_count[row] = in_b = split(y.start, y.start + y.size, b.limit, tokens + longest)
                if in_a <= FEW:
                    common[row] = match_few(tokens, in_a, tokens + longest, in_b)
                else:
                    common[row] = match_many(tokens, in_a, tokens + longest, in_b, table, table + longest)
    finally:
        free(tokens)
        free(table)


cdef int64_t match_few(const Token* a, Py_ssize_t in_a, const Token* b, Py_ssize_t in_b) noexcept nogil:
    cdef uint64_t marks[8]  # FEW of them
    cdef uint64_t found, unused
    cdef int64_t common = 0
    cdef Py_ssize_t j
    if in_a == 0:
        return 0
    mark_all(a, in_a, marks)
    unused = ~<uint64_t>0 >> (64 - in_a)
    for j in range(in_b):
        found = alike(marks, in_a, &b[j]) & unused
        while found and not (a[first_bit(found)].key == b[j].key and same(&a[first_bit(found)], &b[j])):
            found &= found - 1
        unused ^= found & -found
        common += found != 0
    return common


cdef int64_t match_many(const Token* a, Py_ssize_t in_a, const Token* b, Py_ssize_t in_b,
                        int64_t* unused, int64_t* table) noexcept nogil:
    """`table` maps a token to its first place in a, plus 1, and `unused` counts it there; time is linear."""
    cdef int64_t common = 0
    cdef int shift = 63
    cdef uint64_t slot
    cdef Py_ssize_t i
    while (<uint64_t>1 << (64 - shift)) < 2 * <uint64_t>in_a:
        shift -= 1
    memset(table, 0, sizeof(int64_t) << (64 - shift))
    for i in range(in_a):
        slot = place(a, table, shift, &a[i])
        if table[slot] == 0:
            table[slot] = i + 1
            unused[i] = 0
        unused[table[slot] - 1] += 1
    for i in range(in_b):
        slot = place(a, table, shift, &b[i])
        if table[slot] and unused[table[slot] - 1]:
            unused[table[slot] - 1] -= 1
            common += 1
    return common
