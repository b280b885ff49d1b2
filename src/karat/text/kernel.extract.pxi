# The extractors of `karat.text.extract`, a part of kernel.pyx.

cdef inline Bytes piece_end(Bytes text, Bytes end, int mark) noexcept nogil:
    """The next place of this byte, else the end."""
    cdef Bytes found = <Bytes>memchr(text, mark, end - text)
    return found if found != NULL else end


cdef Py_ssize_t put_answer(Bytes text, Bytes end, uint8_t* out) noexcept nogil:
    """Write an answer without surrounding whitespace."""
    cdef Bytes at = text
    cdef int32_t code
    while text < end:
        code = decode(&at, end)
        if not is_space(code):
            break
        text = at
    while text < end:
        code = char_at(before(end), end)
        if not is_space(code):
            break
        end = before(end)
    memcpy(out, text, end - text)
    return end - text if end > text else NOTHING


cdef Bytes after_mark(Bytes text, Bytes end, const Words* words) noexcept nogil:
    """The place after the next mark, NULL if there is none; by Horspool's search."""
    cdef Py_ssize_t size = words.mark_size
    while end - text >= size:
        if memcmp(text, words.mark, size) == 0:
            return text + size
        text += words.skip[text[size - 1]]
    return NULL


cdef Py_ssize_t find_in_line(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`mmlu_cot` and `bbh`."""
    cdef Bytes stop
    if not is_utf8(text, end):
        return -1
    text = after_mark(text, end, words)
    while text != NULL:
        stop = piece_end(text, end, 10)
        if stop > text:
            return put_answer(text, before(stop), out)
        text = after_mark(text, end, words)
    return NOTHING


cdef Py_ssize_t find_gsm8k_strict(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`gsm8k_strict`."""
    cdef Bytes start
    if not is_utf8(text, end):
        return -1
    start = after_mark(text, end, words)
    while start != NULL:
        text = start + (start < end and start[0] == 45)
        while text < end and (is_digit(text[0]) or text[0] == 44 or text[0] == 46):
            text += 1
        if text > start and (text - 1)[0] != 45:
            return put_answer(start, text, out)
        start = after_mark(text, end, words)
    return NOTHING


cdef Py_ssize_t find_gsm8k_flexible(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`gsm8k_flexible`, from the end."""
    cdef Bytes at = end
    cdef Bytes stop
    if not is_utf8(text, end):
        return -1
    while at > text:
        stop = at
        while at > text and in_gsm8k((at - 1)[0]):
            at -= 1
        if stop - at > 1 or (stop > at and is_digit(at[0])):
            return put_answer(at - (at > text and (at - 1)[0] == 45), stop, out)
        at -= at == stop
    return NOTHING


cdef inline bint in_gsm8k(uint8_t byte) noexcept nogil:
    return is_digit(byte) or byte == 36 or byte == 44 or byte == 46


cdef Py_ssize_t find_first_line(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`first_line`."""
    return put_answer(text, piece_end(text, end, 10), out) if is_utf8(text, end) else -1


cdef Py_ssize_t find_between_dollars(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`dollars`."""
    cdef Bytes first
    cdef Bytes last = end - 1
    if not is_utf8(text, end):
        return -1
    first = <Bytes>memchr(text, 36, end - text)
    if first != NULL:
        while last[0] != 36:
            last -= 1
        if last > first:
            text = first + 1
            end = last
    memcpy(out, text, end - text)
    return end - text


cdef void _set_mark(Words* words, const char* mark, Py_ssize_t size):
    cdef Py_ssize_t i
    words.mark = mark
    words.mark_size = size
    for i in range(256):
        words.skip[i] = size
    for i in range(size - 1):
        words.skip[<uint8_t>mark[i]] = size - 1 - i
