# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""JSON for the kernels of this folder, which inline these functions: values as nodes in the order of the text.

What is not plain (a number that needs care, half a surrogate, a key twice, deep nesting) is not read: the caller leaves
the row to the definition. The nodes of a list follow it; those of an object are a key and a value in turn.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc, strtod
from libc.string cimport memcmp, memcpy, memset

from karat.metrics._kernels.tokens cimport Bytes, first_bit

cdef extern from *:
    """
    /* A bit for each quote, backslash and control character among 16 bytes. */
    #ifdef __SSE2__
    #include <emmintrin.h>
    static inline unsigned int marks_16(const uint8_t* text) {
        __m128i bytes = _mm_loadu_si128((const __m128i*) text);
        __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(34)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(92)));
        return _mm_movemask_epi8(_mm_or_si128(marks, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(31)), bytes)));
    }
    #else
    static inline unsigned int marks_16(const uint8_t* text) {
        unsigned int marks = 0;
        for (int i = 0; i < 16; i++) marks |= (unsigned int) (text[i] == 34 || text[i] == 92 || text[i] < 32) << i;
        return marks;
    }
    #endif
    static inline uint64_t marks_64(const uint8_t* text) {
        return marks_16(text) | (uint64_t) marks_16(text + 16) << 16
             | (uint64_t) marks_16(text + 32) << 32 | (uint64_t) marks_16(text + 48) << 48;
    }

    typedef struct {
        int kind, size;
        Py_ssize_t after;
        union { const uint8_t* text; int64_t whole; double real; };
    } Node;
    """
    uint64_t marks_64(const uint8_t*) nogil

    ctypedef struct Node:
        int kind
        int size  # bytes of a text, items of a list, members of an object
        Py_ssize_t after  # the number of the node after this one and all in it
        Bytes text  # of these three, the one of its kind
        int64_t whole
        double real

cdef enum:
    NIL, NO, YES, WHOLE, REAL, TEXT, LIST, OBJECT
    DEEPEST = 60
    LARGEST = 64  # members of an object

cdef struct Values:
    Node* nodes
    Py_ssize_t count, room
    uint8_t* decoded  # the texts that had escape sequences
    Py_ssize_t used, space
    uint64_t* marks  # a bit for each byte that is read, and its end: whether it is a quote, backslash or control character
    Py_ssize_t blocks
    Bytes read


cdef inline void release_values(Values* v) noexcept nogil:
    free(v.nodes)
    free(v.decoded)
    free(v.marks)


cdef inline bint start(Values* v, Py_ssize_t size) noexcept nogil:
    """Forget all values, and have room for the texts of a row of this size; false where memory is out."""
    cdef uint8_t* grown
    v.count = v.used = 0
    if v.space < 3 * size + 16:
        grown = <uint8_t*> realloc(v.decoded, 3 * size + 16)
        if grown == NULL:
            return False
        v.decoded = grown
        v.space = 3 * size + 16
    return True


cdef inline Py_ssize_t add(Values* v, int kind) noexcept nogil:
    cdef Node* grown
    if v.count == v.room:
        grown = <Node*> realloc(v.nodes, (2 * v.room + 256) * sizeof(Node))
        if grown == NULL:
            return -1
        v.nodes = grown
        v.room = 2 * v.room + 256
    v.nodes[v.count].kind = kind
    v.nodes[v.count].size = 0
    v.nodes[v.count].after = v.count + 1
    v.count += 1
    return v.count - 1


cdef inline Bytes skip(Bytes s, Bytes end) noexcept nogil:
    while s < end and s[0] <= 32 and (s[0] == 32 or s[0] == 10 or s[0] == 13 or s[0] == 9):
        s += 1
    return s


cdef inline bint mark_ends(Values* v, Bytes s, Bytes end) noexcept nogil:
    """Mark what ends a text or a part of it; false where memory is out."""
    cdef Py_ssize_t i, last = (end - s) >> 6
    cdef uint64_t* grown
    cdef uint8_t rest[64]
    if v.blocks < last + 2:
        grown = <uint64_t*> realloc(v.marks, (2 * last + 64) * sizeof(uint64_t))
        if grown == NULL:
            return False
        v.marks = grown
        v.blocks = 2 * last + 64
    for i in range(last):
        v.marks[i] = marks_64(s + 64 * i)
    memset(rest, 0, 64)
    memcpy(rest, s + 64 * last, (end - s) & 63)
    v.marks[last] = marks_64(rest)
    v.marks[last + 1] = 0
    v.read = s
    return True


cdef inline Py_ssize_t read_whole(Values* v, Bytes s, Bytes end) noexcept nogil:
    """The node of a text that is one value and nothing else; -1 where it is not plain."""
    cdef Py_ssize_t root = v.count
    if not mark_ends(v, s, end):
        return -1
    s = read_value(v, s, end, 0)
    return root if s != NULL and skip(s, end) == end else -1


cdef inline Bytes read_value(Values* v, Bytes s, Bytes end, int depth) noexcept nogil:
    s = skip(s, end)
    if s == end or depth > DEEPEST:
        return NULL
    if s[0] == 34:
        return read_escaped(v, s + 1, plain_end(v, s + 1), end)
    if s[0] == 123 or s[0] == 91:
        return read_many(v, s, end, depth)
    if s[0] == 116 and end - s >= 4 and memcmp(s, b"true", 4) == 0:
        return s + 4 if add(v, YES) >= 0 else NULL
    if s[0] == 102 and end - s >= 5 and memcmp(s, b"false", 5) == 0:
        return s + 5 if add(v, NO) >= 0 else NULL
    if s[0] == 110 and end - s >= 4 and memcmp(s, b"null", 4) == 0:
        return s + 4 if add(v, NIL) >= 0 else NULL
    return read_number(v, s, end)


cdef inline Bytes read_many(Values* v, Bytes s, Bytes end, int depth) noexcept nogil:
    cdef bint pairs = s[0] == 123
    cdef int close = 125 if pairs else 93, size = 0
    cdef Py_ssize_t at = add(v, OBJECT if pairs else LIST)
    cdef uint64_t seen = 0, key
    if at < 0:
        return NULL
    s = skip(s + 1, end)
    if s < end and s[0] == close:
        return s + 1
    while True:
        if pairs:
            s = skip(s, end)
            if s == end or s[0] != 34 or size == LARGEST:
                return NULL
            s = read_text(v, s + 1, end)
            if s == NULL:
                return NULL
            key = bit_of(&v.nodes[v.count - 1])
            if seen & key and is_twice(v, at):
                return NULL
            seen |= key
            s = skip(s, end)
            if s == end or s[0] != 58:
                return NULL
            s += 1
        s = skip(s, end)
        s = read_text(v, s + 1, end) if s < end and s[0] == 34 else read_value(v, s, end, depth + 1)
        if s == NULL:
            return NULL
        size += 1
        s = skip(s, end)
        if s == end:
            return NULL
        if s[0] == close:
            v.nodes[at].size = size
            v.nodes[at].after = v.count
            return s + 1
        if s[0] != 44:
            return NULL
        s += 1


cdef inline uint64_t bit_of(const Node* key) noexcept nogil:
    """One bit; keys of different bits differ."""
    if key.size == 0:
        return 1
    return <uint64_t>1 << ((key.text[0] ^ 5 * key.text[key.size - 1] ^ 11 * key.size) & 63)


cdef inline bint is_twice(const Values* v, Py_ssize_t parent) noexcept nogil:
    """Whether the last node, a key, is the key of a member that is already there."""
    cdef const Node* last = &v.nodes[v.count - 1]
    cdef Py_ssize_t key = parent + 1
    while key < v.count - 1:
        if same_text(&v.nodes[key], last):
            return True
        key = v.nodes[key + 1].after
    return False


cdef inline Bytes plain_end(const Values* v, Bytes s) noexcept nogil:
    """The first quote, backslash or control character, or the end."""
    cdef Py_ssize_t at = s - v.read
    cdef const uint64_t* marks = &v.marks[at >> 6]
    cdef uint64_t next = marks[0] >> (at & 63) | marks[1] << 1 << (63 - (at & 63))  # of 64 bytes
    while not next:
        marks += 1
        s = v.read + ((marks - v.marks) << 6)
        next = marks[0]
    return s + first_bit(next)


cdef inline Bytes read_text(Values* v, Bytes s, Bytes end) noexcept nogil:
    """A text, from after its first quote."""
    cdef Bytes stop = plain_end(v, s)
    cdef Node* node
    if v.count == v.room or stop == end or stop[0] != 34:
        return read_escaped(v, s, stop, end)
    node = &v.nodes[v.count]
    v.count += 1
    node.kind = TEXT
    node.size = stop - s
    node.after = v.count
    node.text = s
    return stop + 1


cdef inline Bytes read_escaped(Values* v, Bytes first, Bytes s, Bytes end) noexcept nogil:
    """A text, from after its first quote, with what ends its plain part; its escape sequences are decoded."""
    cdef Py_ssize_t at = add(v, TEXT)
    cdef uint8_t* to = v.decoded + v.used
    if at < 0:
        return NULL
    v.nodes[at].text = to
    while True:
        memcpy(to, first, s - first)
        to += s - first
        if s == end or s[0] < 32:
            return NULL
        if s[0] == 34:
            v.nodes[at].size = to - v.nodes[at].text
            v.used = to - v.decoded
            return s + 1
        s = read_escape(s + 1, end, &to)
        if s == NULL:
            return NULL
        first = s
        s = plain_end(v, s)


cdef inline Bytes read_escape(Bytes s, Bytes end, uint8_t** to) noexcept nogil:
    cdef int64_t code, low
    if s == end:
        return NULL
    if s[0] != 117:
        code = (34 if s[0] == 34 else 92 if s[0] == 92 else 47 if s[0] == 47 else 10 if s[0] == 110 else 9 if s[0] == 116
                else 13 if s[0] == 114 else 8 if s[0] == 98 else 12 if s[0] == 102 else 0)
        to[0][0] = <uint8_t> code
        to[0] += 1
        return s + 1 if code else NULL
    code = read_hex(s + 1, end)
    s += 5
    if 0xD800 <= code < 0xDC00 and end - s > 2 and s[0] == 92 and s[1] == 117:
        low = read_hex(s + 2, end)
        if not 0xDC00 <= low < 0xE000:
            return NULL
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        s += 6
    if code < 0 or 0xD800 <= code < 0xE000:
        return NULL
    if code < 0x80:
        to[0][0] = <uint8_t> code
        to[0] += 1
        return s
    if code < 0x800:
        to[0][0] = <uint8_t> (0xC0 | code >> 6)
    elif code < 0x10000:
        to[0][0] = <uint8_t> (0xE0 | code >> 12)
    else:
        to[0][0] = <uint8_t> (0xF0 | code >> 18)
        to[0][1] = <uint8_t> (0x80 | (code >> 12 & 63))
        to[0] += 1
    if code >= 0x800:
        to[0][1] = <uint8_t> (0x80 | (code >> 6 & 63))
        to[0] += 1
    to[0][1] = <uint8_t> (0x80 | (code & 63))
    to[0] += 2
    return s


cdef inline int64_t read_hex(Bytes s, Bytes end) noexcept nogil:
    cdef int64_t code = 0
    cdef int i, digit
    if end - s < 4:
        return -1
    for i in range(4):
        digit = s[i]
        if 48 <= digit <= 57:
            digit -= 48
        elif 97 <= digit <= 102 or 65 <= digit <= 70:
            digit = (digit | 32) - 87
        else:
            return -1
        code = code << 4 | digit
    return code


cdef inline Bytes read_number(Values* v, Bytes s, Bytes end) noexcept nogil:
    """A whole number of at most 18 digits, or a real one."""
    cdef Bytes first = s
    cdef char digits[64]
    cdef char* stop
    cdef bint minus = s[0] == 45, real = False
    cdef int64_t whole = 0
    cdef Py_ssize_t at, size
    s += minus
    if s == end or not 48 <= s[0] <= 57 or (s[0] == 48 and s + 1 < end and 48 <= s[1] <= 57):
        return NULL
    while s < end and 48 <= s[0] <= 57:
        if s - first - minus < 18:
            whole = 10 * whole + s[0] - 48
        s += 1
    size = s - first - minus
    if s < end and s[0] == 46:
        real = True
        s = after_digits(s + 1, end)
    if s != NULL and s < end and (s[0] | 32) == 101:
        real = True
        s += 1
        if s < end and (s[0] == 43 or s[0] == 45):
            s += 1
        s = after_digits(s, end)
    if s == NULL or size > 18 or s - first > 60:
        return NULL
    at = add(v, REAL if real else WHOLE)
    if at < 0:
        return NULL
    if real:
        memcpy(digits, first, s - first)
        digits[s - first] = 0
        v.nodes[at].real = strtod(digits, &stop)
        return s if stop - digits == s - first else NULL  # a locale may have another point
    v.nodes[at].whole = -whole if minus else whole
    return s


cdef inline Bytes after_digits(Bytes s, Bytes end) noexcept nogil:
    cdef Bytes first = s
    while s < end and 48 <= s[0] <= 57:
        s += 1
    return NULL if s == first else s


cdef inline Py_ssize_t find(const Values* v, Py_ssize_t parent, const char* key, Py_ssize_t size) noexcept nogil:
    """The value at a key of an object; -1 where there is none."""
    cdef Py_ssize_t at = parent + 1
    cdef int i
    for i in range(v.nodes[parent].size):
        if v.nodes[at].size == size and memcmp(v.nodes[at].text, key, size) == 0:
            return at + 1
        at = v.nodes[at + 1].after
    return -1


cdef inline bint is_text(const Node* node, const char* text, Py_ssize_t size) noexcept nogil:
    return node.kind == TEXT and node.size == size and memcmp(node.text, text, size) == 0


cdef inline bint same_text(const Node* one, const Node* other) noexcept nogil:
    return one.size == other.size and memcmp(one.text, other.text, one.size) == 0


cdef inline bint is_number(const Node* one, const Node* other) noexcept nogil:
    """Whether two numbers, or truth values as 0 and 1, are equal, exactly as they are."""
    if one.kind == REAL:
        return one.real == other.real if other.kind == REAL else is_number(other, one)
    if other.kind != REAL:
        return worth(one) == worth(other)
    return <double> worth(one) == other.real and <int64_t> other.real == worth(one)


cdef inline int64_t worth(const Node* node) noexcept nogil:
    return node.whole if node.kind == WHOLE else node.kind == YES


cdef inline bint are_same(const Values* a, Py_ssize_t i, const Values* b, Py_ssize_t j) noexcept nogil:
    """Whether Python would call two values equal: 1 and 1.0 and true are."""
    cdef const Node* x = &a.nodes[i]
    cdef const Node* y = &b.nodes[j]
    cdef Py_ssize_t other
    cdef int k
    if NO <= x.kind <= REAL and NO <= y.kind <= REAL:
        return is_number(x, y)
    if x.kind != y.kind or x.size != y.size:
        return False
    if x.kind == TEXT:
        return memcmp(x.text, y.text, x.size) == 0
    i += 1
    j += 1
    if x.kind == LIST:
        for k in range(x.size):
            if not are_same(a, i, b, j):
                return False
            i = a.nodes[i].after
            j = b.nodes[j].after
    elif x.kind == OBJECT:
        for k in range(x.size):
            other = find(b, j - 1, <const char*> a.nodes[i].text, a.nodes[i].size)
            if other < 0 or not are_same(a, i + 1, b, other):
                return False
            i = a.nodes[i + 1].after
    return True


cdef inline bint find_call(Values* v, Py_ssize_t at, Py_ssize_t* name, Py_ssize_t* arguments) noexcept nogil:
    """The name and the arguments of a tool call; false where the object is none, or not a plain one."""
    cdef Py_ssize_t inner = find(v, at, b"function", 8)
    if inner < 0 or v.nodes[inner].kind != OBJECT:
        inner = at
    name[0] = find(v, inner, b"name", 4)
    if name[0] < 0:
        name[0] = find(v, inner, b"function_name", 13)
    arguments[0] = find(v, inner, b"arguments", 9)
    if arguments[0] < 0:
        arguments[0] = find(v, inner, b"args", 4)
    if arguments[0] < 0:
        arguments[0] = find(v, inner, b"input", 5)
    if name[0] < 0 or v.nodes[name[0]].kind != TEXT or arguments[0] < 0:
        return False
    inner = arguments[0]
    if v.nodes[inner].kind == TEXT:
        inner = arguments[0] = read_whole(v, v.nodes[inner].text, v.nodes[inner].text + v.nodes[inner].size)
    return inner >= 0 and v.nodes[inner].kind == OBJECT
