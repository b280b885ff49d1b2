# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts and tokens for the kernels of this folder, which inline these functions.

A column is the offsets and data of its texts, and the place of each row's text among them: -1 is the empty text;
without places row i has text i.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define as_little(word) __builtin_bswap64(word)
    #else
    #define as_little(word) (word)
    #endif

    /* A bit for each of 16 bytes that equals one. SIXTEEN: whether they are compared at once. */
    #ifdef __SSE2__
    #include <emmintrin.h>
    #define SIXTEEN 1
    static inline uint64_t equal_16(const uint8_t* text, uint8_t byte) {
        return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i*) text), _mm_set1_epi8((char) byte)));
    }
    #else
    #define SIXTEEN 0
    static inline uint64_t equal_16(const uint8_t* text, uint8_t byte) {
        uint64_t equal = 0;
        for (int i = 0; i < 16; i++) equal |= (uint64_t) (text[i] == byte) << i;
        return equal;
    }
    #endif

    #define EACH 0x0101010101010101ULL    /* a byte in every byte of a word */
    #define TOP 0x8000000000000000ULL
    #define GATHER 0x0102040810204080ULL  /* times 0 or 1 in every byte: these as the bits of the top byte */
    #define ODD 0x9E3779B97F4A7C15ULL     /* 2^64 over the golden ratio: spreads keys over their upper bits */
    """
    const uint64_t EACH, TOP, GATHER, ODD
    const int SIXTEEN
    uint64_t equal_16(const uint8_t*, uint8_t) nogil
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
    uint64_t key  # for up to 7 bytes: the bytes and their number; else a hash with its top bit set
    Bytes text
    Py_ssize_t size

cdef enum:
    SPACE = 32
    FEW = 64  # up to so many tokens are compared as bits of a machine word; with more, a hash table is used


cdef inline Column column(const int64_t[::1] offsets, const int64_t[::1] places, const uint8_t[::1] data):
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
    cdef inline Py_ssize_t place = texts.places[row] if texts.places else row
    text.start = texts.data
    text.size = 0
    if place >= 0:
        text.start += texts.offsets[place]
        text.size = texts.offsets[place + 1] - texts.offsets[place]
    return text


cdef inline Py_ssize_t longest_of(const Column* texts, Py_ssize_t rows) noexcept nogil:
    cdef inline Py_ssize_t row, longest = 0
    for row in range(rows):
        longest = max(longest, text_of(texts, row).size)
    return longest


cdef inline bint are_equal(Text x, Text y) noexcept nogil:
    return x.size == y.size and memcmp(x.start, y.start, x.size) == 0


cdef inline Py_ssize_t split(Bytes text, Bytes end, Bytes limit, Token* tokens) noexcept nogil:
    cdef Bytes token = text
    cdef Bytes stop
    cdef uint64_t spaces
    cdef inline Py_ssize_t count = 0
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
    """A bit for each of the next 64 bytes that is a space."""
    cdef uint8_t rest[16]
    cdef uint64_t spaces = 0
    cdef inline Py_ssize_t i = 0, size = end - text
    if size > 64:
        size = 64
    while i < size:
        if limit - text - i >= 16:
            spaces |= equal_16(text + i, SPACE) << i
        else:
            memset(rest, 0, 16)
            memcpy(rest, text + i, limit - text - i)
            spaces |= equal_16(rest, SPACE) << i
        i += 16
    return spaces & (~<uint64_t>0 >> (64 - size))


cdef inline uint64_t load(Bytes text, Bytes limit) noexcept nogil:
    """The next 8 bytes as a number, the first byte lowest; 0 beyond the end of the memory."""
    cdef uint64_t word = 0
    if limit - text >= 8:
        memcpy(&word, text, 8)
    else:
        memcpy(&word, text, limit - text)
    return as_little(word)


cdef inline bint take(Bytes text, Bytes end, Bytes limit, Token* token) noexcept nogil:
    """Make a token of these bytes; false if there are none."""
    cdef inline Py_ssize_t size = end - text
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


cdef inline void mark_all(const Token* tokens, Py_ssize_t count, uint64_t* marks) noexcept nogil:
    """Store one byte of the key of each of at most FEW tokens, eight in a word."""
    cdef Py_ssize_t i
    memset(marks, 0, (count + 7) & ~7)
    for i in range(count):
        marks[i >> 3] |= mark(&tokens[i]) << (8 * (i & 7))


cdef inline uint64_t alike(const uint64_t* marks, Py_ssize_t count, const Token* token) noexcept nogil:
    """A bit for each marked token that may equal this one, eight compared at once; bits beyond `count` are undefined."""
    cdef uint64_t differ, found = 0
    cdef uint64_t each = mark(token) * EACH
    cdef Py_ssize_t i
    for i in range((count + 7) >> 3):
        differ = marks[i] ^ each
        differ = ~(((differ & (127 * EACH)) + 127 * EACH) | differ) & (128 * EACH)
        found |= ((differ >> 7) * GATHER >> 56) << (8 * i)
    return found


cdef inline uint64_t mark(const Token* token) noexcept nogil:
    return token.key * ODD >> 56


cdef inline uint64_t place(const Token* a, const int64_t* table, int shift, const Token* token) noexcept nogil:
    """The slot of a table of 2^(64 - shift) that holds this token's number in a, plus 1, or the free slot for it."""
    cdef inline uint64_t last = (<uint64_t>1 << (64 - shift)) - 1
    cdef inline uint64_t slot = (token.key ^ (token.key >> 31)) * ODD >> shift
    while table[slot] and not (a[table[slot] - 1].key == token.key and same(&a[table[slot] - 1], token)):
        slot = (slot + 1) & last
    return slot
