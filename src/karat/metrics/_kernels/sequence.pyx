# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles the definitions of `karat.metrics.text.bleu` and `rouge`: common n-grams and longest common subsequences.

In a text of at most FEW tokens the positions of a token are the bits of a machine word; the tokens of longer texts are
numbered by a hash table. Both compare the bytes of tokens whose keys are equal, so that hash collisions do no harm.

Longer than 300 lines because the compiler inlines functions only within a module.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from karat.metrics._kernels.tokens cimport (
    FEW, ODD, Bytes, Column, Text, Token, alike, are_equal, column, first_bit, longest_of, mark_all, same, split, text_of,
)

cdef extern from *:
    int count_bits "__builtin_popcountll"(uint64_t) nogil

cdef struct Few:  # at most FEW tokens, as bits
    const Token* tokens
    Py_ssize_t count
    uint64_t valid
    uint64_t marks[8]

cdef struct Table:  # maps keys, or tokens, to numbers from 1
    int64_t* numbers
    uint64_t* keys
    int shift
    uint64_t last


cdef inline void see_few(const Token* tokens, Py_ssize_t count, Few* few) noexcept nogil:
    few.tokens = tokens
    few.count = count
    few.valid = ~<uint64_t>0 >> (64 - count) if count else 0
    mark_all(tokens, count, few.marks)


cdef inline uint64_t places_of(const Few* few, const Token* token) noexcept nogil:
    """A bit for each token that equals this one."""
    cdef uint64_t places = 0, found = alike(few.marks, few.count, token) & few.valid
    cdef const Token* other
    while found:
        other = &few.tokens[first_bit(found)]
        if other.key == token.key and same(other, token):
            places |= found & -found
        found &= found - 1
    return places


cdef void clear(Table* table, Py_ssize_t count) noexcept nogil:
    """Empty the table and set its size for that many numbers."""
    table.shift = 60
    while (<uint64_t>1 << (64 - table.shift)) < 2 * <uint64_t>count:
        table.shift -= 1
    table.last = (<uint64_t>1 << (64 - table.shift)) - 1
    memset(table.numbers, 0, (table.last + 1) * sizeof(int64_t))


cdef inline uint64_t slot_of(const Table* table, uint64_t key) noexcept nogil:
    """The slot that holds this key, or the free slot for it."""
    cdef uint64_t slot = (key ^ (key >> 31)) * ODD >> table.shift
    while table.numbers[slot] and table.keys[slot] != key:
        slot = (slot + 1) & table.last
    return slot


cdef inline uint64_t slot_of_token(const Table* table, const Token* first, const Token* token) noexcept nogil:
    """`slot_of` for a token; `keys` holds the place of each token after `first`."""
    cdef uint64_t slot = (token.key ^ (token.key >> 31)) * ODD >> table.shift
    while table.numbers[slot] and not (
        first[table.keys[slot]].key == token.key and same(&first[table.keys[slot]], token)
    ):
        slot = (slot + 1) & table.last
    return slot


cdef int64_t number(Table* table, const Token* a, Py_ssize_t in_a, const Token* b, Py_ssize_t in_b,
                    int64_t* a_numbers, int64_t* b_numbers) noexcept nogil:
    """Number the distinct tokens of a from 1 and give those of b the same numbers, 0 if not in a; returns how many."""
    cdef int64_t count = 0
    cdef uint64_t slot
    cdef Py_ssize_t i
    clear(table, in_a)
    for i in range(in_a):
        slot = slot_of_token(table, a, &a[i])
        if table.numbers[slot] == 0:
            count += 1
            table.numbers[slot] = count
            table.keys[slot] = i
        a_numbers[i] = table.numbers[slot]
    for i in range(in_b):
        b_numbers[i] = table.numbers[slot_of_token(table, a, &b[i])]
    return count


cdef Py_ssize_t most_tokens(const Column* texts, const int64_t[::1] bounds) noexcept nogil:
    """An upper bound of the number of tokens of a row's texts."""
    cdef Py_ssize_t row, i, size, most = 0
    for row in range(bounds.shape[0] - 1):
        size = 0
        for i in range(bounds[row], bounds[row + 1]):
            size += text_of(texts, i).size // 2 + 1
        most = max(most, size)
    return most


def ngrams(a_offsets, a_places, a_data, b_offsets, b_places, b_data, const int64_t[::1] bounds, bint shortest,
           double[:, ::1] out):
    """Compare row r of a with the texts bounds[r] to bounds[r + 1] of b.

    Writes the length of a, that of b, the matches of each order, and the n-grams of a of each order.
    """
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Text x, y
    cdef Bytes last = NULL
    cdef Py_ssize_t row, i, in_a = 0, in_b, at, rows = out.shape[0], order = (out.shape[1] - 2) // 2
    cdef Py_ssize_t most_a = longest_of(&a, rows) // 2 + 1, most_b = most_tokens(&b, bounds)
    cdef Few few
    cdef Table table
    cdef Token* a_tokens = <Token*> malloc((most_a + 9) * sizeof(Token))
    cdef Token* b_tokens = <Token*> malloc((most_b + 9) * sizeof(Token))
    cdef uint64_t* ends = <uint64_t*> malloc(3 * order * sizeof(uint64_t))
    cdef int64_t* lengths = <int64_t*> malloc((most_b + 9) * sizeof(int64_t))  # `most_tokens` counts at least 1 for each text
    cdef int64_t* room = NULL
    table.numbers = NULL
    table.keys = NULL
    try:
        if most_a > FEW:
            table.numbers = <int64_t*> malloc((4 * most_a + 16) * sizeof(int64_t))
            table.keys = <uint64_t*> malloc((4 * most_a + 16) * sizeof(uint64_t))
            room = <int64_t*> malloc((5 * most_a + 2 * most_b + 16) * sizeof(int64_t))
            if table.numbers == NULL or table.keys == NULL or room == NULL:
                raise MemoryError
        if a_tokens == NULL or b_tokens == NULL or ends == NULL or lengths == NULL:
            raise MemoryError
        with nogil:
            for row in range(rows):
                x = text_of(&a, row)
                if x.size == 0:
                    in_a = 0
                    few.count = few.valid = 0
                elif x.start != last:
                    in_a = split(x.start, x.start + x.size, a.limit, a_tokens)
                    if in_a <= FEW:
                        see_few(a_tokens, in_a, &few)
                last = x.start if x.size else NULL
                out[row, 0] = in_a
                for i in range(order):
                    out[row, 2 + order + i] = max(in_a - i, 0)
                if bounds[row + 1] - bounds[row] == 1 and are_equal(x, text_of(&b, bounds[row])):
                    out[row, 1] = in_a
                    for i in range(order):
                        out[row, 2 + i] = max(in_a - i, 0)
                    continue
                in_b = 0
                for i in range(bounds[row], bounds[row + 1]):
                    y = text_of(&b, i)
                    at = split(y.start, y.start + y.size, b.limit, b_tokens + in_b)
                    lengths[i - bounds[row]] = at
                    in_b += at
                out[row, 1] = length_of_reference(in_a, lengths, bounds[row + 1] - bounds[row], shortest)
                if in_a <= FEW:
                    match_few(&few, b_tokens, lengths, bounds[row + 1] - bounds[row], order, ends, &out[row, 2])
                else:
                    match_many(&table, a_tokens, in_a, b_tokens, in_b, lengths, order, room, &out[row, 2])
    finally:
        free(a_tokens)
        free(b_tokens)
        free(ends)
        free(lengths)
        free(table.numbers)
        free(table.keys)
        free(room)


cdef int64_t length_of_reference(int64_t length, const int64_t* lengths, Py_ssize_t count, bint shortest) noexcept nogil:
    """The shortest length; or the one nearest to `length`, of two equally near ones the shorter."""
    cdef int64_t best
    cdef Py_ssize_t i
    if count == 0:
        return 0
    best = lengths[0]
    for i in range(1, count):
        if lengths[i] < best if shortest else (
            abs(lengths[i] - length) < abs(best - length)
            or (abs(lengths[i] - length) == abs(best - length) and lengths[i] < best)
        ):
            best = lengths[i]
    return best


cdef inline int64_t abs(int64_t x) noexcept nogil:
    return x if x >= 0 else -x


cdef void match_few(const Few* few, const Token* b, const int64_t* lengths, Py_ssize_t count, Py_ssize_t order,
                    uint64_t* ends, double* out) noexcept nogil:
    """Match each n-gram of a reference with the first equal n-gram of the prediction that is not matched yet.

    `ends` has a bit for each place where an n-gram of the prediction ends that equals the reference's current n-gram.
    """
    cdef uint64_t* taken = ends + order  # by this reference
    cdef uint64_t* ever = taken + order  # by any
    cdef uint64_t here, fresh, old, last
    cdef bint running = False
    cdef Py_ssize_t i, j, n
    memset(ends, 0, 3 * order * sizeof(uint64_t))
    for n in range(order):
        out[n] = 0
    for i in range(count):
        for j in range(lengths[i]):
            here = places_of(few, &b[j])
            if here:
                last = ~<uint64_t>0
                for n in range(order):
                    old = ends[n]
                    ends[n] = last & here
                    fresh = ends[n] & ~taken[n]
                    fresh &= -fresh
                    taken[n] |= fresh
                    out[n] += (fresh & ~ever[n]) != 0
                    ever[n] |= fresh
                    last = old << 1
                running = True
            elif running:
                memset(ends, 0, order * sizeof(uint64_t))
                running = False
        b += lengths[i]
        memset(ends, 0, 2 * order * sizeof(uint64_t))


cdef void match_many(Table* table, const Token* a, Py_ssize_t in_a, const Token* b, Py_ssize_t in_b,
                     const int64_t* lengths, Py_ssize_t order, int64_t* room, double* out) noexcept nogil:
    """An n-gram is the pair of the number of its first n - 1 tokens and that of its last; time is linear, and exact."""
    cdef int64_t* a_token = room
    cdef int64_t* a_gram = a_token + in_a
    cdef int64_t* held = a_gram + in_a  # of each n-gram: in the prediction,
    cdef int64_t* found = held + in_a + 1  # in a reference,
    cdef int64_t* most = found + in_a + 1  # in the reference that has most
    cdef int64_t* b_token = most + in_a + 1
    cdef int64_t* b_gram = b_token + in_b
    cdef int64_t grams = number(table, a, in_a, b, in_b, a_token, b_token)
    cdef uint64_t slot, key
    cdef Py_ssize_t i, n, start
    cdef const int64_t* length
    for n in range(1, order + 1):
        out[n - 1] = 0
        if n > in_a:
            continue
        if n > 1:
            clear(table, in_a)
            grams = 0
        memset(held, 0, (in_a + 1) * sizeof(int64_t))
        memset(found, 0, (in_a + 1) * sizeof(int64_t))
        memset(most, 0, (in_a + 1) * sizeof(int64_t))
        for i in range(in_a - n + 1):
            if n == 1:
                a_gram[i] = a_token[i]
            else:
                key = <uint64_t>a_gram[i] << 32 | <uint64_t>a_token[i + n - 1]
                slot = slot_of(table, key)
                if table.numbers[slot] == 0:
                    grams += 1
                    table.numbers[slot] = grams
                    table.keys[slot] = key
                a_gram[i] = table.numbers[slot]
            held[a_gram[i]] += 1
        start = 0
        length = lengths
        while start < in_b:
            for i in range(start, start + length[0] - n + 1):
                if n == 1:
                    b_gram[i] = b_token[i]
                elif b_gram[i] and b_token[i + n - 1]:
                    b_gram[i] = table.numbers[slot_of(table, <uint64_t>b_gram[i] << 32 | <uint64_t>b_token[i + n - 1])]
                else:
                    b_gram[i] = 0
                found[b_gram[i]] += 1
            for i in range(start, start + length[0] - n + 1):
                most[b_gram[i]] = max(most[b_gram[i]], found[b_gram[i]])
                found[b_gram[i]] = 0
            start += length[0]
            length += 1
        for i in range(1, grams + 1):
            out[n - 1] += min(held[i], most[i])


cdef struct Lines:  # the bits of a sequence, to find its longest common subsequence with others
    Py_ssize_t words
    uint64_t* open  # a bit for each place that does not yet lengthen the subsequence
    uint64_t* here  # a bit for each place that holds one number
    int64_t* starts  # of each number: where its places start in `places`
    int64_t* places
    int64_t* dense  # of each number: which of `masks` has its bits, plus 1, where it has many places
    uint64_t* masks


cdef void free_lines(Lines* lines) noexcept:
    free(lines.open)
    free(lines.here)
    free(lines.starts)
    free(lines.places)
    free(lines.dense)
    free(lines.masks)


cdef int make_lines(Lines* lines, Py_ssize_t most) except -1:
    """Allocate memory for a sequence of at most `most` numbers, from 1 to `most`."""
    cdef Py_ssize_t words = most // 64 + 1
    lines.open = <uint64_t*> malloc(words * sizeof(uint64_t))
    lines.here = <uint64_t*> calloc(words, sizeof(uint64_t))
    lines.starts = <int64_t*> malloc((most + 2) * sizeof(int64_t))
    lines.places = <int64_t*> malloc((most + 1) * sizeof(int64_t))
    lines.dense = <int64_t*> malloc((most + 2) * sizeof(int64_t))
    lines.masks = <uint64_t*> malloc(64 * words * sizeof(uint64_t))
    if not (lines.open and lines.here and lines.starts and lines.places and lines.dense and lines.masks):
        raise MemoryError
    return 0


cdef void see(Lines* lines, const int64_t* numbers, Py_ssize_t size, int64_t highest) noexcept nogil:
    """Set the bits of a sequence of numbers from 1 to `highest`."""
    cdef int64_t each, dense = 0
    cdef uint64_t* mask
    cdef Py_ssize_t i
    lines.words = (size + 63) // 64
    memset(lines.starts, 0, (highest + 2) * sizeof(int64_t))
    for i in range(size):
        lines.starts[numbers[i]] += 1
    for each in range(1, highest + 1):
        lines.starts[each] += lines.starts[each - 1]
    lines.starts[highest + 1] = size
    for i in range(size - 1, -1, -1):
        lines.starts[numbers[i]] -= 1
        lines.places[lines.starts[numbers[i]]] = i
    for each in range(1, highest + 1):
        lines.dense[each] = 0
        if lines.starts[each + 1] - lines.starts[each] >= 64 + lines.words:  # so at most 64 numbers have a mask
            mask = lines.masks + dense * lines.words
            memset(mask, 0, lines.words * sizeof(uint64_t))
            for i in range(lines.starts[each], lines.starts[each + 1]):
                mask[lines.places[i] >> 6] |= <uint64_t>1 << (lines.places[i] & 63)
            dense += 1
            lines.dense[each] = dense


cdef void step(Lines* lines, int64_t each, const uint64_t* before, uint64_t* after) noexcept nogil:
    """Read one more number of the other sequence (Hyyrö 2004); `before` and `after` may be the same array."""
    cdef const uint64_t* here = lines.here
    cdef uint64_t old, both, total
    cdef int carry = 0
    cdef int64_t place
    cdef Py_ssize_t i
    if lines.dense[each]:
        here = lines.masks + (lines.dense[each] - 1) * lines.words
    else:
        for i in range(lines.starts[each], lines.starts[each + 1]):
            place = lines.places[i]
            lines.here[place >> 6] |= <uint64_t>1 << (place & 63)
    for i in range(lines.words):
        old = before[i]
        both = old & here[i]
        total = old + both
        after[i] = (total + carry) | (old ^ both)
        carry = (total < old) | (total + carry < total)
    if not lines.dense[each]:
        for i in range(lines.starts[each], lines.starts[each + 1]):
            lines.here[lines.places[i] >> 6] = 0


cdef inline int64_t closed(const uint64_t* open, Py_ssize_t size) noexcept nogil:
    """The length of the common subsequence with the first `size` places."""
    cdef int64_t count = 0
    cdef Py_ssize_t i
    for i in range(size >> 6):
        count += count_bits(~open[i])
    if size & 63:
        count += count_bits(~open[size >> 6] & ((<uint64_t>1 << (size & 63)) - 1))
    return count


def lcs(a_offsets, a_places, a_data, b_offsets, b_places, b_data,
        int64_t[::1] common, int64_t[::1] a_count, int64_t[::1] b_count):
    """Returns the steps this took: each compares up to 64 tokens of one text with one of the other."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef int64_t steps = 0
    cdef Text x, y
    cdef Bytes last = NULL
    cdef Py_ssize_t row, i, in_a = 0, in_b, rows = common.shape[0]
    cdef Py_ssize_t most_a = longest_of(&a, rows) // 2 + 1, most_b = longest_of(&b, rows) // 2 + 1
    cdef int64_t highest
    cdef bint many = most_a > FEW
    cdef Few few
    cdef Lines lines
    cdef Table table
    cdef Token* a_tokens = <Token*> malloc((most_a + 9) * sizeof(Token))
    cdef Token* b_tokens = <Token*> malloc((most_b + 9) * sizeof(Token))
    cdef int64_t* numbers = <int64_t*> malloc((most_a + most_b) * sizeof(int64_t))
    table.numbers = <int64_t*> malloc((4 * most_a + 16) * sizeof(int64_t))
    table.keys = <uint64_t*> malloc((4 * most_a + 16) * sizeof(uint64_t))
    memset(&lines, 0, sizeof(Lines))
    try:
        if many:
            make_lines(&lines, most_a)
        if a_tokens == NULL or b_tokens == NULL or numbers == NULL or table.numbers == NULL or table.keys == NULL:
            raise MemoryError
        with nogil:
            for row in range(rows):
                x = text_of(&a, row)
                y = text_of(&b, row)
                if x.size == 0:
                    in_a = 0
                    few.count = few.valid = 0
                elif x.start != last:
                    in_a = split(x.start, x.start + x.size, a.limit, a_tokens)
                    if in_a <= FEW:
                        see_few(a_tokens, in_a, &few)
                last = x.start if x.size else NULL
                a_count[row] = in_a
                if are_equal(x, y):
                    common[row] = b_count[row] = in_a
                    continue
                b_count[row] = in_b = split(y.start, y.start + y.size, b.limit, b_tokens)
                steps += in_b * ((in_a + 63) >> 6)
                if in_a <= FEW:
                    common[row] = lcs_few(&few, b_tokens, in_b)
                    continue
                highest = number(&table, a_tokens, in_a, b_tokens, in_b, numbers, numbers + in_a)
                see(&lines, numbers, in_a, highest)
                memset(lines.open, 255, lines.words * sizeof(uint64_t))
                for i in range(in_b):
                    if numbers[in_a + i]:
                        step(&lines, numbers[in_a + i], lines.open, lines.open)
                common[row] = closed(lines.open, in_a)
    finally:
        free(a_tokens)
        free(b_tokens)
        free(numbers)
        free(table.numbers)
        free(table.keys)
        free_lines(&lines)
    return steps


cdef int64_t lcs_few(const Few* few, const Token* b, Py_ssize_t in_b) noexcept nogil:
    cdef uint64_t both, open = ~<uint64_t>0
    cdef Py_ssize_t i
    for i in range(in_b):
        both = open & places_of(few, &b[i])
        open = (open + both) | (open ^ both)
    return count_bits(~open & few.valid)


def union_lcs(a_offsets, a_places, a_data, const int64_t[::1] a_bounds,
              b_offsets, b_places, b_data, const int64_t[::1] b_bounds,
              int64_t[::1] common, int64_t[::1] a_count, int64_t[::1] b_count):
    """The sentences of row r are a_bounds[r] to a_bounds[r + 1] of a, and b_bounds[r] to b_bounds[r + 1] of b."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Py_ssize_t row, i, j, s, t, in_a, in_b, rows = common.shape[0]
    cdef Py_ssize_t most_a = most_tokens(&a, a_bounds), most_b = most_tokens(&b, b_bounds)
    cdef Py_ssize_t words = longest_of(&a, a_offsets.shape[0] - 1) // 128 + 1
    cdef Py_ssize_t steps = longest_of(&b, b_offsets.shape[0] - 1) // 2 + 2
    cdef int64_t highest
    cdef Lines lines
    cdef Table table
    cdef Token* a_tokens = <Token*> malloc((most_a + 9) * sizeof(Token))
    cdef Token* b_tokens = <Token*> malloc((most_b + 9) * sizeof(Token))
    cdef int64_t* a_ends = <int64_t*> malloc((most_a + 9) * sizeof(int64_t))  # of each sentence, in tokens
    cdef int64_t* b_ends = <int64_t*> malloc((most_b + 9) * sizeof(int64_t))
    cdef int64_t* numbers = <int64_t*> malloc((most_a + most_b + 9) * sizeof(int64_t))
    cdef int64_t* left = <int64_t*> malloc((most_a + 2) * sizeof(int64_t))
    cdef uint8_t* chosen = <uint8_t*> malloc(most_b + 9)
    cdef uint64_t* matrix = <uint64_t*> malloc(steps * words * sizeof(uint64_t))
    table.numbers = <int64_t*> malloc((4 * most_a + 16) * sizeof(int64_t))
    table.keys = <uint64_t*> malloc((4 * most_a + 16) * sizeof(uint64_t))
    memset(&lines, 0, sizeof(Lines))
    try:
        make_lines(&lines, most_a)
        if not (a_tokens and b_tokens and a_ends and b_ends and numbers and left and chosen and matrix
                and table.numbers and table.keys):
            raise MemoryError
        with nogil:
            for row in range(rows):
                a_count[row] = in_a = split_all(&a, a_bounds[row], a_bounds[row + 1], a_tokens, a_ends)
                b_count[row] = in_b = split_all(&b, b_bounds[row], b_bounds[row + 1], b_tokens, b_ends)
                highest = number(&table, a_tokens, in_a, b_tokens, in_b, numbers, numbers + in_a)
                memset(chosen, 0, in_b)
                i = 0
                for s in range(a_bounds[row + 1] - a_bounds[row]):
                    if a_ends[s] > i:
                        see(&lines, numbers + i, a_ends[s] - i, highest)
                        j = 0
                        for t in range(b_bounds[row + 1] - b_bounds[row]):
                            choose(&lines, numbers + i, a_ends[s] - i, numbers + in_a + j, b_ends[t] - j, matrix,
                                   chosen + j)
                            j = b_ends[t]
                    i = a_ends[s]
                memset(left, 0, (highest + 1) * sizeof(int64_t))
                for i in range(in_a):
                    left[numbers[i]] += 1
                common[row] = 0
                for j in range(in_b):
                    if chosen[j] and left[numbers[in_a + j]]:
                        left[numbers[in_a + j]] -= 1
                        common[row] += 1
    finally:
        free(a_tokens)
        free(b_tokens)
        free(a_ends)
        free(b_ends)
        free(numbers)
        free(left)
        free(chosen)
        free(matrix)
        free(table.numbers)
        free(table.keys)
        free_lines(&lines)


cdef Py_ssize_t split_all(const Column* texts, int64_t first, int64_t stop, Token* tokens, int64_t* ends) noexcept nogil:
    cdef Text text
    cdef Py_ssize_t count = 0
    cdef int64_t i
    for i in range(first, stop):
        text = text_of(texts, i)
        count += split(text.start, text.start + text.size, texts.limit, tokens + count)
        ends[i - first] = count
    return count


cdef void choose(Lines* lines, const int64_t* a, Py_ssize_t in_a, const int64_t* b, Py_ssize_t in_b,
                 uint64_t* matrix, uint8_t* chosen) noexcept nogil:
    """Mark the tokens of b in one longest common subsequence.

    Of several it is the one that a walk from both ends finds first which drops a's last token if that keeps a longer
    subsequence than dropping b's last token, and b's otherwise.
    """
    cdef Py_ssize_t i, j
    cdef uint64_t* row = matrix  # the places of a that are open after each token of b
    memset(row, 255, lines.words * sizeof(uint64_t))
    for i in range(in_b):
        if b[i]:
            step(lines, b[i], row, row + lines.words)
        else:
            for j in range(lines.words):
                row[lines.words + j] = row[j]
        row += lines.words
    i = in_b
    j = in_a
    while i > 0 and j > 0:
        if a[j - 1] == b[i - 1]:
            chosen[i - 1] = 1
            i -= 1
            j -= 1
            row -= lines.words
        elif closed(row, j) > closed(row - lines.words, j):
            j -= 1
        else:
            i -= 1
            row -= lines.words
