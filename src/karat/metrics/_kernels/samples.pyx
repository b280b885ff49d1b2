# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles the definitions of `karat.metrics.repeats.counting`."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from karat.metrics._kernels.tokens cimport (
    FEW, Bytes, Column, Text, Token, alike, column, first_bit, mark, place, same, take, text_of,
)


def group_texts(
    offsets, places, data, const int64_t[::1] sizes,
    int64_t[::1] numbers, int64_t[::1] rows, int64_t[::1] weights, int64_t[::1] counts,
):
    cdef Column texts = column(offsets, places, data)
    cdef Py_ssize_t question, row = 0, end = 0, total = 0, known, at, longest = 1
    cdef uint64_t marks[8]  # FEW of them
    cdef int64_t* table
    cdef int64_t* own
    cdef Token* tokens
    for question in range(sizes.shape[0]):
        longest = max(longest, sizes[question])
    tokens = <Token*> malloc(longest * sizeof(Token))  # the different texts of a question
    own = <int64_t*> malloc(longest * sizeof(int64_t))  # and their numbers
    table = <int64_t*> malloc(4 * longest * sizeof(int64_t))
    try:
        if tokens == NULL or own == NULL or table == NULL:
            raise MemoryError
        with nogil:
            for question in range(sizes.shape[0]):
                end += sizes[question]
                counts[question] = -total
                known = 0
                memset(marks, 0, sizeof(marks))
                while row < end:
                    at = known
                    if not texts.places or texts.places[row] >= 0:  # no null
                        read(&texts, row, &tokens[known])
                        if known < FEW:
                            at = find_few(tokens, known, marks)
                        else:
                            at = find_many(tokens, known, table, shift_of(sizes[question]))
                        if at == known:
                            own[known] = total
                            known += 1
                            if known == FEW:
                                fill(tokens, table, shift_of(sizes[question]))
                    else:
                        own[known] = total
                    if own[at] == total:
                        rows[total] = row
                        weights[total] = 0
                        total += 1
                    weights[own[at]] += 1
                    numbers[row] = own[at]
                    row += 1
                counts[question] += total
    finally:
        free(tokens)
        free(own)
        free(table)
    return total


cdef inline void read(const Column* texts, Py_ssize_t row, Token* token) noexcept nogil:
    cdef Text text = text_of(texts, row)
    if not take(text.start, text.start + text.size, texts.limit, token):
        token.text, token.size, token.key = text.start, 0, 0


cdef inline Py_ssize_t find_few(const Token* tokens, Py_ssize_t known, uint64_t* marks) noexcept nogil:
    """The number of the token that equals the one behind the known ones; its own, which is then marked, if none does."""
    cdef const Token* token = &tokens[known]
    cdef uint64_t found = alike(marks, known, token) & ((<uint64_t> 1 << known) - 1)
    cdef Py_ssize_t at
    while found:
        at = first_bit(found)
        if tokens[at].key == token.key and same(&tokens[at], token):
            return at
        found &= found - 1
    marks[known >> 3] |= mark(token) << (8 * (known & 7))
    return known


cdef inline int shift_of(int64_t size) noexcept nogil:
    """That of a table at least twice as large as `size`, and not four times."""
    cdef int shift = 63
    while (<uint64_t> 1 << (64 - shift)) < 2 * <uint64_t> size:
        shift -= 1
    return shift


cdef void fill(const Token* tokens, int64_t* table, int shift) noexcept nogil:
    """Note the first FEW tokens in the table."""
    cdef Py_ssize_t at
    memset(table, 0, sizeof(int64_t) << (64 - shift))
    for at in range(FEW):
        table[place(tokens, table, shift, &tokens[at])] = at + 1


cdef inline Py_ssize_t find_many(const Token* tokens, Py_ssize_t known, int64_t* table, int shift) noexcept nogil:
    """`find_few` by a table of the known tokens."""
    cdef uint64_t slot = place(tokens, table, shift, &tokens[known])
    if table[slot] == 0:
        table[slot] = known + 1
    return table[slot] - 1


def count_ones(const double[::1] scores, const int64_t[::1] sizes, int64_t[::1] out):
    cdef const int64_t* bits = <const int64_t*> &scores[0] if scores.shape[0] else NULL
    cdef int64_t one = <int64_t> 1023 << 52, odd = 0, count, bit
    cdef Py_ssize_t question, row = 0, end = 0
    with nogil:
        for question in range(sizes.shape[0]):
            end += sizes[question]
            count = 0
            for row in range(row, end):  # without branches, so that compilers take several at once
                bit = bits[row] >> 52 & 1
                odd |= bits[row] ^ (-bit & one)
                count += bit
            row = end
            out[question] = count
    return odd == 0


def vote(const int64_t[::1] weights, const double[::1] scores, const int64_t[::1] sizes, double[::1] out):
    cdef Py_ssize_t question, row = 0, end = 0, start
    cdef int64_t most, winners
    cdef double total
    with nogil:
        for question in range(sizes.shape[0]):
            start, end = end, end + sizes[question]
            most, winners, total = 1, 0, 0
            for row in range(start, end):
                most = max(most, weights[row])
            for row in range(start, end):
                if weights[row] == most:
                    winners += 1
                    total += scores[row]
            if winners:
                out[question] = total / winners
