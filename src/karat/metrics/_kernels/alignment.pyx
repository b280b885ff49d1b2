# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles `align_row` of `karat.metrics.retrieval.alignment`: reads Arrow's memory, in time linear in a row's ids."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcmp, memcpy, memset

from karat.metrics._kernels.tokens cimport ODD, Bytes, as_little

cdef enum:
    FEW = 16  # up to so many judged ids each retrieved id is compared with all of them; with more, a hash table is used

cdef struct Bounds:  # the offsets of lists or texts, of 32 or 64 bits
    const int32_t* short
    const int64_t* wide

cdef struct Column:
    Bounds rows
    Bounds ids
    const int64_t* numbers  # NULL where ids are text
    Bytes data
    Bytes valid  # a bit for each id, or NULL where none is null
    Py_ssize_t shift  # the bit of the first id

cdef struct Id:
    uint64_t key  # its last 8 bytes
    Bytes start
    int64_t size

cdef struct Judged:
    Id id
    double grade
    bint credited


cdef Bounds bounds_of(const uint8_t[::1] memory, bint wide, Py_ssize_t first):
    cdef Bounds made = [NULL, NULL]
    if wide:
        made.wide = <const int64_t*> &memory[0] + first
    else:
        made.short = <const int32_t*> &memory[0] + first
    return made


cdef Column column_of(parts):
    cdef Column made
    cdef const uint8_t[::1] data = parts.data, valid = parts.valid
    made.rows = bounds_of(parts.rows, parts.rows_wide, parts.first_row)
    made.numbers = NULL
    made.ids = [NULL, NULL]
    if parts.ids is None:
        made.numbers = <const int64_t*> &data[0] + <Py_ssize_t> parts.first_id
    else:
        made.ids = bounds_of(parts.ids, parts.ids_wide, parts.first_id)
    made.data = &data[0]
    made.valid = NULL
    if valid is not None:
        made.valid = &valid[0]
    made.shift = parts.first_id
    return made


cdef inline int64_t at(const Bounds* bounds, Py_ssize_t place) noexcept nogil:
    return bounds.short[place] if bounds.short else bounds.wide[place]


cdef inline bint load(const Column* column, int64_t place, Id* id) noexcept nogil:
    """Read an id; false if it is null or empty."""
    cdef int64_t start, end, i
    cdef uint64_t key = 0
    if column.valid and not column.valid[(column.shift + place) >> 3] >> ((column.shift + place) & 7) & 1:
        return False
    if column.numbers:
        id.key = <uint64_t> column.numbers[place]
        id.start = <Bytes> &column.numbers[place]
        id.size = 8
        return True
    start, end = at(&column.ids, place), at(&column.ids, place + 1)
    if start == end:
        return False
    if end >= 8:
        memcpy(&key, column.data + end - 8, 8)
        key = as_little(key)
        if end - start < 8:
            key >>= 64 - 8 * (end - start)
    else:
        for i in range(start, end):
            key |= <uint64_t> column.data[i] << (8 * (i - start))
    id.key = key
    id.start = column.data + start
    id.size = end - start
    return True


cdef inline bint same(const Id* a, const Id* b) noexcept nogil:
    return a.key == b.key and a.size == b.size and (a.size <= 8 or memcmp(a.start, b.start, a.size - 8) == 0)


cdef inline uint64_t mixed(uint64_t hashed, uint64_t word) noexcept nogil:
    hashed = (hashed ^ word ^ (word >> 32)) * ODD  # a product carries upwards only
    return hashed ^ (hashed >> 32)


cdef inline uint64_t hash_of(const Id* id) noexcept nogil:
    """The hash of all bytes, because many ids end in the same bytes."""
    cdef uint64_t hashed = mixed(<uint64_t> id.size, id.key), word
    cdef int64_t i = 0
    while i + 8 < id.size:
        memcpy(&word, id.start + i, 8)
        hashed = mixed(hashed, word)
        i += 8
    return hashed


cdef inline int64_t place_of(const Judged* known, const int64_t* table, uint64_t last, const Id* id) noexcept nogil:
    """The slot of the table that holds this id, or the free slot for it."""
    cdef uint64_t slot = hash_of(id) & last
    while table[slot] and not same(&known[table[slot] - 1].id, id):
        slot = (slot + 1) & last
    return slot


cdef inline uint64_t mark(const Id* id) noexcept nogil:
    """One bit by the id's bytes: an id whose bit no judged id has is not judged."""
    return <uint64_t> 1 << ((id.key * ODD) >> 58)


cdef inline Py_ssize_t find(const Judged* known, Py_ssize_t count, const Id* id) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if same(&known[i].id, id):
            return i
    return -1


cdef int falling(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*> a)[0], y = (<const double*> b)[0]
    return (x < y) - (x > y)


cdef inline void sort_falling(double* grades, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double grade
    if count > FEW:
        qsort(grades, count, sizeof(double), falling)
        return
    for i in range(1, count):
        grade = grades[i]
        j = i
        while j and grades[j - 1] < grade:
            grades[j] = grades[j - 1]
            j -= 1
        grades[j] = grade


def align(retrieved, relevant, const double[::1] grades,
          int64_t[::1] ranks, double[::1] earned, int64_t[::1] match_ends,
          double[::1] judged, int64_t[::1] judged_ends):
    """Fill the arrays of `Aligned`."""
    cdef Column ranked = column_of(retrieved), gold = column_of(relevant)
    cdef Py_ssize_t rows = match_ends.shape[0] - 1, row, count, i, most = FEW, written = 0, hits = 0
    cdef uint64_t last = 0, marks
    cdef int64_t place, slot, first
    cdef double grade = 1
    cdef Id id
    for row in range(rows):
        most = max(most, at(&gold.rows, row + 1) - at(&gold.rows, row))
    cdef Judged* known = <Judged*> malloc(most * sizeof(Judged))
    cdef int64_t* table = <int64_t*> malloc(4 * most * sizeof(int64_t))
    try:
        if known == NULL or table == NULL:
            raise MemoryError
        with nogil:
            for row in range(rows):
                match_ends[row] = hits
                judged_ends[row] = written
                marks = 0
                count = at(&gold.rows, row + 1) - at(&gold.rows, row)
                last = 0
                if count > FEW:
                    last = 2 * FEW
                    while last < 2 * <uint64_t> count:
                        last *= 2
                    memset(table, 0, last * sizeof(int64_t))
                    last -= 1
                count = 0
                for place in range(at(&gold.rows, row), at(&gold.rows, row + 1)):
                    if grades is not None:
                        grade = grades[place]
                    if grade != grade or not load(&gold, place, &id):
                        continue
                    if last:
                        slot = place_of(known, table, last, &id)
                        i = table[slot] - 1
                        if i < 0:
                            table[slot] = count + 1
                    else:
                        i = find(known, count, &id)
                    if i < 0:
                        known[count].id = id
                        known[count].grade = grade
                        known[count].credited = False
                        count += 1
                        marks |= mark(&id)
                    elif known[i].grade < grade:
                        known[i].grade = grade
                first = at(&ranked.rows, row)
                for place in range(first, at(&ranked.rows, row + 1)):
                    if not load(&ranked, place, &id) or not marks & mark(&id):
                        continue
                    i = table[place_of(known, table, last, &id)] - 1 if last else find(known, count, &id)
                    if i >= 0 and not known[i].credited:
                        known[i].credited = True
                        ranks[hits] = place - first + 1
                        earned[hits] = known[i].grade
                        hits += 1
                for i in range(count):
                    judged[written + i] = known[i].grade
                if grades is not None:
                    sort_falling(&judged[written], count)
                written += count
            match_ends[rows] = hits
            judged_ends[rows] = written
    finally:
        free(known)
        free(table)
