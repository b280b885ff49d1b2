# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles most normalisers and tokenisers of `karat.text`: UTF-8 bytes to UTF-8 bytes, row by row.

Every map returns the same as its definition, except for rows that it delegates (returns -1), which the caller maps by
the definition: malformed UTF-8, characters whose case depends on their neighbours, and the cases in its docstring.
Output never exceeds twice the input and 16 bytes a row: case folding lengthens UTF-8 by half at most, and a token has
at least one byte.

Tokenisers are in files of their own, which are included: they share functions that read and write UTF-8, inlined only
within a module. Longer than 300 lines because the normalisers share their tables too.
"""

import re
import string
import sys
import unicodedata
from threading import Lock

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from karat.text.normalise import ARTICLES, is_currency, is_outer, is_punctuation
from karat.text.tokenise import INVISIBLE

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define as_little(word) __builtin_bswap64(word)
    #else
    #define as_little(word) (word)
    #endif

    /* Write 16 bytes in lower case to `block`. Returns a bit for each byte that is a space (0-15), that is neither an ASCII letter
       nor a digit (16-31), and that is neither of these nor punctuation (32-47). */
    #ifdef __SSE2__
    #include <emmintrin.h>
    static inline __m128i between(__m128i bytes, char first, char last) {
        return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(first - 1)),
                             _mm_cmplt_epi8(bytes, _mm_set1_epi8(last + 1)));
    }
    static inline uint64_t lower_16(const uint8_t* text, uint8_t* block) {
        __m128i bytes = _mm_loadu_si128((const __m128i*) text), bit = _mm_set1_epi8(32);
        __m128i letters = between(_mm_or_si128(bytes, bit), 'a', 'z');
        __m128i spaces = _mm_or_si128(_mm_cmpeq_epi8(bytes, bit), _mm_or_si128(between(bytes, 9, 13), between(bytes, 28, 31)));
        __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, bit), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(127)));
        _mm_storeu_si128((__m128i*) block, _mm_or_si128(bytes, _mm_and_si128(letters, bit)));
        return (uint64_t) _mm_movemask_epi8(spaces)
             | (uint64_t) (0xFFFF & ~_mm_movemask_epi8(_mm_or_si128(letters, between(bytes, '0', '9')))) << 16
             | (uint64_t) _mm_movemask_epi8(_mm_andnot_si128(spaces, odd)) << 32;
    }
    #else
    static inline uint64_t lower_16(const uint8_t* text, uint8_t* block) {
        uint64_t found = 0;
        for (int i = 0; i < 16; i++) {
            uint8_t byte = text[i], low = byte | 32, letter = low >= 'a' && low <= 'z';
            uint64_t space = byte == 32 || (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 31);
            uint64_t odd = !space && (byte < 32 || byte >= 127);
            found |= space << i | (uint64_t) !(letter || (byte >= '0' && byte <= '9')) << (16 + i) | odd << (32 + i);
            block[i] = byte | letter << 5;
        }
        return found;
    }
    #endif
    """
    uint64_t as_little(uint64_t) nogil
    uint64_t lower_16(const uint8_t*, uint8_t*) nogil
    int first_bit "__builtin_ctzll"(uint64_t) nogil

ctypedef const uint8_t* Bytes
ctypedef Py_ssize_t (*Map)(Bytes, Bytes, uint8_t*, const Words*) noexcept nogil

cdef struct Words:  # the articles to drop; none is longer than 8 bytes
    int count
    Py_ssize_t longest
    uint64_t key[16]
    Bytes limit  # where the memory of the texts ends
    bint ascii  # only ASCII punctuation is dropped
    bint spaced  # it becomes a space instead, and so do acute accents and curly apostrophes

cdef enum:
    WORD, PUNCTUATION, SPACE, OTHER  # kinds of ASCII bytes; OTHER includes every byte that is not ASCII
    OUTER = 1, DECIMAL = 2, ALPHA = 4, ALNUM = 8, CURRENCY = 16, WHITE = 32  # flags of characters
    SMALL_DOTTED_I = 0x130, CAPITAL_SIGMA = 0x3A3  # the two characters str.lower() does not map one to one
    PLANES = 0x20000  # the characters the tables cover: planes 0 and 1

cdef uint8_t kind[256]
cdef uint8_t lower[256]
cdef uint8_t alone[128]  # 13a: punctuation that always stands alone
cdef int32_t small_of[PLANES]
cdef uint8_t alnum[PLANES], white[PLANES]
cdef uint8_t flags[PLANES]
cdef int32_t folded[PLANES]  # unicode: NFKC and case folding where it is one to one, else 0
cdef uint8_t punctuation[PLANES]
cdef bint has_folded = False, has_punctuation = False
_filling = Lock()


def _fill_ascii():
    for byte in range(256):
        char = chr(byte)
        ascii = byte < 128
        lower[byte] = ord(char.lower())
        kind[byte] = (OTHER if not ascii else PUNCTUATION if char in string.punctuation else SPACE if char.isspace()
                      else WORD if char.isalnum() else OTHER)
        if ascii:
            alone[byte] = char in string.punctuation and char not in "',-."
            flags[byte] = _flags(char)


def _fill_characters():
    """What `str` says of characters: in C, the stable ABI has no functions for it."""
    cdef str chars, coding = f"utf-32-{sys.byteorder[0]}e"
    cdef bytes small
    cdef Py_ssize_t code, start, end
    for code in range(PLANES):
        small_of[code] = 0 if 0xD800 <= code < 0xE000 else code
    small_of[SMALL_DOTTED_I], small_of[CAPITAL_SIGMA] = 0x69, 0x3C3
    chars = (<const char*> small_of)[:sizeof(small_of)].decode(coding)
    small = chars.lower().encode(coding)
    memcpy(small_of, <const char*> small, sizeof(small_of))
    for start, end in [match.span() for match in re.finditer(r"[^\W_]+", chars)]:
        memset(&alnum[start], True, end - start)
    for start, end in [match.span() for match in re.finditer(r"\s+", chars)]:
        memset(&white[start], True, end - start)


def _flags(str char):
    return (OUTER * is_outer(char) | DECIMAL * char.isdecimal() | ALPHA * char.isalpha() | ALNUM * char.isalnum()
            | CURRENCY * is_currency(char) | WHITE * char.isspace())


def _fill_punctuation():
    global has_punctuation
    for code in range(PLANES):
        punctuation[code] = is_punctuation(chr(code))
    has_punctuation = True


def _fill_folded():
    global has_folded
    chars = [chr(code) for code in range(PLANES) if not 0xD800 <= code < 0xE000]
    pairs = [unicodedata.decomposition(char).split() for char in chars]
    seconds = {int(pair[1], 16) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"}
    seconds.update(range(0x1160, 0x1200))  # Hangul vowels and finals compose by rule
    for char in chars:
        normal = unicodedata.normalize("NFKC", char)
        flags[ord(char)] = _flags(char)
        if len(normal) == 1 and not unicodedata.combining(normal) and ord(normal) not in seconds:
            plain = {"\u2212": "-", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}.get(normal, normal)
            fold = plain.casefold()
            if len(fold) == 1 and ord(fold) < PLANES:
                folded[ord(char)] = ord(fold)
    has_folded = True


def _fill_for(str name):
    """Fill the tables that this map needs, once; several threads may ask at the same time."""
    with _filling:
        if name.startswith("mlqa") and not has_punctuation:
            _fill_punctuation()
        elif name == "unicode" and not has_folded:
            _fill_folded()
        elif name == "words" and not has_parts:
            _fill_parts()


_fill_ascii()
_fill_characters()


cdef inline int32_t lower_of(int32_t code) noexcept nogil:
    return small_of[code] if code < PLANES else code


cdef inline bint is_alnum(int32_t code) noexcept nogil:
    return code < PLANES and alnum[code]


cdef inline bint is_space(int32_t code) noexcept nogil:
    return code < PLANES and white[code]


cdef void _set_words(Words* words, tuple spelled):
    words.longest = max([len(word.encode()) for word in spelled], default=0)
    words.count = len(spelled)
    for i, word in enumerate(spelled):
        words.key[i] = int.from_bytes(word.encode(), "little")


cdef inline bint listed(Bytes word, Py_ssize_t length, const Words* words) noexcept nogil:
    """Whether letters and digits, with 8 readable bytes, are one of the words; without branches, for speed."""
    cdef uint64_t key
    cdef int i, found = 0, shift = (64 - 8 * length) & 63
    memcpy(&key, word, 8)
    key = as_little(key) << shift >> shift
    for i in range(words.count):
        found |= key == words.key[i]
    return found & (length <= words.longest) & (length > 0)


cdef inline int32_t decode(Bytes* text, Bytes end) noexcept nogil:
    """The code point that starts here, and move past it; -1 if the bytes are not UTF-8."""
    cdef Bytes s = text[0]
    cdef int32_t code = s[0], least
    cdef int more, i
    if code < 0x80:
        text[0] = s + 1
        return code
    more = 1 if 0xC2 <= code < 0xE0 else 2 if 0xE0 <= code < 0xF0 else 3 if 0xF0 <= code < 0xF5 else 9
    if end - s <= more:
        return -1
    code &= 0x3F >> more
    for i in range(1, more + 1):
        if s[i] & 0xC0 != 0x80:
            return -1
        code = code << 6 | (s[i] & 0x3F)
    least = 0x80 if more == 1 else 0x800 if more == 2 else 0x10000
    if code < least or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return -1
    text[0] = s + more + 1
    return code


cdef inline uint8_t* encode(int32_t code, uint8_t* out) noexcept nogil:
    """Write a code point; returns the place after it."""
    if code < 0x80:
        out[0] = code
        return out + 1
    if code < 0x800:
        out[0] = 0xC0 | code >> 6
        out[1] = 0x80 | (code & 0x3F)
        return out + 2
    if code < 0x10000:
        out[0] = 0xE0 | code >> 12
        out[1] = 0x80 | (code >> 6 & 0x3F)
        out[2] = 0x80 | (code & 0x3F)
        return out + 3
    out[0] = 0xF0 | code >> 18
    out[1] = 0x80 | (code >> 12 & 0x3F)
    out[2] = 0x80 | (code >> 6 & 0x3F)
    out[3] = 0x80 | (code & 0x3F)
    return out + 4


cdef inline uint8_t* copy(Bytes text, Bytes end, uint8_t* out) noexcept nogil:
    while text < end:
        out[0] = text[0]
        out += 1
        text += 1
    return out


cdef Py_ssize_t drop_words(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`squad`, `mlqa` and `triviaqa` for ASCII, 64 bytes at a time, else `drop_words_anywhere`.

    Each block is first lower-cased and its spaces and punctuation marked, without a branch; then the text between
    spaces is copied.
    """
    cdef uint8_t block[64 + 16]
    cdef uint8_t rest[64]
    cdef Bytes start = text
    cdef Bytes source
    cdef uint8_t* o = out
    cdef uint8_t* word = out
    cdef uint64_t found, spaces, others, odd
    cdef Py_ssize_t size, at, stop, length
    cdef int dropped
    while text < end:
        size = end - text if end - text < 64 else 64
        source = text
        if words.limit - text < 64:
            memcpy(rest, text, size)
            source = rest
        spaces = others = odd = at = 0
        while at < size:
            found = lower_16(source + at, block + at)
            spaces |= (found & 0xFFFF) << at
            others |= (found >> 16 & 0xFFFF) << at
            odd |= (found >> 32) << at
            at += 16
        found = ~<uint64_t>0 >> (64 - size)
        if odd & found:
            return drop_words_anywhere(start, end, out, words)
        others &= ~spaces
        if words.spaced:
            spaces |= others
            others = 0
        spaces &= found
        at = 0
        while spaces:
            stop = first_bit(spaces)
            spaces &= spaces - 1
            length = stop - at
            if o == word and not marked(others, at, length):  # a whole word without marks: it is compared in `block`
                dropped = listed(block + at, length, words) | (length == 0)
                copy_block(block + at, length, o)[0] = 32
                o += (length + 1) & (dropped - 1)
            else:
                o = copy_piece(block, at, length, others, o)
                dropped = listed(word, o - word, words) | (o == word)
                o[0] = 32  # only now: a read after a partial overwrite would stall
                o = word if dropped else o + 1
            at = stop + 1
            word = o
        o = copy_piece(block, at, size - at, others, o)
        text += 64
    if listed(word, o - word, words):
        o = word
    return o - out - (o == word and o > out)


cdef inline bint marked(uint64_t marks, Py_ssize_t at, Py_ssize_t size) noexcept nogil:
    """Whether any of these bits is set."""
    return size > 0 and marks >> at & ~<uint64_t>0 >> (64 - size)


cdef inline uint8_t* copy_piece(const uint8_t* block, Py_ssize_t at, Py_ssize_t size, uint64_t marks, uint8_t* o) noexcept nogil:
    """Copy the text between two spaces without its marked bytes; returns the place after it."""
    cdef Py_ssize_t i
    if not marked(marks, at, size):
        return copy_block(block + at, size, o)
    for i in range(at, at + size):
        o[0] = block[i]
        o += 1 ^ (marks >> i & 1)
    return o


cdef inline uint8_t* copy_block(const uint8_t* block, Py_ssize_t size, uint8_t* o) noexcept nogil:
    """Copy `size` bytes, 16 at a time, so up to 16 more are written; returns the place after them."""
    cdef Py_ssize_t i = 16
    memcpy(o, block, 16)
    while i < size:
        memcpy(o + i, block + i, 16)
        i += 16
    return o + size


cdef Py_ssize_t drop_words_anywhere(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`drop_words` for all characters. A word is a run of letters, digits and "_", as in `re`; marks end it."""
    cdef uint8_t* o = out
    cdef uint8_t* word = NULL  # where the run of word characters starts, if in one
    cdef uint8_t* before = out  # where the output is cut to drop it: at the space before it, if any
    cdef bint space = False
    cdef int32_t code
    while True:
        code = 32
        if text < end:
            code = decode(&text, end)
            if code < 0 or code == SMALL_DOTTED_I or code == CAPITAL_SIGMA:
                return -1
            if code >= PLANES:
                return -1
            code = lower[code] if code < 128 else lower_of(code)
            if words.spaced and (code == 0xB4 or code == 0x2018 or code == 0x2019 or (code < 128 and kind[code] == PUNCTUATION)):
                code = 32
            elif (kind[code] == PUNCTUATION) if code < 128 else (not words.ascii and punctuation[code] != 0):
                continue
        elif word == NULL:
            return o - out
        if (kind[code] == WORD) if code < 128 else is_alnum(code):
            if word == NULL:
                before = o
                if space and o > out:
                    o[0] = 32
                    o += 1
                word = o
                space = False
            o = encode(code, o)
            continue
        if word != NULL and listed(word, o - word, words):
            o = before
            space = True
        word = NULL
        if is_space(code):
            space = True
        else:
            if space and o > out:
                o[0] = 32
                o += 1
            space = False
            o = encode(code, o)


cdef Py_ssize_t drop_punctuation(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`plain`."""
    cdef uint8_t* o = out
    cdef int32_t code
    while text < end:
        if text[0] < 128:
            o[0] = lower[text[0]]
            o += kind[text[0]] != PUNCTUATION
            text += 1
            continue
        code = decode(&text, end)
        if code < 0 or code == SMALL_DOTTED_I or code == CAPITAL_SIGMA:
            return -1
        o = encode(lower_of(code), o)
    return o - out


cdef Py_ssize_t squeeze(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`whitespace`: words joined by single spaces."""
    cdef uint8_t* o = out
    cdef bint space = False
    cdef int32_t code
    cdef Bytes start
    while text < end:
        start = text
        code = decode(&text, end)
        if code < 0:
            return -1
        if is_space(code):
            space = True
            continue
        o = put(start, text, o, out, space)
        space = False
    return o - out


include "kernel.tokenise.pxi"
include "kernel.words.pxi"


cdef Py_ssize_t fold(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`unicode`; delegates characters that do not fold to one character, and combining marks."""
    cdef Py_ssize_t size = fold_words(text, end, out, True)
    return size if size else fold_words(text, end, out, False)


cdef Py_ssize_t fold_words(Bytes text, Bytes end, uint8_t* out, bint trimmed) noexcept nogil:
    cdef uint8_t* o = out
    cdef uint8_t* word = out
    cdef int32_t code
    while text < end:
        code = decode(&text, end)
        if code < 0 or code >= PLANES or folded[code] == 0:
            return -1
        code = folded[code]
        if not flags[code] & WHITE:
            o = encode(code, o)
            if text < end:
                continue
        if trimmed:
            o = trim(word, o)
        if o > word:
            o[0] = 32
            o += 1
            word = o
    return o - out - (o > out)


cdef uint8_t* trim(uint8_t* word, uint8_t* end) noexcept nogil:
    """Drop outer punctuation in place; returns the new end."""
    cdef Bytes start = word
    cdef Bytes stop = end
    cdef Bytes at
    cdef int32_t code, last = -1
    while start < stop:
        at = start
        code = decode(&at, stop)
        if not flags[code] & OUTER or (code != last and begins_meaning(code, at, stop)):
            break
        last = code
        start = at
    while stop > start:
        at = before(stop)
        code = char_at(at, stop)
        if not flags[code] & OUTER or (at > start and ends_meaning(code, char_at(before(at), at))):
            break
        stop = at
    return copy(start, stop, word)


cdef inline Bytes before(Bytes at) noexcept nogil:
    at -= 1
    while at[0] & 0xC0 == 0x80:
        at -= 1
    return at


cdef inline int32_t char_at(Bytes at, Bytes end) noexcept nogil:
    """The code point that starts here; 0 at the end."""
    return decode(&at, end) if at < end else 0


cdef inline bint begins_meaning(int32_t code, Bytes after, Bytes end) noexcept nogil:
    cdef uint8_t next = flags[char_at(after, end)]
    if code == 45:
        return next & (DECIMAL | CURRENCY) or (after < end and after[0] == 46 and flags[char_at(after + 1, end)] & DECIMAL)
    return code == 46 and next & ALNUM


cdef inline bint ends_meaning(int32_t code, int32_t before) noexcept nogil:
    return ((code == 37 or code == 0x2030) and flags[before] & DECIMAL) or (code == 35 and flags[before] & ALPHA)


cdef bint is_utf8(Bytes text, Bytes end) noexcept nogil:
    cdef uint64_t words[4]
    while text < end:
        if end - text >= 32:
            memcpy(words, text, 32)
            if not (words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080ULL:
                text += 32
                continue
        if end - text >= 8:
            memcpy(words, text, 8)
            if not words[0] & 0x8080808080808080ULL:
                text += 8
                continue
        if decode(&text, end) < 0:
            return False
    return True


cdef Py_ssize_t keep_distinct(Bytes text, Bytes end, uint8_t* out, const Words* words) noexcept nogil:
    """`distinct`; delegates more than 64 distinct words."""
    cdef uint8_t* o = out
    cdef Bytes stop
    cdef int count = 0
    if not is_utf8(text, end):
        return -1
    while text < end:
        stop = piece_end(text, end, 32)
        if stop > text and not has_word(out, o, text, stop - text):
            count += 1
            o = put(text, stop, o, out, True)
        if count > 64:
            return -1
        text = stop + 1
    return o - out


cdef inline Bytes piece_end(Bytes text, Bytes end, int mark) noexcept nogil:
    """The next place of this byte, else the end."""
    cdef Bytes found = <Bytes>memchr(text, mark, end - text)
    return found if found != NULL else end


cdef bint has_word(Bytes text, Bytes end, Bytes word, Py_ssize_t size) noexcept nogil:
    """Whether a word is among those of a text, which single spaces join."""
    cdef Bytes stop
    while end - text >= size:
        stop = piece_end(text, end, 32)
        if stop - text == size and memcmp(text, word, size) == 0:
            return True
        text = stop + 1
    return False


def transform(str name, const int64_t[::1] offsets, const uint8_t[::1] data, int64_t[::1] out_offsets,
              uint8_t[::1] out, uint8_t[::1] delegated):
    """Map each row of `data` to `out`; returns how many rows are delegated (1 in `delegated`, empty in `out`)."""
    cdef Py_ssize_t row, size, at = 0, left = 0, rows = offsets.shape[0] - 1
    cdef Words words
    cdef Map step
    cdef Bytes text = &data[0]
    words.spaced = name == "triviaqa"
    words.ascii = name == "squad" or words.spaced
    _set_words(&words, ARTICLES["en"] if words.ascii else ARTICLES.get(name[5:] or "en", ()))
    words.limit = text + data.shape[0]
    _fill_for(name)
    if words.ascii:
        step = drop_words
    elif name.startswith("mlqa"):
        step = drop_words
    elif name == "unicode":
        step = fold
    elif name == "plain":
        step = drop_punctuation
    elif name == "distinct":
        step = keep_distinct
    elif name == "13a":
        step = split_13a
    elif name == "words":
        step = split_ascii_words
    elif name == "chars":
        step = split_chars
    elif name == "rouge":
        step = split_rouge
    elif name == "whitespace":
        step = squeeze
    else:
        raise ValueError(f"this kernel has no map {name!r}: build it again")
    with nogil:
        out_offsets[0] = 0
        for row in range(rows):
            size = step(text + offsets[row], text + offsets[row + 1], &out[at], &words)
            if size >= 0:
                at += size
            else:
                delegated[row] = 1
                left += 1
            out_offsets[row + 1] = at
    return left
