# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles the definitions of `karat.metrics.text.edit_distance`: distances of words or characters, Jaro-Winkler, TER.

The words or characters of a row are numbered from 1 as they occur in its first text; what only the second has is 0.

Longer than 300 lines because the compiler inlines functions only within a module.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from karat.metrics._kernels.tokens cimport Bytes, Column, Text, Token, column, first_bit, longest_of, place, split, text_of

cdef enum:
    CODES = 0x110000  # code points
    WORDS = 4  # machine words of the first text that are compared at once with each symbol of the second
    SHIFT_SIZE = 10  # the limits of TER are sacrebleu's, which has them from tercom
    SHIFT_DISTANCE = 50
    BEAM = 25
    CANDIDATES = 1000
    FAR = 1 << 28  # the distance outside the beam

cdef struct Pair:  # the two texts of a row as numbers
    int32_t* a
    int32_t* b
    Py_ssize_t in_a
    Py_ssize_t in_b
    int32_t highest
    int32_t* codes  # of each code point its number; NULL where words are compared
    int32_t* seen  # the code point of each number
    Token* tokens
    int64_t* table


cdef int open_pair(Pair* pair, const Column* a, const Column* b, Py_ssize_t rows, bint words) except -1:
    """Allocate memory for the longest texts."""
    cdef Py_ssize_t most_a = longest_of(a, rows) + 10, most_b = longest_of(b, rows) + 10
    pair.codes = NULL
    pair.tokens = NULL
    pair.table = NULL
    pair.a = <int32_t*> malloc(most_a * sizeof(int32_t))
    pair.b = <int32_t*> malloc(most_b * sizeof(int32_t))
    pair.seen = <int32_t*> malloc(most_a * sizeof(int32_t))
    if words:
        pair.tokens = <Token*> malloc(max(most_a, most_b) * sizeof(Token) * 2)
        pair.table = <int64_t*> malloc(4 * most_a * sizeof(int64_t))
    else:
        pair.codes = <int32_t*> calloc(CODES, sizeof(int32_t))
    if not (pair.a and pair.b and pair.seen and (pair.tokens and pair.table if words else pair.codes)):
        raise MemoryError
    return 0


cdef void close_pair(Pair* pair) noexcept:
    free(pair.a)
    free(pair.b)
    free(pair.seen)
    free(pair.codes)
    free(pair.tokens)
    free(pair.table)


cdef void read(Pair* pair, const Column* a, const Column* b, Py_ssize_t row) noexcept nogil:
    if pair.codes:
        read_characters(pair, text_of(a, row), text_of(b, row))
    else:
        read_words(pair, a, b, text_of(a, row), text_of(b, row))


cdef void read_words(Pair* pair, const Column* a, const Column* b, Text x, Text y) noexcept nogil:
    cdef Token* other
    cdef int shift = 63
    cdef uint64_t slot
    cdef Py_ssize_t i
    pair.in_a = split(x.start, x.start + x.size, a.limit, pair.tokens)
    other = pair.tokens + pair.in_a
    pair.in_b = split(y.start, y.start + y.size, b.limit, other)
    pair.highest = 0
    while (<uint64_t>1 << (64 - shift)) < 2 * <uint64_t>pair.in_a:
        shift -= 1
    memset(pair.table, 0, sizeof(int64_t) << (64 - shift))
    for i in range(pair.in_a):
        slot = place(pair.tokens, pair.table, shift, &pair.tokens[i])
        if pair.table[slot] == 0:
            pair.table[slot] = i + 1
            pair.highest += 1
            pair.a[i] = pair.highest
        else:
            pair.a[i] = pair.a[pair.table[slot] - 1]
    for i in range(pair.in_b):
        slot = place(pair.tokens, pair.table, shift, &other[i])
        pair.b[i] = pair.a[pair.table[slot] - 1] if pair.table[slot] else 0


cdef void read_characters(Pair* pair, Text x, Text y) noexcept nogil:
    cdef Bytes text = x.start
    cdef int32_t code
    cdef Py_ssize_t i
    if is_ascii(x) and is_ascii(y):  # a character is its own number
        pair.in_a = x.size
        pair.in_b = y.size
        pair.highest = 127
        for i in range(x.size):
            pair.a[i] = x.start[i]
        for i in range(y.size):
            pair.b[i] = y.start[i]
        return
    pair.in_a = pair.in_b = 0
    pair.highest = 0
    while text < x.start + x.size:
        code = next_code(&text, x.start + x.size)
        if pair.codes[code] == 0:
            pair.highest += 1
            pair.codes[code] = pair.highest
            pair.seen[pair.highest] = code
        pair.a[pair.in_a] = pair.codes[code]
        pair.in_a += 1
    text = y.start
    while text < y.start + y.size:
        pair.b[pair.in_b] = pair.codes[next_code(&text, y.start + y.size)]
        pair.in_b += 1
    for i in range(1, pair.highest + 1):
        pair.codes[pair.seen[i]] = 0


cdef inline bint is_ascii(Text text) noexcept nogil:
    cdef uint8_t all_bits = 0
    cdef Py_ssize_t i
    for i in range(text.size):
        all_bits |= text.start[i]
    return all_bits < 128


cdef inline int32_t next_code(Bytes* text, Bytes end) noexcept nogil:
    """The next code point of a text in UTF-8; reads no byte beyond its end whatever the bytes are."""
    cdef int32_t code = text[0][0], more
    text[0] += 1
    if code < 0xC0:
        return code
    more = 1 + (code >= 0xE0) + (code >= 0xF0)
    code &= 0x3F >> more
    while more and text[0] < end:
        code = code << 6 | (text[0][0] & 0x3F)
        text[0] += 1
        more -= 1
    return code if code < CODES else 0


def levenshtein(a_offsets, a_places, a_data, b_offsets, b_places, b_data, bint words,
                int64_t[::1] edits, int64_t[::1] a_count, int64_t[::1] b_count):
    """Write the edit distance of each row's texts, in words or characters, and how many each text has."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row, rows = edits.shape[0]
    cdef Py_ssize_t most = max(longest_of(&a, rows), longest_of(&b, rows)) + 10
    cdef Pair pair
    cdef uint64_t* masks = <uint64_t*> calloc(WORDS * (most + 128), sizeof(uint64_t))
    cdef uint8_t* carries = <uint8_t*> malloc(most)
    try:
        open_pair(&pair, &a, &b, rows, words)
        if masks == NULL or carries == NULL:
            raise MemoryError
        with nogil:
            for row in range(rows):
                read(&pair, &a, &b, row)
                a_count[row] = pair.in_a
                b_count[row] = pair.in_b
                edits[row] = distance(pair.a, pair.in_a, pair.b, pair.in_b, masks, carries)
    finally:
        close_pair(&pair)
        free(masks)
        free(carries)


cdef int64_t distance(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b,
                      uint64_t* masks, uint8_t* carries) noexcept nogil:
    """Edits between two sequences (Myers 1999, Hyyrö 2003); `masks` are 0, and are so again afterwards."""
    cdef int64_t rows, change = 0
    while in_a and in_b and a[0] == b[0]:
        a += 1
        b += 1
        in_a -= 1
        in_b -= 1
    while in_a and in_b and a[in_a - 1] == b[in_b - 1]:
        in_a -= 1
        in_b -= 1
    if in_a > in_b:
        a, b, in_a, in_b = b, a, in_b, in_a
    if in_a == 0:
        return in_b
    if in_a <= 64:
        return distance_of_few(a, in_a, b, in_b, masks)
    memset(carries, 1, in_b)
    rows = in_a
    while in_a > 0:
        change = strip(a, min(in_a, 64 * WORDS), b, in_b, masks, carries)
        a += 64 * WORDS
        in_a -= 64 * WORDS
    return rows + change


cdef int64_t distance_of_few(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b,
                             uint64_t* masks) noexcept nogil:
    cdef uint64_t plus = ~<uint64_t>0, minus = 0, here, zero, rise, fall
    cdef int64_t edits = in_a
    cdef Py_ssize_t i
    for i in range(in_a):
        masks[a[i]] |= <uint64_t>1 << i
    for i in range(in_b):
        here = masks[b[i]]
        zero = (((here & plus) + plus) ^ plus) | here | minus
        rise = minus | ~(zero | plus)
        fall = zero & plus
        edits += <int64_t>(rise >> (in_a - 1) & 1) - <int64_t>(fall >> (in_a - 1) & 1)
        rise = rise << 1 | 1
        fall <<= 1
        plus = fall | ~(zero | rise)
        minus = rise & zero
    for i in range(in_a):
        masks[a[i]] = 0
    return edits


cdef int64_t strip(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b,
                   uint64_t* masks, uint8_t* carries) noexcept nogil:
    """Compare a part of a with b; returns how the distance changes along its last row.

    `carries` has for each place of b whether the distance rises (bit 0) or falls (bit 1) there in the row above, and
    then in the last row of this part.
    """
    cdef uint64_t plus[WORDS]
    cdef uint64_t minus[WORDS]
    cdef uint64_t here, zero, rise, fall, rose, fell, up, down
    cdef const uint64_t* mask
    cdef int64_t change = 0
    cdef Py_ssize_t i, k, last = (in_a - 1) >> 6
    cdef int end = (in_a - 1) & 63
    for i in range(in_a):
        masks[WORDS * a[i] + (i >> 6)] |= <uint64_t>1 << (i & 63)
    memset(plus, 255, sizeof(plus))
    memset(minus, 0, sizeof(minus))
    for i in range(in_b):
        mask = masks + WORDS * b[i]
        up = carries[i] & 1
        down = carries[i] >> 1
        rise = fall = 0
        for k in range(last + 1):
            here = mask[k] | down
            zero = (((here & plus[k]) + plus[k]) ^ plus[k]) | here | minus[k]
            rise = minus[k] | ~(zero | plus[k])
            fall = zero & plus[k]
            rose = rise << 1 | up
            fell = fall << 1 | down
            up = rise >> 63
            down = fall >> 63
            plus[k] = fell | ~(zero | rose)
            minus[k] = rose & zero
        up = rise >> end & 1
        down = fall >> end & 1
        carries[i] = up | down << 1
        change += <int64_t>up - <int64_t>down
    for i in range(in_a):
        masks[WORDS * a[i] + (i >> 6)] = 0
    return change


def jaro_winkler(a_offsets, a_places, a_data, b_offsets, b_places, b_data, double[::1] out):
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row, rows = out.shape[0]
    cdef Py_ssize_t most = longest_of(&a, rows) + longest_of(&b, rows) + 128
    cdef int64_t count, moved
    cdef Pair pair
    cdef int32_t* room = <int32_t*> malloc(4 * most * sizeof(int32_t))
    cdef uint64_t* masks = <uint64_t*> calloc(most, sizeof(uint64_t))
    try:
        open_pair(&pair, &a, &b, rows, False)
        if room == NULL or masks == NULL:
            raise MemoryError
        with nogil:
            for row in range(rows):
                read(&pair, &a, &b, row)
                count = moved = 0
                if 0 < pair.in_a <= 64 and 0 < pair.in_b <= 64:
                    match_few(&pair, masks, &count, &moved)
                elif pair.in_a and pair.in_b:
                    match_many(&pair, room, room + most, room + 2 * most, <uint8_t*> (room + 3 * most), &count, &moved)
                out[row] = winkler(&pair, count, moved)
    finally:
        close_pair(&pair)
        free(room)
        free(masks)


cdef inline Py_ssize_t reach_of(const Pair* pair) noexcept nogil:
    """How far away a character may match."""
    return max(max(pair.in_a, pair.in_b) // 2 - 1, 0)


cdef void match_few(const Pair* pair, uint64_t* masks, int64_t* count, int64_t* moved) noexcept nogil:
    """The matches of two texts of at most 64 characters, and how many of them are in another order."""
    cdef uint64_t found, matched = 0, free_ = ~<uint64_t>0, taken
    cdef Py_ssize_t i, reach = reach_of(pair)
    for i in range(pair.in_b):
        masks[pair.b[i]] |= <uint64_t>1 << i
    for i in range(pair.in_a):
        found = masks[pair.a[i]] & free_ & (~<uint64_t>0 << max(i - reach, 0)) & (~<uint64_t>0 >> max(63 - i - reach, 0))
        free_ ^= found & -found
        matched |= <uint64_t>(found != 0) << i
    for i in range(pair.in_b):
        masks[pair.b[i]] = 0
    taken = ~free_
    while taken:
        count[0] += 1
        moved[0] += pair.a[first_bit(matched)] != pair.b[first_bit(taken)]
        matched &= matched - 1
        taken &= taken - 1


cdef void match_many(const Pair* pair, int32_t* first, int32_t* later, int32_t* matched, uint8_t* taken,
                     int64_t* count, int64_t* moved) noexcept nogil:
    """As `match_few`, for texts of any length: `first` is the first free place in b of a number, `later` the next one."""
    cdef Py_ssize_t i, reach = reach_of(pair)
    cdef int32_t at
    memset(first, 255, (pair.highest + 1) * sizeof(int32_t))  # -1: nowhere
    for i in range(pair.in_b - 1, -1, -1):
        later[i] = first[pair.b[i]]
        first[pair.b[i]] = <int32_t>i
    memset(taken, 0, pair.in_b)
    for i in range(pair.in_a):
        at = first[pair.a[i]]
        while at >= 0 and at < i - reach:
            at = later[at]
        if at >= 0 and at <= i + reach:
            taken[at] = 1
            matched[count[0]] = pair.a[i]
            count[0] += 1
            at = later[at]
        first[pair.a[i]] = at
    at = 0
    for i in range(pair.in_b):
        if taken[i]:
            moved[0] += pair.b[i] != matched[at]
            at += 1


cdef double winkler(const Pair* pair, int64_t count, int64_t moved) noexcept nogil:
    cdef double jaro
    cdef Py_ssize_t prefix = 0, least = min(pair.in_a, pair.in_b)
    if count == 0:
        return pair.in_a == 0 and pair.in_b == 0
    jaro = <double>count / <double>pair.in_a
    jaro += <double>count / <double>pair.in_b
    jaro += <double>(count - moved // 2) / <double>count
    jaro /= 3.0
    if jaro <= 0.7:
        return jaro
    while prefix < 4 and prefix < least and pair.a[prefix] == pair.b[prefix]:
        prefix += 1
    return min(jaro + <double>prefix * 0.1 * (1.0 - jaro), 1.0)
