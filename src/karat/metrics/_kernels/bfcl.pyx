# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles `karat.metrics.tools.bfcl` for plain rows: others are NaN, and left to the definition.

Longer than 300 lines because it is one comparison, whose steps follow those of the definition.
"""

from libc.math cimport NAN
from libc.stdint cimport uint8_t
from libc.string cimport memcmp, memset

from karat.metrics._kernels.json_values cimport (
    LIST, NO, OBJECT, REAL, TEXT, WHOLE, YES, Node, Values, are_same, find, find_call, is_text, read_whole,
    release_values, same_text, start,
)
from karat.metrics._kernels.tokens cimport Bytes, Column, Text, are_equal, column, text_of

cdef enum:
    MOST = 64  # calls of a row
    UNKNOWN = -1  # no type

cdef struct Call:
    Py_ssize_t name, arguments
    bint taken


cdef class Held:
    """The values of a row's three columns, whose memory is kept from row to row."""

    cdef Values calls, expected, tools
    cdef Text read  # the text of the tools

    def __cinit__(self):
        memset(&self.calls, 0, sizeof(Values))
        memset(&self.expected, 0, sizeof(Values))
        memset(&self.tools, 0, sizeof(Values))
        memset(&self.read, 0, sizeof(Text))

    def __dealloc__(self):
        release_values(&self.calls)
        release_values(&self.expected)
        release_values(&self.tools)


def match(
    a_offsets, a_places, a_data, b_offsets, b_places, b_data, c_offsets, c_places, c_data, double[::1] out
):
    """1 where each call has allowed arguments and none is missing, else 0."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Column c = column(c_offsets, c_places, c_data)
    cdef Held held = Held()
    cdef Values* calls = &held.calls
    cdef Values* expected = &held.expected
    cdef Values* tools = &held.tools
    cdef Call mine[MOST]
    cdef Call theirs[MOST]
    cdef Text given
    cdef Py_ssize_t row, many, wanted
    with nogil:
        for row in range(out.shape[0]):
            many = read_calls(calls, text_of(&a, row), mine)
            wanted = read_calls(expected, text_of(&b, row), theirs)
            given = text_of(&c, row)
            if not (given.size and are_equal(given, held.read)):  # most rows have the tools of the row before
                held.read.size = 0
                if read_root(tools, given):
                    held.read = given
            if many < 0 or wanted < 0 or not held.read.size:
                out[row] = NAN
            else:
                out[row] = is_match(calls, mine, expected, theirs, many, tools) if many == wanted else 0


cdef bint read_root(Values* v, Text text) noexcept nogil:
    if not start(v, text.size):
        return False
    return read_whole(v, text.start, text.start + text.size) == 0 and v.nodes[0].kind >= LIST


cdef Py_ssize_t read_calls(Values* v, Text text, Call* calls) noexcept nogil:
    """How many calls a row has, in BFCL's form or in a plain one; -1 for another."""
    cdef Py_ssize_t at, i, many = 1
    cdef bint named = True
    if not read_root(v, text):
        return -1
    at = 0
    if v.nodes[0].kind == LIST:
        many = v.nodes[0].size
        at = 1
    if many > MOST:
        return -1
    for i in range(many):
        if v.nodes[at].kind != OBJECT or find(v, at, b"role", 4) >= 0:
            return -1
        named = named and v.nodes[at].size == 1 and v.nodes[at + 2].kind == OBJECT and find(v, at, b"function", 8) < 0
        calls[i].name = at  # for now
        at = v.nodes[at].after
    for i in range(many):
        at = calls[i].name
        calls[i].taken = False
        if named:
            calls[i].name = at + 1
            calls[i].arguments = at + 2
        elif not find_call(v, at, &calls[i].name, &calls[i].arguments):
            return -1
    return many


cdef double is_match(
    const Values* v, Call* calls, const Values* e, const Call* expected, Py_ssize_t many, const Values* t
) noexcept nogil:
    cdef Py_ssize_t i, j, tool
    cdef int found
    for i in range(many):
        tool = find_tool(t, &e.nodes[expected[i].name])
        if tool < 0:
            return NAN
        found = False
        for j in range(many):
            if calls[j].taken or not same_text(&v.nodes[calls[j].name], &e.nodes[expected[i].name]):
                continue
            found = is_allowed(v, calls[j].arguments, e, expected[i].arguments, t, tool)
            if found < 0:
                return NAN
            if found:
                calls[j].taken = True
                break
        if not found:
            return 0
    return 1


cdef Py_ssize_t find_tool(const Values* t, const Node* name) noexcept nogil:
    """The definition of a tool: the schema's node; -1 where it is not plain."""
    cdef Py_ssize_t at = 0, i, inner, each, many = 1
    if t.nodes[0].kind == LIST:
        many = t.nodes[0].size
        at = 1
    for i in range(many):
        if t.nodes[at].kind != OBJECT:
            return -1
        inner = find(t, at, b"function", 8)
        if inner < 0:
            inner = at
        if t.nodes[inner].kind != OBJECT:
            return -1
        each = find(t, inner, b"name", 4)
        if each >= 0 and t.nodes[each].kind == TEXT and same_text(&t.nodes[each], name):
            each = find(t, inner, b"parameters", 10)
            return each if each >= 0 and t.nodes[each].kind == OBJECT else -1
        at = t.nodes[at].after
    return -1


cdef int is_allowed(
    const Values* v, Py_ssize_t values, const Values* e, Py_ssize_t allowed, const Values* t, Py_ssize_t schema
) noexcept nogil:
    """1 or 0; -1 where the definition is needed."""
    cdef Py_ssize_t at, value, one, properties = find(t, schema, b"properties", 10)
    cdef Py_ssize_t required = find(t, schema, b"required", 8)
    cdef int i, kind, inner, found
    if properties < 0 or t.nodes[properties].kind != OBJECT:
        return -1
    if required >= 0:
        if t.nodes[required].kind != LIST:
            return -1
        at = required + 1
        for i in range(t.nodes[required].size):
            if t.nodes[at].kind != TEXT:
                return -1
            if find(v, values, <const char*> t.nodes[at].text, t.nodes[at].size) < 0:
                return 0
            at = t.nodes[at].after
    value = values + 1
    for i in range(v.nodes[values].size):
        one = find(t, properties, <const char*> v.nodes[value].text, v.nodes[value].size)
        at = find(e, allowed, <const char*> v.nodes[value].text, v.nodes[value].size)
        if one < 0 or at < 0:
            return 0
        if t.nodes[one].kind != OBJECT or e.nodes[at].kind != LIST:
            return -1
        kind = kind_of_type(t, find(t, one, b"type", 4))
        inner = UNKNOWN
        one = find(t, one, b"items", 5)
        if one >= 0 and t.nodes[one].kind == OBJECT:
            inner = kind_of_type(t, find(t, one, b"type", 4))
        if kind == UNKNOWN or (kind == LIST and inner == UNKNOWN):
            return -1
        found = is_value(v, value + 1, e, at, kind, inner)
        if found <= 0:
            return found
        value = v.nodes[value + 1].after
    return has_all(v, values, e, allowed)


cdef int has_all(const Values* v, Py_ssize_t values, const Values* e, Py_ssize_t allowed) noexcept nogil:
    """Whether each argument that is not there may be left out."""
    cdef Py_ssize_t at = allowed + 1
    cdef int i
    for i in range(e.nodes[allowed].size):
        if find(v, values, <const char*> e.nodes[at].text, e.nodes[at].size) < 0:
            if e.nodes[at + 1].kind != LIST:
                return -1
            if not is_optional(e, at + 1):
                return 0
        at = e.nodes[at + 1].after
    return 1


cdef bint is_optional(const Values* e, Py_ssize_t choices) noexcept nogil:
    cdef Py_ssize_t at = choices + 1
    cdef int i
    for i in range(e.nodes[choices].size):
        if is_text(&e.nodes[at], b"", 0):
            return True
        at = e.nodes[at].after
    return False


cdef int kind_of_type(const Values* t, Py_ssize_t at) noexcept nogil:
    """The kind of node that a type's name stands for."""
    cdef const Node* name = &t.nodes[at]
    if at < 0:
        return UNKNOWN
    if is_text(name, b"string", 6) or is_text(name, b"any", 3):
        return TEXT
    if is_text(name, b"integer", 7):
        return WHOLE
    if is_text(name, b"float", 5) or is_text(name, b"number", 6):
        return REAL
    if is_text(name, b"boolean", 7):
        return YES
    if is_text(name, b"array", 5) or is_text(name, b"tuple", 5):
        return LIST
    return OBJECT if is_text(name, b"dict", 4) or is_text(name, b"object", 6) else UNKNOWN


cdef inline int kind_of(const Node* node) noexcept nogil:
    return YES if node.kind == NO else node.kind


cdef int kind_of_choices(const Values* e, Py_ssize_t choices) noexcept nogil:
    """The kind of the first choice that is not the empty text."""
    cdef Py_ssize_t at = choices + 1
    cdef int i
    for i in range(e.nodes[choices].size):
        if not is_text(&e.nodes[at], b"", 0):
            return kind_of(&e.nodes[at])
        at = e.nodes[at].after
    return UNKNOWN


cdef int is_value(
    const Values* v, Py_ssize_t value, const Values* e, Py_ssize_t choices, int kind, int inner
) noexcept nogil:
    cdef int i, found, first = kind_of_choices(e, choices), mine = kind_of(&v.nodes[value])
    cdef Py_ssize_t at = choices + 1
    cdef bint usual
    if mine == WHOLE and kind == REAL:
        mine = REAL
    if not (mine == first if mine != kind else kind != LIST or has_items(v, value, e, choices, inner)):
        return 0
    usual = mine == kind and (first == UNKNOWN or first == kind)
    for i in range(e.nodes[choices].size):
        if not usual or kind < TEXT:
            found = are_same(v, value, e, at)
        elif kind == TEXT:
            found = e.nodes[at].kind == TEXT and is_like(&v.nodes[value], &e.nodes[at])
        elif kind == OBJECT:
            found = is_object(v, value, e, at)
        elif e.nodes[at].kind == LIST:
            found = is_list(v, value, e, at, inner)
        elif is_text(&e.nodes[at], b"", 0):
            found = v.nodes[value].size == 0
        else:
            found = -1
        if found:
            return found
        at = e.nodes[at].after
    return 0


cdef bint has_items(
    const Values* v, Py_ssize_t value, const Values* e, Py_ssize_t choices, int inner
) noexcept nogil:
    """Whether there is a choice whose items have the types of the value's, or that is no list."""
    cdef Py_ssize_t at = choices + 1, item
    cdef int i, k, kind, first
    for i in range(e.nodes[choices].size):
        if e.nodes[at].kind != LIST:
            return True
        first = kind_of_choices(e, at)
        item = value + 1
        for k in range(v.nodes[value].size):
            kind = kind_of(&v.nodes[item])
            if kind != inner and kind != first:
                break
            item = v.nodes[item].after
        else:
            return True
        at = e.nodes[at].after
    return False


cdef int is_list(const Values* v, Py_ssize_t value, const Values* e, Py_ssize_t choice, int inner) noexcept nogil:
    cdef int i, found, size
    if v.nodes[value].size != e.nodes[choice].size:
        return 0
    size = v.nodes[value].size
    value += 1
    choice += 1
    for i in range(size):
        found = is_object(v, value, e, choice) if inner == OBJECT else is_plain(v, value, e, choice)
        if found <= 0:
            return found
        value = v.nodes[value].after
        choice = e.nodes[choice].after
    return 1


cdef int is_object(const Values* v, Py_ssize_t value, const Values* e, Py_ssize_t allowed) noexcept nogil:
    """Whether an object has allowed values alone, and lacks none that is needed."""
    cdef Py_ssize_t at, one, key = value + 1
    cdef int i, k, found
    if v.nodes[value].kind != OBJECT or e.nodes[allowed].kind != OBJECT:
        return 0
    for i in range(v.nodes[value].size):
        one = find(e, allowed, <const char*> v.nodes[key].text, v.nodes[key].size)
        if one < 0:
            return 0
        if e.nodes[one].kind != LIST:
            return -1
        found = 0
        at = one + 1
        for k in range(e.nodes[one].size):
            found = is_plain(v, key + 1, e, at)
            if found:
                break
            at = e.nodes[at].after
        if found <= 0:
            return found
        key = v.nodes[key + 1].after
    return has_all(v, value, e, allowed)


cdef int is_plain(const Values* v, Py_ssize_t value, const Values* e, Py_ssize_t at) noexcept nogil:
    if v.nodes[value].kind == TEXT and e.nodes[at].kind == TEXT:
        return is_like(&v.nodes[value], &e.nodes[at])
    return are_same(v, value, e, at)


cdef int is_like(const Node* one, const Node* other) noexcept nogil:
    """Whether texts are equal without case, spaces and some marks; -1 where other letters than those of ASCII differ."""
    cdef Bytes a = one.text
    cdef Bytes b = other.text
    cdef Bytes a_end = a + one.size
    cdef Bytes b_end = b + other.size
    if one.size == other.size and memcmp(a, b, one.size) == 0:
        return 1
    while True:
        while a < a_end and is_ignored(a[0]):
            a += 1
        while b < b_end and is_ignored(b[0]):
            b += 1
        if a == a_end or b == b_end:
            break
        if folded(a[0]) != folded(b[0]):
            return 0 if is_ascii(one) and is_ascii(other) else -1
        a += 1
        b += 1
    if a == a_end and b == b_end:
        return 1
    return 0 if is_ascii(one) and is_ascii(other) else -1


cdef bint is_ascii(const Node* node) noexcept nogil:
    cdef Py_ssize_t at
    for at in range(node.size):
        if node.text[at] > 127:
            return False
    return True


cdef inline bint is_ignored(uint8_t c) noexcept nogil:
    return c == 32 or c == 44 or c == 46 or c == 47 or c == 45 or c == 95 or c == 42 or c == 94


cdef inline uint8_t folded(uint8_t c) noexcept nogil:
    return c | 32 if 65 <= c <= 90 else 34 if c == 39 else c
