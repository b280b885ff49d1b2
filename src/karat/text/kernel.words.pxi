# The tokeniser `words` of `karat.text.tokenise`, a part of kernel.pyx.

cdef enum:  # what UAX #29 and the definition tell apart; UNKNOWN is delegated
    UNKNOWN = 0, LETTER = 1, DIGIT = 2, KATAKANA = 4, JOINT = 8, SINGLE = 16, HIDDEN = 32, EXTENDS = 64, BLANK = 128

cdef uint8_t part[PLANES]  # one of these
cdef uint8_t inner[PLANES]  # ALPHA and DECIMAL: the character may stand between two letters, two digits, inside a word
cdef uint8_t seen_as[PLANES]  # ALPHA, ALNUM, DECIMAL, CURRENCY, as in the patterns of the definition
cdef bint has_parts = False


def _fill_parts():
    """By the `regex` library, which the definition cuts with, and the categories that it drops."""
    import regex

    global has_parts
    cdef Py_ssize_t code, start, end
    chars = "".join(" " if 0xD800 <= code < 0xE000 else chr(code) for code in range(PLANES))
    kinds = {"Other": SINGLE, "ALetter": LETTER, "Numeric": DIGIT, "Katakana": KATAKANA, "ExtendNumLet": JOINT, "Extend": EXTENDS,
             "Double_Quote": HIDDEN, "Single_Quote": HIDDEN, "MidNumLet": HIDDEN, "MidLetter": HIDDEN, "MidNum": HIDDEN}
    for name, value in kinds.items():
        for start, end in [match.span() for match in regex.finditer(rf"\p{{Word_Break={name}}}+", chars)]:
            memset(&part[start], value, end - start)
            memset(&inner[start], (name in ("MidLetter", "MidNumLet", "Single_Quote")) * ALPHA
                                  | (name in ("MidNum", "MidNumLet", "Single_Quote")) * DECIMAL, end - start)
    for name, value in {"L": ALPHA | ALNUM, "N": ALNUM, "Nd": ALNUM | DECIMAL, "Sc": CURRENCY}.items():
        for start, end in [match.span() for match in regex.finditer(rf"\p{{{name}}}+", chars)]:
            memset(&seen_as[start], value, end - start)
    for code in range(PLANES):
        invisible = unicodedata.category(chars[code]) in INVISIBLE
        if white[code]:
            part[code] = BLANK
        elif invisible and part[code] == SINGLE:
            part[code] = HIDDEN
        elif invisible != (part[code] in (HIDDEN, JOINT)) or (part[code] == DIGIT and not seen_as[code] & DECIMAL):
            part[code] = UNKNOWN
    has_parts = True


cdef Py_ssize_t split_ascii_words(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`words` for ASCII, else `split_any_words`."""
    cdef uint8_t* o = out
    cdef Bytes s = text
    cdef Bytes start
    cdef Bytes at
    cdef bint visible
    while s < end:
        start = s
        visible = kind[s[0]] == PUNCTUATION and not flags[s[0]] & OUTER  # a symbol
        s = after_prefix(s, text, end)
        while s < end and s[0] < 128 and (flags[s[0]] & ALNUM or s[0] == 95 or (s > start and is_joint(s, end))):
            visible = visible or flags[s[0]] & ALNUM
            s += 1
        if s > start:
            at = s
            s = after_suffix(s, end)
            if s < at:
                return -1
        if s < end and s[0] >= 128:
            return split_any_words(text, end, out)
        s += s == start
        if visible:
            o = put(start, s, o, out, True)
    return o - out


cdef inline Bytes after_prefix(Bytes s, Bytes text, Bytes end) noexcept nogil:
    """The place after the sign, currency symbol and point of a number; `s` if no number follows or a word continues."""
    cdef Bytes at = s
    if s > text and flags[(s - 1)[0]] & ALNUM:
        return s
    at += at[0] == 43 or at[0] == 45
    at += at < end and at[0] < 128 and flags[at[0]] & CURRENCY != 0
    at += at < end and at[0] == 46
    return at if at < end and is_digit(at[0]) else s


cdef inline Bytes after_suffix(Bytes s, Bytes end) noexcept nogil:
    """The place after the % of a number or the # or + of a word, unless a letter or digit follows.

    Before `s` where the last + is also the sign of a number.
    """
    cdef Bytes at = s
    cdef uint8_t last = (s - 1)[0]
    if s < end and ((s[0] == 37 and is_digit(last)) or (s[0] == 35 and flags[last] & ALPHA)):
        at = s + 1
    elif flags[last] & ALPHA:
        while at < end and at[0] == 43:
            at += 1
    if at < end and at[0] < 128 and flags[at[0]] & ALNUM:
        return s
    return s - 1 if at - s > 1 and after_prefix(at - 1, at - 1, end) > at - 1 else at


cdef inline bint is_joint(Bytes s, Bytes end) noexcept nogil:
    """Whether a character is between two letters, or two digits, that it may join to one word."""
    return s + 1 < end and s[1] < 128 and inner[s[0]] & flags[(s - 1)[0]] & flags[s[1]]


cdef Py_ssize_t split_any_words(Bytes text, Bytes end, uint8_t* out) noexcept nogil:
    """`words`; delegates Hebrew, flags, joined emoji, invisible characters and marks that follow no letter or symbol."""
    cdef uint8_t* o = out
    cdef Bytes s = text
    cdef Bytes start
    cdef Bytes at
    cdef int32_t code
    cdef uint8_t kind, next, last = 0  # the character before, as patterns see it
    cdef bint visible
    while s < end:
        start = s
        if not last & ALNUM:
            s = before_number(s, end)
        code = known(&s, end)
        if code < 0 or part[code] == EXTENDS:
            return -1
        kind = part[code]
        last = seen_as[code]
        if kind == BLANK:
            continue
        visible = kind & (SINGLE | LETTER | DIGIT | KATAKANA)
        while s < end:
            at = s
            code = known(&at, end)
            if code < 0:
                return -1
            next = part[code]
            if next == EXTENDS and kind != HIDDEN:
                visible = True
                last = seen_as[code]
                s = at
                continue
            if not goes_on(kind, next):
                if at == end or not inner[code] & ((kind & LETTER) * ALPHA | ((kind & DIGIT) != 0) * DECIMAL):
                    break
                code = known(&at, end)
                if code < 0:
                    return -1
                next = part[code]
                if next != kind:
                    break
            kind = next
            visible = visible or kind != JOINT
            last = seen_as[code]
            s = at
        at = s
        s = with_sign(s, end, last)
        if s < at:
            return -1
        if s > at:
            last = 0
        if visible:
            o = put(start, s, o, out, True)
    return o - out


cdef inline int32_t known(Bytes* s, Bytes end) noexcept nogil:
    """The code point that starts here, and move past it; -1 if it is delegated."""
    cdef int32_t code = decode(s, end)
    return code if 0 <= code < PLANES and part[code] != UNKNOWN else -1


cdef inline uint8_t seen_at(Bytes s, Bytes end) noexcept nogil:
    """How patterns see the character that starts here; 0 at the end."""
    cdef int32_t code = decode(&s, end) if s < end else 0
    return seen_as[code] if 0 <= code < PLANES else 0


cdef inline bint goes_on(uint8_t kind, uint8_t next) noexcept nogil:
    """Whether a word of this kind goes on with a character of the next."""
    if kind & (LETTER | DIGIT) and next & (LETTER | DIGIT):
        return True
    return (kind & next & KATAKANA) or ((kind | next) & JOINT and kind < SINGLE and next < SINGLE)


cdef inline Bytes before_number(Bytes s, Bytes end) noexcept nogil:
    """The place after the sign, currency symbol and point of a number; `s` if no digit follows."""
    cdef Bytes at = s
    cdef Bytes after
    at += at[0] == 43 or at[0] == 45
    if seen_at(at, end) & CURRENCY:
        decode(&at, end)
    at += at < end and at[0] == 46
    return at if seen_at(at, end) & DECIMAL else s


cdef inline Bytes with_sign(Bytes s, Bytes end, uint8_t last) noexcept nogil:
    """The place after the %, ‰, # or + that belongs to the word before; before `s` where the last + is also a number's sign."""
    cdef Bytes at = s
    if s < end and last & DECIMAL and s[0] == 37:
        at += 1
    elif last & DECIMAL and begins(s, end, b"\xe2\x80\xb0", 3):
        at += 3
    elif s < end and last & ALPHA and s[0] == 35:
        at += 1
    elif last & ALPHA:
        while at < end and at[0] == 43:
            at += 1
    if seen_at(at, end) & ALNUM:
        return s
    return s - 1 if at - s > 1 and s[0] == 43 and before_number(at - 1, end) > at - 1 else at
