"""The kernels say of every row what the definitions say, or leave it to them; in every layout of Arrow."""

import json
import runpy
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from karat.metrics.tools import kernels
from karat.metrics.tools.bfcl import _define as define_bfcl
from karat.metrics.tools.call_counts import _define as define_counts
from karat.metrics.tools.calls import CallComparison
from karat.metrics.tools.kernels import complete, count_calls, match_allowed, match_trajectories
from karat.metrics.tools.trajectory import _define as define_trajectory

TRICKY = ["", "a", 'q"\\/\b\n\t', "é", "北", "😀", "<tool_call>", 1e22, 1e300, 1e-7, 5e-324, 0.30000000000000004]
TRICKY += [123456789012345, 1234567890123456789, 2**60, -0.0, 0.1, 1e5, True, False, None, 0, 1, 1.0]
LEAVES = st.sampled_from(TRICKY)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", ""]), inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["x", "y", "é", ""]), VALUES, max_size=3)
CALLS = st.builds(
    lambda name, arguments, form, ascii_: {
        "openai": {"id": "1", "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=ascii_)}},
        "objects": {"type": "function", "function": {"name": name, "arguments": arguments}},
        "args": {"name": name, "args": arguments, "type": "tool_call"},
        "input": {"name": name, "input": arguments},
        "atif": {"function_name": name, "arguments": arguments},
        "empty": {"name": name, "arguments": ""},
        "broken": {"name": name, "arguments": "{"},
        "list": {"name": name, "arguments": [1]},
        "none": {"type": "function", "name": name},
        "unknown": {"name": name},
    }[form],
    st.sampled_from(["f", "g", "é", ""]),
    ARGUMENTS,
    st.sampled_from(
        ["openai", "objects", "args", "input", "atif"] * 4 + ["empty", "broken", "list", "none", "unknown"]
    ),
    st.booleans(),
)
MESSAGES = st.builds(
    lambda role, content, calls: {"role": role, "content": content} | ({"tool_calls": calls} if calls != 0 else {}),
    st.sampled_from(["user", "human", "assistant", "ai", "tool", "x", "assistant", "assistant"]),
    st.sampled_from(["", "Hi", None, "a<b", [{"type": "text", "text": "x"}], "<tool_call>{}</tool_call>", 3]),
    st.lists(CALLS, max_size=3) | st.none() | st.just(0),
)
TALKS = st.lists(CALLS | MESSAGES, max_size=4)
ROWS = TALKS | CALLS | MESSAGES | st.builds(lambda talk: {"messages": talk}, TALKS) | VALUES
ODD = ["", "[", "[1,]", "[01]", '["\\ud800"]', '["\\ud83d\\ude00"]', "[NaN]", '[{"role": "user"}] x']
ODD += ['[{"name": "f", "name": "g"}]', '[{"name": "f", "args": {"x": 1.}}]', '[{"name": "f", "args": {"x": 1e}}]']
ODD += ['[{"name": "f", "args": {"x": "\t"}}]']
TEXTS = st.builds(lambda row, ascii_: json.dumps(row, ensure_ascii=ascii_), ROWS, st.booleans()) | st.sampled_from(ODD)
HOW = ["exact", "subset", "superset", "ignore"]


def same(kernel, define, columns):
    mine, other = complete(kernel, define, columns), define(*columns)
    np.testing.assert_array_equal(mine.statistics, other.statistics)
    reasons = [[None] * len(columns[0]) if rows.reasons is None else rows.reasons.tolist() for rows in (mine, other)]
    assert reasons[0] == reasons[1]


def check(columns):
    for how in HOW:
        comparison = CallComparison(how)
        for mode in ("strict", "unordered", "subset", "superset"):
            define = partial(define_trajectory, mode=mode, comparison=comparison)
            same(match_trajectories(columns, mode, how), define, columns)
    for how in ("exact", "ignore"):
        for tool in (None, "f", ""):
            define = partial(define_counts, comparison=CallComparison(how), order="any", tool=tool)
            same(count_calls(columns, how, tool), define, columns)


@pytest.mark.skipif(not kernels.COMPILED, reason="nothing is compiled")
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS) | TEXTS.map(lambda text: (text, text)), min_size=1, max_size=4))
@example([('[{"name": "f", "args": {"x": 1}}]', '[{"name": "f", "args": {"x": true}}]')])
@example([('[{"role": "human"}]', '[{"role": "user"}]')])
def test_kernels_and_definitions_are_equal(pairs):
    check([pa.array(side) for side in zip(*pairs, strict=True)])


def test_every_layout_of_arrow_gives_the_same(monkeypatch):
    call = json.dumps([{"name": "f", "args": {"x": 1}}])
    texts = pa.array([call, "[]", "x", call])
    layouts = [
        texts,
        texts.cast(pa.large_string()),
        texts.dictionary_encode(),
        pa.concat_arrays([texts, texts]).slice(4),
    ]
    for compiled in (True, False):
        monkeypatch.setattr(kernels, "COMPILED", compiled and kernels.COMPILED)
        for layout in layouts:
            counts = count_calls([layout, texts], "exact", None)[:, 0].tolist()
            assert not compiled or not kernels.COMPILED or counts[:2] + counts[3:] == [1, 0, 1]
            check([layout, texts])


GRAMMAR = runpy.run_path(str(Path(__file__).parents[2] / "agree" / "tool_cases.py"))["Grammar"]
VALUE = VALUES | st.sampled_from(["Some Text-1", "sometext 1", "'", '"', "É"])
SCHEMAS = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "float", "boolean", "array", "dict", "any", "tuple", "odd", 3])},
    optional={"items": st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "float", "dict"])})},
)
TOOLS = st.lists(
    st.builds(
        lambda name, properties, required: {
            "name": name,
            "parameters": {"properties": properties, "required": required},
        },
        st.sampled_from(["f", "g"]),
        st.dictionaries(st.sampled_from(["x", "y", ""]), SCHEMAS, max_size=3),
        st.sampled_from([[], ["x"], None, ["y", "x"], "x", [1]]),
    )
    | VALUE,
    max_size=3,
)
CHOICES = st.lists(
    VALUE | st.just("") | st.dictionaries(st.sampled_from(["x", ""]), st.lists(VALUE, max_size=2)), max_size=3
)
ALLOWED = st.lists(
    st.dictionaries(
        st.sampled_from(["f", "g"]),
        st.dictionaries(st.sampled_from(["x", "y", ""]), CHOICES | VALUE, max_size=3),
        min_size=1,
        max_size=1,
    ),
    max_size=2,
)


@pytest.mark.skipif(not kernels.COMPILED, reason="nothing is compiled")
@settings(max_examples=250, deadline=None)
@given(ALLOWED | CALLS | VALUES, ALLOWED | ROWS, TOOLS | VALUES)
def test_the_kernel_of_bfcl_is_equal_to_its_definition(calls, expected, tools):
    columns = [pa.array([json.dumps(cell)]) for cell in (calls, expected, tools)]
    same(match_allowed(columns), partial(define_bfcl, underscores=False), columns)


@pytest.mark.skipif(not kernels.COMPILED, reason="nothing is compiled")
def test_the_kernel_of_bfcl_is_equal_on_what_is_like_its_data():
    rows = [GRAMMAR(f"kernel {n}").bfcl() for n in range(1000)]
    columns = [pa.array([json.dumps(cell) for cell in column]) for column in zip(*rows, strict=True)]
    decided = match_allowed(columns)
    assert np.isnan(decided).mean() < 0.2
    same(decided, partial(define_bfcl, underscores=False), columns)


@pytest.mark.skipif(not kernels.COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("end", ["", "\n", '"', "\\", "é", "z" * 64, "\n" * 64])
def test_texts_may_end_at_any_byte_of_what_is_read_at_once(end):
    texts = ["z" * size + end for size in range(140)]
    tools = [
        {"name": "f", "description": text, "parameters": {"properties": {"x": {"type": "string"}}}} for text in texts
    ]
    rows = [([{"f": {"x": text}}], [{"f": {"x": [text]}}], tool) for text, tool in zip(texts, tools, strict=True)]
    columns = [pa.array([json.dumps(cell) for cell in column]) for column in zip(*rows, strict=True)]
    assert match_allowed(columns).tolist() == [[1]] * 140
    columns[2] = pa.array([text[:-1] for text in columns[2].to_pylist()])
    assert np.isnan(match_allowed(columns)).all()


def test_most_rows_need_no_definition():
    if kernels.COMPILED:
        talk = [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"city": "Z\\u00fcrich", "n": 2.5}'},
                    }
                ],
            },
        ]
        columns = [pa.array([json.dumps(talk)])] * 2
        assert match_trajectories(columns, "strict", "exact").tolist() == [[1]]
        assert count_calls(columns, "exact", None).tolist() == [[1, 1, 1]]
