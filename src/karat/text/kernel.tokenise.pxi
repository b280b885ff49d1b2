# The tokenisers of `karat.text.tokenise`, a part of kernel.pyx.

cdef Py_ssize_t split_chars(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`chars`."""
    cdef uint8_t* o = out
    cdef int32_t code
    cdef Bytes start
    while text < end:
        start = text
        code = decode(&text, end)
        if code < 0:
            return -1
        if not is_space(code):
            o = put(start, text, o, out, True)
    return o - out


cdef Py_ssize_t split_rouge(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`rouge`: some characters that are not ASCII are ASCII in lower case."""
    cdef uint8_t* o = out
    cdef bint apart = False, dotted
    cdef int32_t code
    cdef Py_ssize_t size
    while text < end:
        if kind[text[0]] == WORD:
            o = put(text, text, o, out, apart)
            size = 16
            while size == 16:
                size = copy_word(text, end, words.limit, o, True)
                text += size
                o += size
            apart = False
            continue
        if text[0] < 128:
            apart = True
            text += 1
            continue
        code = decode(&text, end)
        if code < 0:
            return -1
        dotted = code == SMALL_DOTTED_I  # an i and a dot, which ends the token
        code = 105 if dotted else lower_of(code)
        if code >= 128 or kind[code] != WORD:
            apart = True
        else:
            o = encode(code, put(text, text, o, out, apart))
            apart = dotted
    return o - out


cdef inline Py_ssize_t copy_word(Bytes text, Bytes end, Bytes limit, uint8_t* o, bint lowered) noexcept nogil:
    """Copy the next ASCII letters and digits, at most 16; returns how many. Writes 16 bytes."""
    cdef uint8_t block[16]
    cdef uint8_t rest[16]
    cdef Py_ssize_t size, most = end - text
    if limit - text < 16:
        memcpy(rest, text, most)
        text = rest
    size = first_bit(lower_16(text, block) >> 16 & 0xFFFF | 0x10000)
    if lowered:
        memcpy(o, block, 16)
    else:
        memcpy(o, text, 16)
    return size if size < most else most


cdef Py_ssize_t split_13a(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`13a`, with its four replacements in one pass; delegates markup, which must be replaced first."""
    cdef uint8_t* o = out
    cdef Bytes s = text
    cdef Bytes start
    cdef Bytes stop
    cdef bint apart = False  # whether the next character starts a token
    cdef bint after_digit, before_digit, odd
    cdef int32_t code
    cdef Py_ssize_t size
    while s < end:
        if kind[s[0]] == WORD:
            o = put(s, s, o, out, apart)
            size = 16
            while size == 16:
                size = copy_word(s, end, words.limit, o, False)
                s += size
                o += size
            apart = False
            continue
        if s[0] == 32:
            apart = True
            s += 1
            continue
        start = s
        code = decode(&s, end)
        if code < 0 or is_markup(start, end):
            return -1
        if is_space(code):
            apart = True
        elif code == 44 or code == 46:  # the patterns take a run of , and . in pairs, the first with a character before it
            stop = start
            while stop < end and (stop[0] == 44 or stop[0] == 46):
                stop += 1
            after_digit = start > text and is_digit((start - 1)[0])
            before_digit = stop < end and is_digit(stop[0])
            odd = (stop - start) & 1
            apart = apart or not (after_digit and before_digit and stop - start == 1)
            s = start
            while s < stop:
                o = put(s, s + 1, o, out, apart)
                apart = True
                s += 1
            apart = not (before_digit and odd == after_digit)
        elif code < 128 and (alone[code] or (code == 45 and start > text and is_digit((start - 1)[0]))):
            o = put(start, s, o, out, True)
            apart = True
        else:
            o = put(start, s, o, out, apart)
            apart = False
    return o - out


cdef inline uint8_t* put(Bytes text, Bytes end, uint8_t* o, uint8_t* out, bint apart) noexcept nogil:
    """Write a piece, with a space before it if `apart` and not first; returns the place after it."""
    if apart and o > out:
        o[0] = 32
        o += 1
    return copy(text, end, o)


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return 48 <= byte <= 57


cdef inline bint begins(Bytes text, Bytes end, const char* with_, Py_ssize_t size) noexcept nogil:
    return end - text >= size and memcmp(text, with_, size) == 0


cdef inline bint is_markup(Bytes s, Bytes end) noexcept nogil:
    if s[0] == 38:
        return (begins(s, end, b"&quot;", 6) or begins(s, end, b"&amp;", 5) or begins(s, end, b"&lt;", 4)
                or begins(s, end, b"&gt;", 4))
    return (s[0] == 45 and begins(s, end, b"-\n", 2)) or (s[0] == 60 and begins(s, end, b"<skipped>", 9))
