"""Columns of JSON: what they hold of values that are not plain, compared with what the values' own makers write."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time

import numpy as np
import pyarrow as pa
import pytest

from karat.core.columns.kinds import JSON, to_arrow
from karat.core.errors import RowError

pd = pytest.importorskip("pandas")

pydantic = pytest.importorskip("pydantic")


@dataclass
class Call:
    name: str
    arguments: dict


class Message(pydantic.BaseModel):
    role: str
    at: datetime


CALL = Call("f", {"x": [1, None], "y": {"z": "é"}})
MESSAGE = Message(role="user", at=datetime(2024, 2, 29, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (CALL, asdict(CALL)),
        (MESSAGE, json.loads(MESSAGE.model_dump_json())),
        ([MESSAGE, {"call": CALL}], [json.loads(MESSAGE.model_dump_json()), {"call": asdict(CALL)}]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ({"a": np.float32(0.5), "b": np.bool_(True)}, {"a": 0.5, "b": True}),
        ({"at": datetime(2024, 2, 29, 12, tzinfo=UTC)}, {"at": "2024-02-29T12:00:00+00:00"}),
        ({"day": date(2024, 2, 29), "hour": time(12)}, {"day": "2024-02-29", "hour": "12:00:00"}),
        ({"at": pd.Timestamp("2024-02-29", tz="UTC")}, {"at": "2024-02-29T00:00:00+00:00"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_python_are_held_as_their_makers_write_them(value, held):
    texts = to_arrow([value, None], "x", JSON).to_pylist()
    assert [text and json.loads(text) for text in texts] == [held, None]


@pytest.mark.parametrize("value", [object(), {1, 2}, b"a", Call, 1j])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(RowError, match=r"row 1: JSON cannot hold .*; lists, dicts, texts and numbers are expected"):
        to_arrow([[value]], "x", JSON)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(['{"a":1}', None, "null"]),
        pa.array(['{"a":1}', None, "null"]).dictionary_encode(),
        pa.array(['{"a":1}', None, "null"], pa.string_view()),
        pa.array(['{"a":1}', None, "null"]).cast(pa.json_()),
        pa.array([{"a": 1}, None, None]),
        pa.array([[("a", 1)], None, None], pa.map_(pa.string(), pa.int8())),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_of_any_layout_holds_its_objects(column):
    assert [text and json.loads(text) for text in JSON.of(column, "x").to_pylist()] == [{"a": 1}, None, None]
