# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lines of JSON objects in one walk over their bytes: what kinds of values each key has, and where these lie.

A line is plain if it is a valid object in valid UTF-8 with the keys that are wanted, in their order. A yes is fast; a no
says only "look closer". Longer than 300 lines because the grammar of JSON is inlined only within a module.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define as_little(word) __builtin_bswap64(word)
    #else
    #define as_little(word) (word)
    #endif
    """
    uint64_t as_little(uint64_t) nogil
    int first_bit "__builtin_ctzll"(uint64_t) nogil

ctypedef const uint8_t* Bytes

cdef enum:
    NOTHING = 1, TEXT = 2, TRUTH = 4, WHOLE = 8, LONG = 16, REAL = 32, LIST = 64, OBJECT = 128, ESCAPED = 256  # bits; LONG: 16–18 digits
    MOST = 256  # columns
    DEEPEST = 64

cdef struct Column:
    Bytes key  # with its quotes
    Py_ssize_t size


def scan(const uint8_t[::1] data, list keys, int32_t[:, ::1] seen, int32_t[:, ::1] starts, int32_t[:, ::1] stops,
         bint some):
    """The number of rows in lines of `data`, which are not counted if blank; -1 if one is not plain.

    The kinds of the values of each key are added to `seen`, shape (keys, 2): those of values, and of items of lists.
    Unless `starts` and `stops` have no rows, these get where each value lies, shape (keys, rows); what is null or not
    there keeps its -1. `some`: a line may lack keys.
    """
    cdef Column columns[MOST]
    cdef Py_ssize_t count = len(keys), at, rows = 0
    cdef bint kept = starts.shape[1] > 0
    if count > MOST or count == 0:
        return -1
    if data.shape[0] == 0:
        return 0
    for at in range(count):
        columns[at].key = keys[at]
        columns[at].size = len(keys[at])
    cdef Bytes text = &data[0]
    cdef Bytes s = text
    cdef Bytes end = text + data.shape[0]
    with nogil:
        while s < end:
            s = skip(s, end)
            if s < end and s[0] != 10:
                if kept and rows == starts.shape[1]:
                    s = NULL
                else:
                    s = past_row(text, s, end, columns, count, seen, starts, stops, rows if kept else -1, some)
                if s == NULL:
                    rows = -1
                    break
                rows += 1
            s += 1
    return rows


def cut(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t lines):
    """Where so many lines from `start` end; the end of `data` and the number of its lines if there are fewer."""
    cdef Py_ssize_t size = data.shape[0], found = 0
    cdef Bytes text = &data[0]
    cdef Bytes stop
    with nogil:
        while found < lines and start < size:
            stop = <Bytes> memchr(text + start, 10, size - start)
            if stop == NULL:
                start = size
                break
            found += 1
            start = stop + 1 - text
    return start, found


def find_items(const uint8_t[::1] data, const int32_t[::1] lows, const int32_t[::1] highs, int32_t[::1] offsets,
               int32_t[::1] starts, int32_t[::1] stops):
    """Write where each item of the lists at `data[lows[i]:highs[i]]` lies, and where the items of each list end."""
    cdef Py_ssize_t row, items = 0
    cdef int kind, inner
    cdef Bytes text = &data[0] if data.shape[0] else <Bytes> NULL
    cdef Bytes s, end, stop
    offsets[0] = 0
    with nogil:
        for row in range(lows.shape[0]):
            if lows[row] >= 0:
                end = text + highs[row] - 1  # at its ]
                s = skip(text + lows[row] + 1, end)
                while s < end:
                    kind = inner = 0
                    stop = past_value(s, end, &kind, &inner, 0)
                    if stop == NULL:
                        break
                    starts[items] = -1 if kind == NOTHING else <int32_t> (s - text)
                    stops[items] = -1 if kind == NOTHING else <int32_t> (stop - text)
                    items += 1
                    s = skip(stop, end)
                    s = skip(s + 1, end) if s < end else s
            offsets[row + 1] = <int32_t> items
    return items


def copy_texts(const uint8_t[::1] data, const int32_t[::1] starts, const int32_t[::1] stops, int32_t[::1] offsets,
               uint8_t[::1] copy, bint unquoted, bint escaped):
    """Write values one after the other, with their ends; `unquoted`: texts without quotes, and, if some are `escaped`,
    without escapes.
    """
    cdef Py_ssize_t row, size
    cdef Bytes text = &data[0] if data.shape[0] else <Bytes> NULL
    cdef uint8_t* start = &copy[0] if copy.shape[0] else NULL
    cdef uint8_t* to = start
    offsets[0] = 0
    with nogil:
        for row in range(starts.shape[0]):
            if starts[row] >= 0:
                size = stops[row] - starts[row]
                if not unquoted:
                    memcpy(to, text + starts[row], size)
                    to += size
                elif not escaped or memchr(text + starts[row], 92, size) == NULL:
                    memcpy(to, text + starts[row] + 1, size - 2)
                    to += size - 2
                else:
                    to = unescape(text + starts[row] + 1, text + stops[row] - 1, to)
            offsets[row + 1] = <int32_t> (to - start)
    return offsets[starts.shape[0]]


def read_wholes(const uint8_t[::1] data, const int32_t[::1] starts, const int32_t[::1] stops, int64_t[::1] values):
    """Write whole numbers of at most 18 digits; 0 where there is none."""
    cdef Py_ssize_t row, at
    cdef int64_t value
    with nogil:
        for row in range(starts.shape[0]):
            value = 0
            if starts[row] >= 0:
                for at in range(starts[row] + (data[starts[row]] == 45), stops[row]):
                    value = 10 * value + data[at] - 48
                value = -value if data[starts[row]] == 45 else value
            values[row] = value


cdef Bytes past_row(Bytes text, Bytes s, Bytes end, const Column* columns, Py_ssize_t count, int32_t[:, ::1] seen,
                    int32_t[:, ::1] starts, int32_t[:, ::1] stops, Py_ssize_t row, bint some) noexcept nogil:
    """The end of the line of a row; NULL if it is not plain."""
    cdef Py_ssize_t at = 0
    cdef int kind, inner
    cdef Bytes stop
    if s[0] != 123:
        return NULL
    s = skip(s + 1, end)
    while True:
        while at < count and not (end - s > columns[at].size and memcmp(s, columns[at].key, columns[at].size) == 0):
            if not some:
                return NULL
            at += 1
        if at == count:
            return NULL
        s = skip(s + columns[at].size, end)
        if s == end or s[0] != 58:
            return NULL
        s = skip(s + 1, end)
        kind = inner = 0
        stop = past_value(s, end, &kind, &inner, 0)
        if stop == NULL:
            return NULL
        seen[at, 0] |= kind
        seen[at, 1] |= inner
        if row >= 0 and kind != NOTHING:
            starts[at, row] = <int32_t> (s - text)
            stops[at, row] = <int32_t> (stop - text)
        at += 1
        s = skip(stop, end)
        if s == end or s[0] != 44:
            break
        s = skip(s + 1, end)
    if at < count and not some or s == end or s[0] != 125:
        return NULL
    s = skip(s + 1, end)
    return s if s == end or s[0] == 10 else NULL


cdef inline Bytes skip(Bytes s, Bytes end) noexcept nogil:
    while s < end and (s[0] == 32 or s[0] == 9 or s[0] == 13):
        s += 1
    return s


cdef Bytes past_value(Bytes s, Bytes end, int* kind, int* inner, int depth) noexcept nogil:
    """Past a value, whose kind is added to `kind`, and those of a list's items to `inner`; NULL where none is plain."""
    cdef int below = 0
    cdef uint8_t last
    if s == end or depth > DEEPEST:
        return NULL
    if s[0] == 34:
        kind[0] |= TEXT
        return past_text(s, end, kind)
    if s[0] == 110:
        kind[0] |= NOTHING
        return s + 4 if end - s >= 4 and memcmp(s, b"null", 4) == 0 else NULL
    if s[0] == 116 or s[0] == 102:
        kind[0] |= TRUTH
        if s[0] == 116:
            return s + 4 if end - s >= 4 and memcmp(s, b"true", 4) == 0 else NULL
        return s + 5 if end - s >= 5 and memcmp(s, b"false", 5) == 0 else NULL
    if s[0] != 91 and s[0] != 123:
        return past_number(s, end, kind)
    last = s[0] + 2
    kind[0] |= LIST if last == 93 else OBJECT
    s = skip(s + 1, end)
    if s < end and s[0] == last:
        return s + 1
    while s < end:
        if last == 125:
            s = past_text(s, end, &below) if s[0] == 34 else NULL
            s = skip(s, end) if s != NULL else NULL
            if s == NULL or s == end or s[0] != 58:
                return NULL
            s = skip(s + 1, end)
        s = past_value(s, end, inner if last == 93 else &below, &below, depth + 1)
        if s == NULL:
            return NULL
        s = skip(s, end)
        if s == end:
            return NULL
        if s[0] == last:
            return s + 1
        if s[0] != 44:
            return NULL
        s = skip(s + 1, end)
    return NULL


cdef Bytes past_number(Bytes s, Bytes end, int* kind) noexcept nogil:
    """Past a number; NULL for -0, and where it has more than 18 digits and no point, or an exponent of three."""
    cdef Bytes start
    cdef Py_ssize_t digits
    cdef bint negative = s[0] == 45
    s += negative
    start = s
    s = past_digits(s, end)
    digits = s - start
    if digits == 0 or digits > 1 and start[0] == 48:
        return NULL
    if s == end or s[0] != 46 and s[0] != 101 and s[0] != 69:
        kind[0] |= WHOLE if digits <= 15 else LONG
        return NULL if digits > 18 or negative and start[0] == 48 else s
    kind[0] |= REAL
    if s[0] == 46:
        start = s + 1
        s = past_digits(start, end)
        if s == start:
            return NULL
    if s < end and (s[0] == 101 or s[0] == 69):
        s += 1
        if s < end and (s[0] == 43 or s[0] == 45):
            s += 1
        start = s
        s = past_digits(s, end)
        if not 1 <= s - start <= 2:
            return NULL
    return s


cdef inline Bytes past_digits(Bytes s, Bytes end) noexcept nogil:
    while s < end and 48 <= s[0] <= 57:
        s += 1
    return s


cdef inline uint64_t find_special(uint64_t word) noexcept nogil:
    """The lowest high bit that is set belongs to the first byte that is a quote, a backslash, a control character or
    not ASCII; 0 if none of the eight is.
    """
    cdef uint64_t ones = 0x0101010101010101
    cdef uint64_t quote = word ^ (34 * ones)
    cdef uint64_t slash = word ^ (92 * ones)
    return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - 32 * ones) & ~word) | word) & (128 * ones)


cdef Bytes past_text(Bytes s, Bytes end, int* kind) noexcept nogil:
    cdef uint64_t word, found
    s += 1
    while s != NULL:
        found = 0
        while found == 0 and end - s >= 8:
            memcpy(&word, s, 8)
            found = find_special(as_little(word))
            s += first_bit(found) >> 3 if found else 8
        while s < end and not (s[0] < 32 or s[0] == 34 or s[0] == 92 or s[0] >= 128):
            s += 1
        if s == end or s[0] < 32:
            return NULL
        if s[0] == 34:
            return s + 1
        if s[0] == 92:
            kind[0] |= ESCAPED
            s = past_escape(s, end)
        else:
            s = past_character(s, end)
    return NULL


cdef Bytes past_character(Bytes s, Bytes end) noexcept nogil:
    """Past characters of several bytes, by the table of well-formed UTF-8 in Unicode (3-7)."""
    cdef Py_ssize_t more, at
    cdef uint8_t first, low, high
    while s < end and s[0] >= 128:
        first = s[0]
        if first < 0xC2 or first > 0xF4:
            return NULL
        more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if end - s <= more or not low <= s[1] <= high:
            return NULL
        for at in range(2, more + 1):
            if not 0x80 <= s[at] <= 0xBF:
                return NULL
        s += more + 1
    return s


cdef int32_t hexadecimal(Bytes s, Bytes end) noexcept nogil:
    """The four digits of `\\uXXXX` at `s`, -1 where there are none."""
    cdef int32_t value = 0
    cdef Py_ssize_t at
    if end - s < 6 or s[0] != 92 or s[1] != 117:
        return -1
    for at in range(2, 6):
        if 48 <= s[at] <= 57:
            value = 16 * value + s[at] - 48
        elif 97 <= (s[at] | 32) <= 102:
            value = 16 * value + (s[at] | 32) - 87
        else:
            return -1
    return value


cdef Bytes past_escape(Bytes s, Bytes end) noexcept nogil:
    """Past an escape; NULL for a zero byte and for half a pair."""
    cdef int32_t value
    if end - s < 2:
        return NULL
    if s[1] != 117:
        return s + 2 if s[1] in (34, 92, 47, 98, 102, 110, 114, 116) else NULL
    value = hexadecimal(s, end)
    if value <= 0 or 0xDC00 <= value < 0xE000:
        return NULL
    if 0xD800 <= value < 0xDC00:
        return s + 12 if 0xDC00 <= hexadecimal(s + 6, end) < 0xE000 else NULL
    return s + 6


cdef uint8_t* unescape(Bytes s, Bytes end, uint8_t* to) noexcept nogil:
    """Write a text without its escapes, which are known to be valid."""
    cdef Bytes slash
    cdef int32_t value
    while s < end:
        slash = <Bytes> memchr(s, 92, end - s)
        if slash == NULL:
            slash = end
        memcpy(to, s, slash - s)
        to += slash - s
        if slash == end:
            break
        s = slash
        if s[1] != 117:
            to[0] = (8 if s[1] == 98 else 12 if s[1] == 102 else 10 if s[1] == 110 else 13 if s[1] == 114
                     else 9 if s[1] == 116 else s[1])
            to, s = to + 1, s + 2
            continue
        value = hexadecimal(s, end)
        s += 6
        if 0xD800 <= value < 0xDC00:
            value = 0x10000 + ((value - 0xD800) << 10) + hexadecimal(s, end) - 0xDC00
            s += 6
        if value < 0x80:
            to[0] = value
            to += 1
        elif value < 0x800:
            to[0], to[1] = 0xC0 | value >> 6, 0x80 | value & 63
            to += 2
        elif value < 0x10000:
            to[0], to[1], to[2] = 0xE0 | value >> 12, 0x80 | value >> 6 & 63, 0x80 | value & 63
            to += 3
        else:
            to[0], to[1] = 0xF0 | value >> 18, 0x80 | value >> 12 & 63
            to[2], to[3] = 0x80 | value >> 6 & 63, 0x80 | value & 63
            to += 4
    return to
