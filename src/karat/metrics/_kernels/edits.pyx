# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles the definitions of `karat.metrics.text.edit_distance`: distances of words or characters, Jaro-Winkler, TER.

The words or characters of a row are numbered from 1 as they occur in its first text; what only the second has is 0.

Longer than 300 lines because the compiler inlines functions only within a module.
"""

from libc.math cimport ceil, floor
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from karat.metrics._kernels.tokens cimport (
    EACH, FEW, SIXTEEN, Bytes, Column, Text, Token, column, equal_16, first_bit, load, longest_of, place, split,
    text_of,
)

cdef extern from *:
    int count_bits "__builtin_popcountll"(uint64_t) nogil

ctypedef fused Symbol:
    uint8_t
    int32_t

cdef enum:
    CODES = 0x110000  # code points
    WORDS = 4  # machine words of the first text that are compared at once with each symbol of the second
    REACH = 32  # symbols from the diagonal to which a first distance of long texts keeps
    LONG = 2048  # symbols
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
        read_characters(pair, a, b, text_of(a, row), text_of(b, row))
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


cdef void read_characters(Pair* pair, const Column* a, const Column* b, Text x, Text y) noexcept nogil:
    cdef Bytes text = x.start
    cdef int32_t code
    cdef Py_ssize_t i
    if is_ascii(x, a.limit) and is_ascii(y, b.limit):  # a character is its own number
        pair.in_a = x.size
        pair.in_b = y.size
        pair.highest = 127
        widen(x.start, x.size, pair.a)
        widen(y.start, y.size, pair.b)
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


cdef inline void widen(Bytes text, Py_ssize_t size, int32_t* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        out[i] = text[i]


cdef inline bint is_ascii(Text text, Bytes limit) noexcept nogil:
    cdef uint64_t all_bits = 0
    cdef inline Py_ssize_t i = 0
    while i + 8 < text.size:
        all_bits |= load(text.start + i, limit)
        i += 8
    if i < text.size:
        all_bits |= load(text.start + i, limit) << (8 * (i + 8 - text.size))
    return not all_bits & (128 * EACH)


cdef inline bint all_ascii(const Column* texts, Py_ssize_t rows) noexcept nogil:
    """Whether all texts are; false where it is not known at once."""
    cdef Text whole
    if texts.places:
        return False
    whole.start = texts.data + texts.offsets[0]
    whole.size = texts.offsets[rows] - texts.offsets[0]
    return is_ascii(whole, texts.limit)


cdef inline bint are_bytes(const Column* a, const Column* b, Text x, Text y, bint ascii) noexcept nogil:
    """Whether the bytes of two short texts are compared as they are, without numbers for characters."""
    return SIXTEEN and x.size <= FEW and y.size <= FEW and (ascii or (is_ascii(x, a.limit) and is_ascii(y, b.limit)))


cdef inline Bytes readable(Bytes text, Py_ssize_t size, Bytes limit, uint8_t* room) noexcept nogil:
    """A short text of which FEW bytes may be read: where its memory ends before, a copy in `room`."""
    if limit - text >= FEW:
        return text
    memset(room, 0, FEW)
    memcpy(room, text, size)
    return room


cdef inline uint64_t bits(Py_ssize_t count) noexcept nogil:
    """So many, from the lowest."""
    return ~<uint64_t>0 >> (64 - count) if 0 < count < 64 else 0 - <uint64_t>(count > 0)


cdef inline uint64_t places_of(uint8_t byte, Bytes text, bint wide) noexcept nogil:
    """A bit for each place among 32 bytes, or 64, that holds this byte."""
    cdef inline uint64_t places = equal_16(text, byte) | equal_16(text + 16, byte) << 16
    if wide:
        places |= equal_16(text + 32, byte) << 32 | equal_16(text + 48, byte) << 48
    return places


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
    """Write the edit distance of each row's texts, in words or characters, and how many each text has.

    Returns the steps this took: each compares up to 64 symbols of one text with one of the other.
    """
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row, rows = edits.shape[0]
    cdef Py_ssize_t most = max(longest_of(&a, rows), longest_of(&b, rows)) + 10
    cdef int64_t steps = 0
    cdef Pair pair
    cdef Text x, y
    cdef bint ascii
    cdef uint64_t* masks = <uint64_t*> calloc(WORDS * (most + 128), sizeof(uint64_t))
    cdef uint8_t* carries = <uint8_t*> malloc(most)
    try:
        open_pair(&pair, &a, &b, rows, words)
        if masks == NULL or carries == NULL:
            raise MemoryError
        with nogil:
            ascii = not words and all_ascii(&a, rows) and all_ascii(&b, rows)
            for row in range(rows):
                x = text_of(&a, row)
                y = text_of(&b, row)
                if not words and are_bytes(&a, &b, x, y, ascii):
                    a_count[row] = x.size
                    b_count[row] = y.size
                    edits[row] = distance_of_bytes(x, a.limit, y, b.limit, &steps)
                    continue
                read(&pair, &a, &b, row)
                a_count[row] = pair.in_a
                b_count[row] = pair.in_b
                edits[row] = distance(pair.a, pair.in_a, pair.b, pair.in_b, masks, carries, &steps)
    finally:
        close_pair(&pair)
        free(masks)
        free(carries)
    return steps


cdef inline Py_ssize_t common_beginning(const Symbol* a, const Symbol* b, Py_ssize_t most) noexcept nogil:
    cdef inline Py_ssize_t i = 0
    while i < most and a[i] == b[i]:
        i += 1
    return i


cdef inline Py_ssize_t common_end(const Symbol* a, const Symbol* b, Py_ssize_t most) noexcept nogil:
    """How many symbols before these places are equal."""
    cdef inline Py_ssize_t i = 0
    while i < most and a[-1 - i] == b[-1 - i]:
        i += 1
    return i


cdef inline int64_t distance_of_bytes(Text x, Bytes x_limit, Text y, Bytes y_limit, int64_t* steps) noexcept nogil:
    """`distance` of two texts of at most FEW characters in ASCII."""
    cdef uint8_t room[FEW]
    cdef Py_ssize_t begin = common_beginning(x.start, y.start, min(x.size, y.size))
    cdef Py_ssize_t rest = begin + common_end(
        x.start + x.size, y.start + y.size, min(x.size, y.size) - begin)
    x.start += begin
    y.start += begin
    x.size -= rest
    y.size -= rest
    if x.size < y.size:
        x, y, x_limit = y, x, y_limit
    if y.size == 0:
        return x.size
    steps[0] += y.size
    x.start = readable(x.start, x.size, x_limit, room)
    if x.size <= 32:
        return compare_bytes(x, y, False)
    return compare_bytes(x, y, True)


cdef inline int64_t compare_bytes(Text x, Text y, bint wide) noexcept nogil:
    cdef uint64_t plus = ~<uint64_t>0, minus = 0
    cdef inline Py_ssize_t i
    for i in range(y.size):
        step(places_of(y.start[i], x.start, wide), &plus, &minus)
    return last(plus, minus, x.size, y.size)


cdef inline void step(uint64_t here, uint64_t* plus, uint64_t* minus) noexcept nogil:
    """From one column of distances to the next: where they rise and fall along `a`, which is the symbol at `here`."""
    cdef uint64_t some = here | minus[0]
    cdef uint64_t sum = (here & plus[0]) + plus[0]
    cdef uint64_t zero = (sum ^ plus[0]) | some
    cdef uint64_t level = ((sum | plus[0] | some) & ~minus[0]) << 1  # no rise along b
    plus[0] = (zero & plus[0]) << 1 | (level & ~zero)
    minus[0] = zero & ~level


cdef inline int64_t last(uint64_t plus, uint64_t minus, Py_ssize_t in_a, Py_ssize_t in_b) noexcept nogil:
    """The distance at the end of the last column."""
    return in_b + count_bits(plus & bits(in_a)) - count_bits(minus & bits(in_a))


cdef int64_t distance(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b,
                      uint64_t* masks, uint8_t* carries, int64_t* steps) noexcept nogil:
    """Edits between two sequences (Myers 1999, Hyyrö 2003); `masks` are 0, and are so again afterwards.

    The distance of long ones is first bounded near the diagonal, which is all where few edits suffice. Then less than
    it is tried (Ukkonen 1985), which fails soon.
    """
    cdef int64_t edits, limit, shift = 4
    cdef Py_ssize_t begin = common_beginning(a, b, min(in_a, in_b))
    cdef Py_ssize_t rest = begin + common_end(a + in_a, b + in_b, min(in_a, in_b) - begin)
    a += begin
    b += begin
    in_a -= rest
    in_b -= rest
    if in_a > in_b:
        a, b, in_a, in_b = b, a, in_b, in_a
    if in_a == 0:
        return in_b
    if in_a <= FEW:
        steps[0] += in_b
        return distance_of_few(a, in_a, b, in_b, masks)
    if in_a <= LONG or in_b - in_a > in_a // 4:  # near the diagonals is nearly everywhere
        return distance_within(a, in_a, b, in_b, in_b, in_b, masks, carries, steps)
    edits = distance_within(a, in_a, b, in_b, in_a + in_b, REACH, masks, carries, steps)
    while edits - (in_b - in_a) > 2 * REACH:  # else no shorter way leaves the diagonals that were seen
        limit = edits >> shift
        if limit - (in_b - in_a) > 2 * REACH:
            limit = distance_within(a, in_a, b, in_b, limit, in_b, masks, carries, steps)
            if limit <= edits >> shift:
                return limit
        shift -= 2
    return edits


cdef int64_t distance_within(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b, int64_t limit,
                             Py_ssize_t reach, uint64_t* masks, uint8_t* carries, int64_t* steps) noexcept nogil:
    """The distance on ways of at most so many edits and so far from the diagonals; more than `limit` where there is none.

    Each part of `a`, of up to 64 * WORDS symbols, is compared with the part of `b` that such a way may cross. `carries`
    has for each place of b whether the distance rises (bit 0) or falls (bit 1) there along the last row of a part.
    """
    cdef Py_ssize_t size = (in_a - 1) % (64 * WORDS) + 1, rest = in_a, first = 0, last, stop = 0, before, words
    cdef int64_t edits = 0, at_stop = 0
    last = min(in_b, in_b - in_a + reach, (limit + in_b - in_a) // 2)
    while rest:
        before = stop
        stop = min(in_b, last + size)
        if stop > before:
            memset(carries + before, 1, stop - before)
        words = (size + 63) >> 6
        edits += size
        at_stop = edits + compare(a, size, b + first, stop - first, words, masks, carries + first)
        steps[0] += words * (stop - first)
        a += size
        rest -= size
        size = 64 * WORDS
        while first < stop and not is_near(edits, rest, in_b - first, in_b - in_a, limit, reach):
            edits += <int64_t>(carries[first] & 1) - <int64_t>(carries[first] >> 1)
            first += 1
        last = stop
        while last > first and not is_near(at_stop, rest, in_b - last, in_b - in_a, limit, reach):
            last -= 1
            at_stop -= <int64_t>(carries[last] & 1) - <int64_t>(carries[last] >> 1)
        if first == last and not is_near(at_stop, rest, in_b - last, in_b - in_a, limit, reach):
            return limit + 1
    return at_stop


cdef inline bint is_near(int64_t edits, Py_ssize_t rest_a, Py_ssize_t rest_b, Py_ssize_t more, int64_t limit,
                         Py_ssize_t reach) noexcept nogil:
    """Whether a way may lead on from here within the limit: both texts have such a rest, b `more` symbols than a."""
    cdef Py_ssize_t apart = rest_b - rest_a
    return edits + (apart if apart > 0 else -apart) <= limit and -reach <= apart <= more + reach


cdef int64_t distance_of_few(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b,
                             uint64_t* masks) noexcept nogil:
    cdef uint64_t plus = ~<uint64_t>0, minus = 0
    cdef Py_ssize_t i
    for i in range(in_a):
        masks[a[i]] |= <uint64_t>1 << i
    for i in range(in_b):
        step(masks[b[i]], &plus, &minus)
    for i in range(in_a):
        masks[a[i]] = 0
    return last(plus, minus, in_a, in_b)


cdef int64_t compare(const int32_t* a, Py_ssize_t in_a, const int32_t* b, Py_ssize_t in_b, Py_ssize_t words,
                     uint64_t* masks, uint8_t* carries) noexcept nogil:
    """Compare parts of a and b, a as bits of so many words; returns how the distance changes along its last row.

    `carries` is of the row above before, and of the last row after.
    """
    cdef Py_ssize_t i, at, free_ = 64 * words - in_a  # bits before the first symbol, where nothing changes
    cdef int64_t change = 0
    for i in range(in_a):
        at = free_ + i
        masks[WORDS * a[i] + (at >> 6)] |= <uint64_t>1 << (at & 63)
    if words == 4:
        change = compare_words(b, in_b, 4, free_, masks, carries)
    elif words == 3:
        change = compare_words(b, in_b, 3, free_, masks, carries)
    elif words == 2:
        change = compare_words(b, in_b, 2, free_, masks, carries)
    else:
        change = compare_words(b, in_b, 1, free_, masks, carries)
    for i in range(in_a):
        memset(masks + WORDS * a[i], 0, WORDS * sizeof(uint64_t))
    return change


cdef inline int64_t compare_words(const int32_t* b, Py_ssize_t in_b, Py_ssize_t words, Py_ssize_t free_,
                                  const uint64_t* masks, uint8_t* carries) noexcept nogil:
    """`compare` with the masks of a; `words` is a constant, so that a copy for each has all in registers."""
    cdef uint64_t plus[WORDS]
    cdef uint64_t minus[WORDS]
    cdef uint64_t here, zero, rise, fall, rose, fell, up, down
    cdef const uint64_t* mask
    cdef int64_t change = 0
    cdef Py_ssize_t i, k
    memset(plus, 255, sizeof(plus))
    memset(minus, 0, sizeof(minus))
    plus[0] <<= free_
    for i in range(in_b):
        mask = masks + WORDS * b[i]
        up = carries[i] & 1
        down = carries[i] >> 1
        for k in range(words):
            here = mask[k] | down
            zero = (((here & plus[k]) + plus[k]) ^ plus[k]) | here | minus[k]
            rise = minus[k] | ~(zero | plus[k])
            fall = zero & plus[k]
            rose = (rise << 1) + up
            fell = (fall << 1) + down
            up = rise >> 63
            down = fall >> 63
            plus[k] = fell | ~(zero | rose)
            minus[k] = rose & zero
        carries[i] = <uint8_t>(up + 2 * down)
    for i in range(in_b):
        change += (carries[i] & 1) - (carries[i] >> 1)
    return change


def jaro_winkler(a_offsets, a_places, a_data, b_offsets, b_places, b_data, double[::1] out):
    """Write the similarity of each row's texts. Returns the steps this took: each looks at one character or match."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row, rows = out.shape[0], begin
    cdef Py_ssize_t most = longest_of(&a, rows) + longest_of(&b, rows) + 128
    cdef int64_t count, moved, steps = 0
    cdef Pair pair
    cdef Text x, y
    cdef bint ascii
    cdef int32_t* room = <int32_t*> malloc(4 * most * sizeof(int32_t))
    cdef uint64_t* masks = <uint64_t*> calloc(most, sizeof(uint64_t))
    try:
        open_pair(&pair, &a, &b, rows, False)
        if room == NULL or masks == NULL:
            raise MemoryError
        with nogil:
            ascii = all_ascii(&a, rows) and all_ascii(&b, rows)
            for row in range(rows):
                x = text_of(&a, row)
                y = text_of(&b, row)
                moved = 0
                steps += x.size + y.size
                if are_bytes(&a, &b, x, y, ascii):
                    begin = count = common_beginning(x.start, y.start, min(x.size, y.size))
                    if begin < x.size and begin < y.size:
                        count += match_bytes(x, y, b.limit, begin, &moved)
                    out[row] = winkler(x.size, y.size, begin, count, moved)
                    continue
                read(&pair, &a, &b, row)
                begin = count = common_beginning(pair.a, pair.b, min(pair.in_a, pair.in_b))
                if begin < pair.in_a and begin < pair.in_b:
                    if pair.in_a <= FEW and pair.in_b <= FEW:
                        count += match_few(&pair, masks, begin, &moved)
                    else:
                        count = match_many(&pair, room, room + most, room + 2 * most, <uint8_t*> (room + 3 * most),
                                           &moved, &steps)
                out[row] = winkler(pair.in_a, pair.in_b, begin, count, moved)
    finally:
        close_pair(&pair)
        free(room)
        free(masks)
    return steps


cdef inline Py_ssize_t reach_of(Py_ssize_t in_a, Py_ssize_t in_b) noexcept nogil:
    """How far away a character may match."""
    return max(max(in_a, in_b) // 2 - 1, 0)


cdef inline int64_t match_bytes(Text x, Text y, Bytes limit, Py_ssize_t begin, int64_t* moved) noexcept nogil:
    """`match_few` of two texts of at most FEW characters in ASCII; `limit` is of the second."""
    cdef uint8_t room[FEW]
    cdef Bytes text = readable(y.start, y.size, limit, room)
    if y.size <= 32:
        return match_places(x, text, y.size, begin, False, moved)
    return match_places(x, text, y.size, begin, True, moved)


cdef inline int64_t match_places(Text x, Bytes text, Py_ssize_t size, Py_ssize_t begin, bint wide,
                                 int64_t* moved) noexcept nogil:
    cdef uint64_t here[FEW]
    cdef inline Py_ssize_t i, count = 0, reach = reach_of(x.size, size)
    cdef uint64_t near = bits(begin + reach + 1) & ~bits(begin - reach), rest = bits(size) & ~bits(begin), free_ = rest
    for i in range(begin, x.size):
        here[count] = places_of(x.start[i], text, wide)
        count += take_first(here[count] & near, &free_)
        near = near << 1 | (i < reach)
    moved[0] = count_moved(here, count, rest & ~free_)
    return count


cdef inline bint take_first(uint64_t places, uint64_t* free_) noexcept nogil:
    """Take the first of these places that is free; false if none is."""
    places &= free_[0]
    free_[0] ^= places & -places
    return places != 0


cdef inline int64_t count_moved(const uint64_t* here, Py_ssize_t count, uint64_t taken) noexcept nogil:
    """How many matches are in another order: `here` are the places of each, `taken` are in the order of b."""
    cdef int64_t moved = 0
    cdef inline Py_ssize_t i
    for i in range(count):
        moved += not here[i] & taken & -taken
        taken &= taken - 1
    return moved


cdef int64_t match_few(const Pair* pair, uint64_t* masks, Py_ssize_t begin, int64_t* moved) noexcept nogil:
    """The matches of two texts of at most FEW characters after their common beginning, and how many are moved."""
    cdef uint64_t here[FEW]
    cdef Py_ssize_t i, count = 0, reach = reach_of(pair.in_a, pair.in_b)
    cdef uint64_t near = bits(begin + reach + 1) & ~bits(begin - reach), rest = bits(pair.in_b) & ~bits(begin)
    cdef uint64_t free_ = rest
    for i in range(begin, pair.in_b):
        masks[pair.b[i]] |= <uint64_t>1 << i
    for i in range(begin, pair.in_a):
        here[count] = masks[pair.a[i]]
        count += take_first(here[count] & near, &free_)
        near = near << 1 | (i < reach)
    for i in range(begin, pair.in_b):
        masks[pair.b[i]] = 0
    moved[0] = count_moved(here, count, rest & ~free_)
    return count


cdef int64_t match_many(const Pair* pair, int32_t* first, int32_t* later, int32_t* matched, uint8_t* taken,
                        int64_t* moved, int64_t* steps) noexcept nogil:
    """As `match_few`, with the common beginning, for texts of any length: `first` is the first free place in b of a number, `later` the next one."""
    cdef Py_ssize_t i, count = 0, reach = reach_of(pair.in_a, pair.in_b)
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
            steps[0] += 1
        if at >= 0 and at <= i + reach:
            taken[at] = 1
            matched[count] = pair.a[i]
            count += 1
            at = later[at]
        first[pair.a[i]] = at
    at = 0
    for i in range(pair.in_b):
        if taken[i]:
            moved[0] += pair.b[i] != matched[at]
            at += 1
    return count


cdef inline double winkler(Py_ssize_t in_a, Py_ssize_t in_b, Py_ssize_t begin, int64_t count,
                           int64_t moved) noexcept nogil:
    cdef double jaro
    if count == 0:
        return in_a == 0 and in_b == 0
    jaro = <double>count / <double>in_a
    jaro += <double>count / <double>in_b
    jaro += <double>(count - moved // 2) / <double>count
    jaro /= 3.0
    if jaro <= 0.7:
        return jaro
    return min(jaro + <double>min(begin, 4) * 0.1 * (1.0 - jaro), 1.0)


cdef struct Beam:  # edit distances of a hypothesis to a reference, for places near the diagonal
    int32_t* hypothesis
    int32_t* moved  # the hypothesis with a phrase in another place
    const int32_t* reference
    Py_ssize_t words
    Py_ssize_t expected
    Py_ssize_t stride
    int32_t* low  # of each word: the first place of its row,
    int32_t* high  # and the place after the last
    int32_t* costs  # the rows of the hypothesis
    int32_t* before  # two rows of `moved`
    int32_t* after
    int32_t* aligned  # of each word of the reference: the place in the hypothesis
    int32_t* wrong  # how many words up to each place are edited: in the hypothesis,
    int32_t* missed  # and in the reference


def ter(a_offsets, a_places, a_data, b_offsets, b_places, b_data, int64_t[::1] edits, int64_t[::1] steps):
    """Write the edits of each row by which a becomes b, -1 where the beam holds no way; and the rows of costs it took."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row, rows = edits.shape[0], size, most = 0
    cdef Pair pair
    cdef Beam beam
    cdef int32_t* room = NULL
    cdef int32_t* more
    try:
        open_pair(&pair, &a, &b, rows, True)
        with nogil:
            for row in range(rows):
                read(&pair, &a, &b, row)
                steps[row] = 0
                if pair.in_a == 0 or pair.in_b == 0:
                    edits[row] = pair.in_a + pair.in_b
                    continue
                size = set_beam(&beam, &pair)
                if size > most:
                    more = <int32_t*> realloc(room, size * sizeof(int32_t))
                    if more == NULL:
                        with gil:
                            raise MemoryError
                    room = more
                    most = size
                divide(&beam, room)
                edits[row] = shift_all(&beam, &steps[row])
    finally:
        close_pair(&pair)
        free(room)


cdef Py_ssize_t set_beam(Beam* beam, const Pair* pair) noexcept nogil:
    """Set the sizes; returns how many numbers the rest takes."""
    cdef double ratio = <double>pair.in_b / <double>pair.in_a
    beam.hypothesis = pair.a
    beam.reference = pair.b
    beam.words = pair.in_a
    beam.expected = pair.in_b
    beam.stride = min(2 * width_of(ratio) + 2, beam.expected + 2)
    return (beam.words + 1) * (beam.stride + 4) + 4 * (beam.expected + 3)


cdef inline Py_ssize_t width_of(double ratio) noexcept nogil:
    return <Py_ssize_t>ceil(ratio / 2 + BEAM) if BEAM < ratio / 2 else BEAM


cdef void divide(Beam* beam, int32_t* room) noexcept nogil:
    cdef double ratio = <double>beam.expected / <double>beam.words
    cdef Py_ssize_t i, middle, width = width_of(ratio), size = beam.words + 1
    beam.low = room
    beam.high = beam.low + size
    beam.moved = beam.high + size
    beam.wrong = beam.moved + size
    beam.costs = beam.wrong + size
    beam.before = beam.costs + size * beam.stride
    beam.after = beam.before + beam.expected + 3
    beam.aligned = beam.after + beam.expected + 3
    beam.missed = beam.aligned + beam.expected + 3
    for i in range(1, size):
        middle = <Py_ssize_t>floor(i * ratio)
        beam.low[i] = <int32_t>max(0, middle - width)
        beam.high[i] = <int32_t>min(beam.expected + 1, middle + width)
    beam.high[beam.words] = <int32_t>(beam.expected + 1)


cdef int64_t shift_all(Beam* beam, int64_t* steps) noexcept nogil:
    """Move the phrase that saves most, until none does or enough were tried; as sacrebleu's `translation_edit_rate`."""
    cdef int64_t shifts = 0, tried = 0, saved
    cdef Py_ssize_t first = 0, start, size, target
    while True:
        fill(beam, first, steps)
        if not trace(beam):
            return -1
        saved = best_shift(beam, &tried, steps, &start, &size, &target)
        if tried >= CANDIDATES or saved <= 0:
            return shifts + cost_at(beam, beam.words, beam.expected)
        shifts += 1
        move(beam, start, size, target)
        first = 0
        while beam.hypothesis[first] == beam.moved[first]:
            first += 1
        memcpy(beam.hypothesis, beam.moved, beam.words * sizeof(int32_t))


cdef inline int32_t cost_at(const Beam* beam, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    if i == 0:
        return <int32_t>j
    return beam.costs[i * beam.stride + j - beam.low[i]] if beam.low[i] <= j < beam.high[i] else FAR


cdef void load_row(Beam* beam, Py_ssize_t i) noexcept nogil:
    """Make row i of the hypothesis the one before."""
    cdef Py_ssize_t j, last = beam.high[i + 1] if i < beam.words else beam.expected + 1
    for j in range(max(beam.low[i] - 1, 0) if i else 0, last):
        beam.before[j] = cost_at(beam, i, j)


cdef void next_row(Beam* beam, int32_t word, Py_ssize_t i) noexcept nogil:
    """Compute row i, where this word is, from the row before."""
    cdef Py_ssize_t j, low = beam.low[i], high = beam.high[i]
    cdef int32_t cost, left = FAR
    if low == 0:
        left = beam.after[0] = beam.before[0] + 1
    else:
        beam.after[low - 1] = FAR
    for j in range(max(low, 1), high):
        cost = beam.before[j - 1] + (beam.reference[j - 1] != word)
        cost = min(min(cost, FAR), min(beam.before[j], left) + 1)
        beam.after[j] = left = cost
    if i < beam.words:
        for j in range(high, beam.high[i + 1]):
            beam.after[j] = FAR


cdef void fill(Beam* beam, Py_ssize_t first, int64_t* steps) noexcept nogil:
    """Compute the rows of the hypothesis after the first so many, which are known."""
    cdef Py_ssize_t i
    load_row(beam, first)
    for i in range(first + 1, beam.words + 1):
        next_row(beam, beam.hypothesis[i - 1], i)
        memcpy(beam.costs + i * beam.stride, beam.after + beam.low[i], (beam.high[i] - beam.low[i]) * sizeof(int32_t))
        beam.before, beam.after = beam.after, beam.before
    steps[0] += beam.words - first


cdef bint trace(Beam* beam) noexcept nogil:
    """Align the words; false if the beam holds no way. A replaced word is preferred to a dropped, that to an added one."""
    cdef Py_ssize_t i = beam.words, j = beam.expected
    cdef int32_t cost, differs
    memset(beam.wrong, 0, (beam.words + 1) * sizeof(int32_t))
    memset(beam.missed, 0, (beam.expected + 1) * sizeof(int32_t))
    while i or j:
        cost = cost_at(beam, i, j)
        if cost >= FAR:
            return False
        differs = 1 if i == 0 or j == 0 else beam.hypothesis[i - 1] != beam.reference[j - 1]
        if i and j and cost == cost_at(beam, i - 1, j - 1) + differs:
            beam.aligned[j - 1] = <int32_t>(i - 1)
            beam.wrong[i] = beam.missed[j] = differs
            i -= 1
            j -= 1
        elif i and (j == 0 or cost == cost_at(beam, i - 1, j) + 1):
            beam.wrong[i] = 1
            i -= 1
        else:
            beam.aligned[j - 1] = <int32_t>(i - 1)
            beam.missed[j] = 1
            j -= 1
    for i in range(beam.words):
        beam.wrong[i + 1] += beam.wrong[i]
    for j in range(beam.expected):
        beam.missed[j + 1] += beam.missed[j]
    return True


cdef int64_t best_shift(Beam* beam, int64_t* tried, int64_t* steps,
                        Py_ssize_t* start, Py_ssize_t* size, Py_ssize_t* target) noexcept nogil:
    """The most edits that one shift saves, and this shift: of several the longest, then the earliest phrase and place."""
    cdef int64_t best = -FAR, saved
    cdef int32_t now = cost_at(beam, beam.words, beam.expected)
    cdef Py_ssize_t h, r, length, at, place, last
    for h in range(beam.words):
        for r in range(max(0, h - SHIFT_DISTANCE), min(beam.expected, h + SHIFT_DISTANCE + 1)):
            length = 0
            while (length < SHIFT_SIZE and h + length < beam.words and r + length < beam.expected
                   and beam.hypothesis[h + length] == beam.reference[r + length]):
                length += 1
                if (beam.wrong[h + length] == beam.wrong[h] or beam.missed[r + length] == beam.missed[r]
                        or h <= beam.aligned[r] < h + length):
                    continue
                last = -1
                for at in range(r - 1, r + length):
                    place = beam.aligned[at] + 1 if at >= 0 else 0
                    if place == last:
                        continue
                    last = place
                    move(beam, h, length, place)
                    saved = now - cost_of_moved(beam, now, steps)
                    tried[0] += 1
                    if saved > best or (saved == best and (length > size[0] or (length == size[0] and (
                            h < start[0] or (h == start[0] and place < target[0]))))):
                        best = saved
                        start[0] = h
                        size[0] = length
                        target[0] = place
                if tried[0] >= CANDIDATES:
                    return best
    return best


cdef void move(Beam* beam, Py_ssize_t start, Py_ssize_t size, Py_ssize_t target) noexcept nogil:
    """Write the hypothesis with the phrase before `target`; a target within the phrase moves it by as many words."""
    cdef Py_ssize_t stop = start + size, last = target if target > stop else min(size + target, beam.words)
    memcpy(beam.moved, beam.hypothesis, beam.words * sizeof(int32_t))
    if target < start:
        memcpy(beam.moved + target, beam.hypothesis + start, size * sizeof(int32_t))
        memcpy(beam.moved + target + size, beam.hypothesis + target, (start - target) * sizeof(int32_t))
    else:
        memcpy(beam.moved + start, beam.hypothesis + stop, (last - stop) * sizeof(int32_t))
        memcpy(beam.moved + start + last - stop, beam.hypothesis + start, size * sizeof(int32_t))


cdef int32_t cost_of_moved(Beam* beam, int32_t now, int64_t* steps) noexcept nogil:
    """The edits after a shift, `now` before it; ends where the rows become those of the hypothesis."""
    cdef Py_ssize_t i, first = 0, last = beam.words
    while first < beam.words and beam.hypothesis[first] == beam.moved[first]:
        first += 1
    if first == beam.words:
        return now
    while beam.hypothesis[last - 1] == beam.moved[last - 1]:
        last -= 1
    load_row(beam, first)
    for i in range(first + 1, beam.words + 1):
        next_row(beam, beam.moved[i - 1], i)
        steps[0] += 1
        beam.before, beam.after = beam.after, beam.before
        if i >= last and memcmp(beam.before + beam.low[i], beam.costs + i * beam.stride,
                                (beam.high[i] - beam.low[i]) * sizeof(int32_t)) == 0:
            return now
    return beam.before[beam.expected]
