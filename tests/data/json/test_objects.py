"""Dataclasses are printed as their derived schema says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.data.json.objects import JsonObject, Printed, json_schema, to_json

Draft202012Validator = pytest.importorskip("jsonschema").Draft202012Validator


class Part(TypedDict, total=False):
    """A part; `more` may be left out."""

    more: int


@dataclass(frozen=True)
class Inner:
    """Numbers."""

    low: float | None
    pair: tuple[int, str]


@dataclass(frozen=True)
class Outer(JsonObject):
    """All kinds of members."""

    name: str
    inner: Inner
    kind: Literal["a", "b"]
    parts: tuple[Part, ...] = ()
    others: Mapping[str, Inner | None] = field(default_factory=dict)
    note: str = ""
    secret: Any = None

    printed: ClassVar = Printed(
        first=("kind",),
        also=("size",),
        hidden=("secret",),
        sparse=("note",),
        inline=("inner",),
        names={"name": "called"},
    )

    @property
    def size(self) -> int:
        """How many parts there are."""
        return len(self.parts)


INNER = st.builds(Inner, st.none() | st.floats(-1, 1), st.tuples(st.integers(), st.text(max_size=3)))
OUTER = st.builds(
    Outer,
    st.text(max_size=3),
    INNER,
    st.sampled_from("ab"),
    st.lists(st.fixed_dictionaries({}, optional={"more": st.integers()}), max_size=2).map(tuple),
    st.dictionaries(st.text(max_size=3), st.none() | INNER, max_size=2),
    st.text(max_size=2),
    st.just(object()),
)


@given(OUTER)
def test_what_is_printed_is_what_the_schema_says(value):
    printed = json.loads(json.dumps(value.as_dict()))
    Draft202012Validator(json_schema(Outer, "outer")).validate(printed)
    assert list(printed)[:3] == ["kind", "called", "low"]
    assert ("note" in printed) == bool(value.note)
    assert "secret" not in printed
    assert printed["size"] == len(printed["parts"])


@pytest.mark.parametrize(
    "change",
    [
        lambda printed: printed.pop("size"),
        lambda printed: printed.update(more=1),
        lambda printed: printed.update(kind="c"),
        lambda printed: printed["pair"].append(1),
        lambda printed: printed["others"].update(one={"low": 1.0}),
        lambda printed: printed["parts"].append({"less": 1}),
    ],
)
def test_what_is_not_printed_is_refused(change):
    printed = to_json(Outer("one", Inner(None, (1, "x")), "a"))
    validator = Draft202012Validator(json_schema(Outer, "outer"))
    validator.validate(printed)
    change(printed)
    assert not validator.is_valid(printed)
