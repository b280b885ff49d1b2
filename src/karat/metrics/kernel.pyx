# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The definitions in `pairs`, compiled.

A column is its texts' offsets and data, and the place of each row's text among them: -1 for the empty text; no places at
all where row and place are one.

Longer than 300 lines because its functions inline into each other only within a module.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define as_little(word) __builtin_bswap64(word)
    #else
    #define as_little(word) (word)
    #endif

    /* A bit for each space among 16 bytes. */
    #ifdef __SSE2__
    #include <emmintrin.h>
    static inline uint64_t spaces_16(const uint8_t* text) {
        return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i*) text), _mm_set1_epi8(32)));
    }
    #else
    static inline uint64_t spaces_16(const uint8_t* text) {
        uint64_t spaces = 0;
        for (int i = 0; i < 16; i++) spaces |= (uint64_t) (text[i] == 32) << i;
        return spaces;
    }
    #endif
    """
    uint64_t spaces_16(const uint8_t*) nogil
    uint64_t as_little(uint64_t) nogil
    int first_bit "__builtin_ctzll"(uint64_t) nogil

ctypedef const uint8_t* Bytes

cdef struct Column:
    const int64_t* offsets
    const int64_t* places  # or NULL
    Bytes data
    Bytes limit  # where the memory of the texts ends

cdef struct Text:
    Bytes start
    Py_ssize_t size

cdef struct Token:
    uint64_t key  # up to 7 bytes: they and their number; else a hash, whose top bit is set
    Bytes text
    Py_ssize_t size

cdef enum:
    FEW = 64  # tokens that are compared one with another, as bits of a word; more go through a hash table

cdef uint64_t EACH = 0x0101010101010101  # a byte in every byte of a word
cdef uint64_t TOP = 0x8000000000000000
cdef uint64_t GATHER = 0x0102040810204080  # times 0 or 1 in every byte: these as the bits of the top byte
cdef uint64_t ODD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads keys over their upper bits


cdef Column column(const int64_t[::1] offsets, const int64_t[::1] places, const uint8_t[::1] data):
    cdef Column made
    made.offsets = &offsets[0]
    made.places = NULL
    if places.shape[0]:
        made.places = &places[0]
    made.data = &data[0]
    made.limit = made.data + data.shape[0]
    return made


cdef inline Text text_of(const Column* texts, Py_ssize_t row) noexcept nogil:
    cdef Text text
    cdef Py_ssize_t place = texts.places[row] if texts.places else row
    text.start = texts.data
    text.size = 0
    if place >= 0:
        text.start += texts.offsets[place]
        text.size = texts.offsets[place + 1] - texts.offsets[place]
    return text


cdef Py_ssize_t longest_of(const Column* texts, Py_ssize_t rows) noexcept nogil:
    cdef Py_ssize_t row, longest = 0
    for row in range(rows):
        longest = max(longest, text_of(texts, row).size)
    return longest


cdef inline bint are_equal(Text x, Text y) noexcept nogil:
    return x.size == y.size and memcmp(x.start, y.start, x.size) == 0


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
    """Knuth, Morris and Pratt's search: linear, however much of b every place in a begins with."""
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
            if not whole or ((i + 1 == b_size or a[i - b_size] == 32) and (i + 1 == a_size or a[i + 1] == 32)):
                return True
            held = border[held]
    return False


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
                elif x.start != last:  # texts do not overlap, so that no other one starts here
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


cdef Py_ssize_t split(Bytes text, Bytes end, Bytes limit, Token* tokens) noexcept nogil:
    cdef Bytes token = text
    cdef Bytes stop
    cdef uint64_t spaces
    cdef Py_ssize_t count = 0
    while text < end:
        spaces = find_spaces(text, end, limit)
        while spaces:
            stop = text + first_bit(spaces)
            spaces &= spaces - 1
            count += take(token, stop, limit, &tokens[count])
            token = stop + 1
        text += 64
    if token < end:
        count += take(token, end, limit, &tokens[count])
    return count


cdef inline uint64_t find_spaces(Bytes text, Bytes end, Bytes limit) noexcept nogil:
    """A bit for each space among the next 64 bytes."""
    cdef uint8_t rest[16]
    cdef uint64_t spaces = 0
    cdef Py_ssize_t i = 0, size = end - text
    if size > 64:
        size = 64
    while i < size:
        if limit - text - i >= 16:
            spaces |= spaces_16(text + i) << i
        else:
            memset(rest, 0, 16)
            memcpy(rest, text + i, limit - text - i)
            spaces |= spaces_16(rest) << i
        i += 16
    return spaces & (~<uint64_t>0 >> (64 - size))


cdef inline uint64_t load(Bytes text, Bytes limit) noexcept nogil:
    """The next 8 bytes, the first one lowest; 0 where memory ends."""
    cdef uint64_t word = 0
    if limit - text >= 8:
        memcpy(&word, text, 8)
    else:
        memcpy(&word, text, limit - text)
    return as_little(word)


cdef inline bint take(Bytes text, Bytes end, Bytes limit, Token* token) noexcept nogil:
    """Make a token of these bytes; 0 where there are none."""
    cdef Py_ssize_t size = end - text
    if size <= 0:
        return False
    token.text = text
    token.size = size
    token.key = load(text, limit)
    if size < 8:
        token.key = (token.key & (<uint64_t>1 << (8 * size)) - 1) | <uint64_t>size << 56
        return True
    while end - text > 16:
        text += 8
        token.key = mix(token.key, load(text, limit))
    token.key = mix(token.key, load(end - 8, limit)) | TOP
    return True


cdef inline uint64_t mix(uint64_t key, uint64_t word) noexcept nogil:
    key = (key ^ (key >> 29)) * ODD + word
    return key ^ (key >> 32)


cdef inline bint same(const Token* one, const Token* other) noexcept nogil:
    """Whether tokens of equal keys are equal."""
    return one.size == other.size and (one.size < 8 or memcmp(one.text, other.text, one.size) == 0)


cdef int64_t match_few(const Token* a, Py_ssize_t in_a, const Token* b, Py_ssize_t in_b) noexcept nogil:
    """A byte of each key of a, eight to a word, is compared with that of a token of b at once; what is alike, in full."""
    cdef uint64_t marks[8]  # FEW of them
    cdef uint64_t alike, differ, unused
    cdef int64_t common = 0
    cdef Py_ssize_t i, j, words = (in_a + 7) >> 3
    if in_a == 0:
        return 0
    memset(marks, 0, 8 * words)
    for i in range(in_a):
        marks[i >> 3] |= mark(&a[i]) << (8 * (i & 7))
    unused = ~<uint64_t>0 >> (64 - in_a)
    for j in range(in_b):
        alike = 0
        for i in range(words):
            differ = marks[i] ^ mark(&b[j]) * EACH
            differ = ~(((differ & (127 * EACH)) + 127 * EACH) | differ) & (128 * EACH)
            alike |= ((differ >> 7) * GATHER >> 56) << (8 * i)
        alike &= unused
        while alike and not (a[first_bit(alike)].key == b[j].key and same(&a[first_bit(alike)], &b[j])):
            alike &= alike - 1
        unused ^= alike & -alike
        common += alike != 0
    return common


cdef inline uint64_t mark(const Token* token) noexcept nogil:
    return token.key * ODD >> 56


cdef int64_t match_many(const Token* a, Py_ssize_t in_a, const Token* b, Py_ssize_t in_b,
                        int64_t* unused, int64_t* table) noexcept nogil:
    """`table` maps a token to its first place in a, plus 1, and `unused` counts it: linear, however long the texts."""
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


cdef inline uint64_t place(const Token* a, const int64_t* table, int shift, const Token* token) noexcept nogil:
    """The slot that holds this token, or the free one where it belongs."""
    cdef uint64_t last = (<uint64_t>1 << (64 - shift)) - 1
    cdef uint64_t slot = (token.key ^ (token.key >> 31)) * ODD >> shift
    while table[slot] and not (a[table[slot] - 1].key == token.key and same(&a[table[slot] - 1], token)):
        slot = (slot + 1) & last
    return slot
