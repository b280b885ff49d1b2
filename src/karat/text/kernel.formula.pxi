# `math` of `karat.text.formula`, a part of kernel.pyx.

cdef struct Spelling:  # each occurrence of `text` becomes its last `kept` bytes
    uint64_t mark
    char text[16]
    int size, kept

cdef enum:  # marks of bytes, above the 32 of what follows a backslash
    BREAK = 1, BLANK = 2, POINT = 4, EQUALS = 8, SLASH = 16, WIDE = 32, SMALL_FRACTION = 64
    FAILED = -3  # the script fails

cdef Spelling spellings[16]
cdef Spelling per_cent
cdef int spelling_count = len(MATH_SPELLINGS)
cdef uint64_t respelled = 0  # the marks of all spellings
cdef uint64_t marks[3][256]  # of each byte, after another one: a backslash (1), t or d (2), or any other (0)
cdef uint8_t before_byte[256]
cdef int32_t not_spelled = ord(NOT_SPELLED)


def _fill_spellings():
    global per_cent, respelled
    signs = {"\n": BREAK, " ": BLANK, ".": POINT, "=": EQUALS, "/": SLASH}
    for byte in range(256):
        before_byte[byte] = {"\\": 1, "t": 2, "d": 2}.get(chr(byte), 0)
        for after in range(3):
            marks[after][byte] = <uint64_t>(signs.get(chr(byte), 0) | WIDE * (byte >= 128)) << 32
        marks[1][byte] |= command(byte)
    marks[2][ord("f")] |= <uint64_t>SMALL_FRACTION << 32
    for i, (old, new) in enumerate(MATH_SPELLINGS):
        spellings[i] = _spelling(old, new)
        respelled |= spellings[i].mark
    per_cent = _spelling("\\%", "")


cdef Spelling _spelling(str old, str new):
    cdef Spelling made
    cdef bytes text = old.encode()
    assert old.endswith(new) and len(text) < sizeof(made.text)
    made.mark = (command(ord(old.partition("\\")[2][0])) if "\\" in old else
                 <uint64_t>(BREAK if old == "\n" else SMALL_FRACTION) << 32)
    memcpy(made.text, <const char*>text, len(text))
    made.size, made.kept = len(text), len(new)
    return made


cdef inline uint64_t command(uint8_t byte) noexcept nogil:
    """The mark of a backslash before this byte; some bytes share one."""
    return <uint64_t>1 << (byte & 31)


_fill_spellings()


cdef inline uint64_t marks_of(Bytes text, Bytes end) noexcept nogil:
    """What a formula may hold."""
    cdef uint64_t found = 0
    cdef uint8_t after = 0
    while text < end:
        found |= marks[after][text[0]]
        after = before_byte[text[0]]
        text += 1
    return found


cdef Py_ssize_t spell(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`math`, with its replacements in turn, of which those without a mark in the text are left out.

    Delegates fractions of what only `int` can tell to be a number.
    """
    cdef Py_ssize_t size = end - text
    cdef uint64_t found = marks_of(text, end)
    if found >> 32 & WIDE and not is_utf8(text, end):
        return -1
    memcpy(out, text, size)
    if found:
        size = spell_marked(out, size, 2 * size + 16, found)
    if size == FAILED:
        return copy(text, end, encode(not_spelled, out)) - out
    return size


cdef Py_ssize_t spell_marked(uint8_t* out, Py_ssize_t size, Py_ssize_t room, uint64_t found) noexcept nogil:
    cdef Py_ssize_t at
    cdef uint64_t signs
    cdef int i
    if found & respelled:
        for i in range(spelling_count):
            size = respell(&spellings[i], out, size, &found)
    if found & command(116):  # t
        at = place_of(out, size, b"\\text{ ", 7)
        if at >= 0:
            if place_of(out + at + 7, size - at - 7, b"\\text{ ", 7) >= 0:
                return FAILED
            size = at
    size = respell(&per_cent, out, size, &found)
    signs = found >> 32
    if signs & POINT:
        size = put_zeros(out, size, room)
    if signs & EQUALS:
        size = drop_name(out, size)
    if signs & BLANK or found & command(115):  # s
        size = brace_roots(out, size, room)
    if size > 0 and <uint32_t>found:
        size = brace_fractions(out, size, room)
    if size == 3 and memcmp(out, b"0.5", 3) == 0:
        memcpy(out, b"\\frac{1}{2}", 11)
        size = 11
    return spell_slash(out, size) if signs & SLASH and size > 0 else size


cdef inline Py_ssize_t respell(const Spelling* spelling, uint8_t* out, Py_ssize_t size, uint64_t* found) noexcept nogil:
    """Replace a spelling where it occurs, and find anew what the text holds; returns its size."""
    cdef Py_ssize_t at, rest = size
    cdef uint8_t* o = out
    if not found[0] & spelling.mark:
        return size
    at = place_of(out, size, spelling.text, spelling.size)
    if at < 0:
        return size
    while at >= 0:
        memmove(o, out + size - rest, at)
        o += at
        rest -= at + spelling.size
        o = copy(out + size - rest - spelling.kept, out + size - rest, o)
        at = place_of(out + size - rest, rest, spelling.text, spelling.size)
    memmove(o, out + size - rest, rest)
    size = o + rest - out
    found[0] = marks_of(out, out + size)
    return size


cdef inline Py_ssize_t place_of(Bytes text, Py_ssize_t size, const char* wanted, Py_ssize_t length) noexcept nogil:
    """The place of the first occurrence; -1 where there is none."""
    cdef Bytes at = text
    cdef Bytes last = text + size - length
    while at <= last:
        at = <Bytes>memchr(at, wanted[0], last - at + 1)
        if at == NULL:
            return -1
        if memcmp(at, wanted, length) == 0:
            return at - text
        at += 1
    return -1


cdef inline Bytes at_end(uint8_t* out, Py_ssize_t size, Py_ssize_t room) noexcept nogil:
    """Move the text to the end of its room, from where it is read while a longer one is written at the front."""
    memmove(out + room - size, out, size)
    return out + room - size


cdef Py_ssize_t put_zeros(uint8_t* out, Py_ssize_t size, Py_ssize_t room) noexcept nogil:
    """A zero before each point that is first, or follows a space or an opening brace."""
    cdef Bytes s = at_end(out, size, room)
    cdef Bytes end = s + size
    cdef uint8_t* o = out
    cdef uint8_t last = 32
    cdef Py_ssize_t at
    while s < end:
        at = place_of(s, end - s, b".", 1)
        at = at if at >= 0 else end - s
        memmove(o, s, at)
        o += at
        s += at
        last = (s - 1)[0] if at else last
        if s < end:
            if last == 32 or last == 123:
                o[0] = 48
                o += 1
            o[0] = last = 46
            o += 1
            s += 1
    return o - out


cdef Py_ssize_t drop_name(uint8_t* out, Py_ssize_t size) noexcept nogil:
    """Leave out up to two characters and an equals sign, if it is the only one."""
    cdef const void* found = memchr(out, 61, size)
    cdef Py_ssize_t at = <Bytes>found - out, i, chars = 0
    if found == NULL or memchr(out + at + 1, 61, size - at - 1) != NULL:
        return size
    for i in range(at):
        chars += out[i] & 0xC0 != 0x80
    if chars > 2:
        return size
    memmove(out, out + at + 1, size - at - 1)
    return size - at - 1


cdef Py_ssize_t brace_roots(uint8_t* out, Py_ssize_t size, Py_ssize_t room) noexcept nogil:
    """Braces around the character after each root, and no spaces; fails where none follows."""
    cdef Bytes s = at_end(out, size, room)
    cdef Bytes end = s + size
    cdef uint8_t* o = out
    while s < end:
        if s[0] == 92 and begins(s, end, b"\\sqrt", 5):
            o = copy(s, s + 5, o)
            s += 5
            if s == end or begins(s, end, b"\\sqrt", 5):
                return FAILED
            if s[0] != 123:
                o = put_braced(&s, o)
        else:
            o[0] = s[0]
            o += s[0] != 32
            s += 1
    return o - out


cdef Py_ssize_t brace_fractions(uint8_t* out, Py_ssize_t size, Py_ssize_t room) noexcept nogil:
    """Braces around the two characters after each fraction; none where one is missing."""
    cdef Bytes s = out
    cdef Bytes end = s + size
    cdef uint8_t* o = out
    cdef Py_ssize_t at = place_of(out, size, b"\\frac", 5)
    if at < 0:
        return size
    while at >= 0:
        s += at + 5
        if s == end or begins(s, end, b"\\frac", 5):
            return FAILED
        if s[0] != 123 and (s + width(s[0]) == end or begins(s + width(s[0]), end, b"\\frac", 5)):
            return size
        at = place_of(s, end - s, b"\\frac", 5)
    s = at_end(out, size, room)
    end = s + size
    while s < end:
        if s[0] == 92 and begins(s, end, b"\\frac", 5):
            o = copy(s, s + 5, o)
            s += 5
            if s[0] != 123:
                o = put_braced(&s, o)
                if s[0] != 123:
                    o = put_braced(&s, o)
        else:
            o[0] = s[0]
            o += 1
            s += 1
    return o - out


cdef inline int width(uint8_t first) noexcept nogil:
    """How many bytes a character has that starts with this one."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


cdef inline uint8_t* put_braced(Bytes* s, uint8_t* o) noexcept nogil:
    """Write the next character in braces, or only these for a space, and move past it; returns the place after it."""
    cdef Bytes stop = s[0] + width(s[0][0])
    o[0] = 123
    o = copy(s[0] + (s[0][0] == 32), stop, o + 1)
    o[0] = 125
    s[0] = stop
    return o + 1


cdef Py_ssize_t spell_slash(uint8_t* out, Py_ssize_t size) noexcept nogil:
    """A fraction of two whole numbers around the only slash; fails where one is no number."""
    cdef const void* found = memchr(out, 47, size)
    cdef Py_ssize_t above = <Bytes>found - out, below = size - above - 1
    cdef int number
    if found == NULL or memchr(out + above + 1, 47, below) != NULL:
        return size
    number = min(is_whole(out, out + above), is_whole(out + above + 1, out + size))
    if number != 1:
        return number
    memmove(out + 6 + above + 2, out + above + 1, below)
    memmove(out + 6, out, above)
    memcpy(out, b"\\frac{", 6)
    memcpy(out + 6 + above, b"}{", 2)
    out[8 + above + below] = 125
    return size + 8


cdef int is_whole(Bytes s, Bytes end) noexcept nogil:
    """1 for a whole number as Python spells it; FAILED for what is none, and -1 where `int` has to tell."""
    cdef bint minus = s < end and s[0] == 45
    cdef Bytes first = s + minus
    cdef int told = 1 if 0 < end - first <= 600 and (first[0] != 48 or (end - first == 1 and not minus)) else -1
    s += minus
    while s < end:
        if not is_digit(s[0]):
            if 32 < s[0] < 128 and s[0] != 43 and s[0] != 45 and s[0] != 95:
                return FAILED
            told = -1
        s += 1
    return told
