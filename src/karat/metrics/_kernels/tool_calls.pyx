# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiles the matches of tool calls of `karat.metrics.tools` for plain rows: others are NaN, and left to the definition.

Plain is JSON of plain values, with messages of a role, text and tool calls, or with tool calls alone.
"""

from libc.math cimport NAN
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memset

from karat.metrics._kernels.json_values cimport (
    LIST, NIL, OBJECT, TEXT, Node, Values, are_same, find, find_call, is_text, read_whole,
    release_values, same_text, start,
)
from karat.metrics._kernels.tokens cimport Column, Text, column, text_of

cdef enum:
    EXACT, SUBSET, SUPERSET, IGNORE  # how arguments are compared
    STRICT = 0, UNORDERED = 1, FEWER = 2, MORE = 3  # the modes of trajectories

cdef struct Call:
    Py_ssize_t name, arguments
    bint taken

cdef struct Turn:
    const char* role
    Py_ssize_t size, first, calls

cdef struct Talk:
    Values values
    Call* calls
    Turn* turns
    Py_ssize_t count, room, said, places


cdef class Talks:
    """Two conversations, whose memory is kept from row to row."""

    cdef Talk mine, theirs

    def __cinit__(self):
        memset(&self.mine, 0, sizeof(Talk))
        memset(&self.theirs, 0, sizeof(Talk))

    def __dealloc__(self):
        release(&self.mine)
        release(&self.theirs)


cdef void release(Talk* talk) noexcept:
    release_values(&talk.values)
    free(talk.calls)
    free(talk.turns)


def count(a_offsets, a_places, a_data, b_offsets, b_places, b_data, int how, bint ordered, tool, double[:, ::1] out):
    """Matched, predicted and expected calls of each row; `ordered`: those that are equal at the same place."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Talks talks = Talks()
    cdef Talk* mine = &talks.mine
    cdef Talk* theirs = &talks.theirs
    cdef const uint8_t[::1] named = tool or b"\0"
    cdef Py_ssize_t row, size = len(tool or b"")
    with nogil:
        for row in range(out.shape[0]):
            out[row, 0] = NAN
            if not read(mine, text_of(&a, row)) or not read(theirs, text_of(&b, row)):
                continue
            if size:
                keep(mine, <const char*> &named[0], size)
                keep(theirs, <const char*> &named[0], size)
            out[row, 0] = in_place(mine, theirs, how) if ordered else taken(mine, 0, mine.count, theirs, 0, theirs.count, how, False)
            out[row, 1] = mine.count
            out[row, 2] = theirs.count


def match(a_offsets, a_places, a_data, b_offsets, b_places, b_data, int mode, int how, double[::1] out):
    """1 where a conversation takes the expected course, else 0."""
    cdef Column a = column(a_offsets, a_places, a_data), b = column(b_offsets, b_places, b_data)
    cdef Talks talks = Talks()
    cdef Talk* mine = &talks.mine
    cdef Talk* theirs = &talks.theirs
    cdef Py_ssize_t row
    with nogil:
        for row in range(out.shape[0]):
            if not read(mine, text_of(&a, row)) or not read(theirs, text_of(&b, row)):
                out[row] = NAN
            elif mode == STRICT:
                out[row] = is_same_course(mine, theirs, how)
            else:
                out[row] = 1
                if mode != FEWER:
                    out[row] = taken(theirs, 0, theirs.count, mine, 0, mine.count, how, True) == theirs.count
                if mode != MORE and out[row]:
                    out[row] = taken(mine, 0, mine.count, theirs, 0, theirs.count, how, True) == mine.count


cdef bint is_same_course(Talk* mine, Talk* theirs, int how) noexcept nogil:
    cdef Py_ssize_t at
    cdef Turn* one
    cdef Turn* other
    if mine.said != theirs.said:
        return False
    for at in range(mine.said):
        one = &mine.turns[at]
        other = &theirs.turns[at]
        if one.calls != other.calls or one.size != other.size or memcmp(one.role, other.role, one.size) != 0:
            return False
        if taken(mine, one.first, one.calls, theirs, other.first, other.calls, how, False) != one.calls:
            return False
    return True


cdef Py_ssize_t taken(
    Talk* wanted, Py_ssize_t first, Py_ssize_t count, Talk* held, Py_ssize_t start_, Py_ssize_t many, int how, bint turned
) noexcept nogil:
    """How many of the wanted calls find one of those held, each the first that is left."""
    cdef Py_ssize_t i, j, found = 0
    for j in range(start_, start_ + many):
        held.calls[j].taken = False
    for i in range(first, first + count):
        for j in range(start_, start_ + many):
            if held.calls[j].taken:
                continue
            if is_equal(held, j, wanted, i, how) if turned else is_equal(wanted, i, held, j, how):
                held.calls[j].taken = True
                found += 1
                break
    return found


cdef Py_ssize_t in_place(Talk* mine, Talk* theirs, int how) noexcept nogil:
    cdef Py_ssize_t at, found = 0
    for at in range(min(mine.count, theirs.count)):
        found += is_equal(mine, at, theirs, at, how)
    return found


cdef bint is_equal(const Talk* mine, Py_ssize_t i, const Talk* theirs, Py_ssize_t j, int how) noexcept nogil:
    cdef const Call* one = &mine.calls[i]
    cdef const Call* other = &theirs.calls[j]
    if not same_text(&mine.values.nodes[one.name], &theirs.values.nodes[other.name]):
        return False
    if how == EXACT:
        return are_same(&mine.values, one.arguments, &theirs.values, other.arguments)
    if how == SUBSET:
        return holds(&mine.values, one.arguments, &theirs.values, other.arguments)
    return how == IGNORE or holds(&theirs.values, other.arguments, &mine.values, one.arguments)


cdef bint holds(const Values* few, Py_ssize_t i, const Values* many, Py_ssize_t j) noexcept nogil:
    """Whether every member of the first object is one of the second."""
    cdef Py_ssize_t other
    cdef int k, size = few.nodes[i].size
    i += 1
    for k in range(size):
        other = find(many, j, <const char*> few.nodes[i].text, few.nodes[i].size)
        if other < 0 or not are_same(few, i + 1, many, other):
            return False
        i = few.nodes[i + 1].after
    return True


cdef void keep(Talk* talk, const char* name, Py_ssize_t size) noexcept nogil:
    """Drop the calls of other tools."""
    cdef Py_ssize_t at, kept = 0
    for at in range(talk.count):
        if is_text(&talk.values.nodes[talk.calls[at].name], name, size):
            talk.calls[kept] = talk.calls[at]
            kept += 1
    talk.count = kept


cdef bint read(Talk* talk, Text text) noexcept nogil:
    """Read the conversation of a row; false where it is not plain."""
    cdef Values* v = &talk.values
    cdef Py_ssize_t root, items, at
    cdef int i, many = 1
    cdef bint bare = False
    talk.count = talk.said = 0
    if not start(v, text.size):
        return False
    root = items = read_whole(v, text.start, text.start + text.size)
    if root < 0 or (v.nodes[root].kind != LIST and v.nodes[root].kind != OBJECT):
        return False
    if v.nodes[root].kind == OBJECT:
        if find(v, root, b"steps", 5) >= 0:
            return False
        at = find(v, root, b"messages", 8)
        if at >= 0:
            if v.nodes[at].kind != LIST:
                return False
            items = at
    if v.nodes[items].kind == LIST:
        many = v.nodes[items].size
        items += 1
    for i in range(many):
        if v.nodes[items].kind != OBJECT:
            return False
        at = find(v, items, b"role", 4)
        if at >= 0:
            bare = False
            if not read_message(talk, items, at):
                return False
        else:
            if not bare and not say(talk, b"assistant", 9):
                return False
            bare = True
            if not read_call(talk, items):
                return False
        items = v.nodes[items].after
    return True


cdef bint read_message(Talk* talk, Py_ssize_t at, Py_ssize_t role) noexcept nogil:
    cdef Values* v = &talk.values
    cdef const Node* author = &v.nodes[role]
    cdef Py_ssize_t content = find(v, at, b"content", 7), calls = find(v, at, b"tool_calls", 10)
    cdef Py_ssize_t kind = find(v, at, b"type", 4), first = talk.count
    cdef bint assistant
    cdef int i
    if author.kind != TEXT or (kind >= 0 and is_text(&v.nodes[kind], b"function_call_output", 20)):
        return False
    if (find(v, at, b"choices", 7) >= 0 or find(v, at, b"kwargs", 6) >= 0 or find(v, at, b"data", 4) >= 0
            or find(v, at, b"function_call", 13) >= 0 or find(v, at, b"additional_kwargs", 17) >= 0):
        return False
    assistant = (is_text(author, b"assistant", 9) or is_text(author, b"ai", 2) or is_text(author, b"model", 5)
                 or is_text(author, b"agent", 5))
    if assistant:
        if not say(talk, b"assistant", 9):
            return False
    elif is_text(author, b"human", 5):
        if not say(talk, b"user", 4):
            return False
    elif not say(talk, <const char*> author.text, author.size):
        return False
    if content >= 0 and v.nodes[content].kind != NIL and v.nodes[content].kind != TEXT:
        return False
    if calls >= 0 and v.nodes[calls].kind == LIST:
        i = v.nodes[calls].size
        calls += 1
        while i:
            if v.nodes[calls].kind != OBJECT or find(v, calls, b"role", 4) >= 0 or not read_call(talk, calls):
                return False
            calls = v.nodes[calls].after
            i -= 1
    elif calls >= 0 and v.nodes[calls].kind != NIL:
        return False
    if assistant and talk.count == first and content >= 0 and v.nodes[content].kind == TEXT:
        return memchr(v.nodes[content].text, 60, v.nodes[content].size) == NULL  # a tag
    return True


cdef bint say(Talk* talk, const char* role, Py_ssize_t size) noexcept nogil:
    cdef Turn* grown
    if talk.said == talk.places:
        grown = <Turn*> realloc(talk.turns, (2 * talk.places + 16) * sizeof(Turn))
        if grown == NULL:
            return False
        talk.turns = grown
        talk.places = 2 * talk.places + 16
    talk.turns[talk.said] = Turn(role, size, talk.count, 0)
    talk.said += 1
    return True


cdef bint read_call(Talk* talk, Py_ssize_t at) noexcept nogil:
    """Add a call to the last turn."""
    cdef Values* v = &talk.values
    cdef Call* grown
    cdef Py_ssize_t name, arguments
    if not find_call(v, at, &name, &arguments):
        return False
    if talk.count == talk.room:
        grown = <Call*> realloc(talk.calls, (2 * talk.room + 16) * sizeof(Call))
        if grown == NULL:
            return False
        talk.calls = grown
        talk.room = 2 * talk.room + 16
    talk.calls[talk.count] = Call(name, arguments, False)
    talk.count += 1
    talk.turns[talk.said - 1].calls += 1
    return True
