"""Values of the earlier format, in which the rows without a score are `failed`, are read as those of today."""

import json

import pytest

from karat.core.errors import DataError
from karat.runs.store.values import read_stored_values

EARLIER = {"value": 0.5, "low": 0.1, "high": 0.9, "n": 3, "scored": 2, "failed": 1, "worst": 0.3, "best": 0.7}
TODAY = {"unscored" if name == "failed" else name: each for name, each in EARLIER.items()}


def stored(entry, group):
    counts = {"label": {"failed": 1, "scored": 1}}
    metric = {"spec": "em", **entry, "counts": counts, "groups": {"failed": group, "unscored": group}}
    return {"n": 3, "mapping": {}, "metrics": [metric]}


def test_failed_rows_are_unscored_rows_and_labels_of_that_name_stay(tmp_path):
    file = tmp_path / "values.json"
    file.write_text(json.dumps(stored(EARLIER, EARLIER)))
    values = read_stored_values(file, None)
    assert values == stored(TODAY, TODAY)
    assert list(values["metrics"][0])[6:8] == ["unscored", "worst"]


@pytest.mark.parametrize("metrics", [7, [7], [{"failed": 1}], [{"groups": 7}], [{"groups": {"a": 7}}]])
def test_values_of_another_shape_are_refused(tmp_path, metrics):
    file = tmp_path / "values.json"
    file.write_text(json.dumps({"n": 3, "mapping": {}, "metrics": metrics}))
    with pytest.raises(DataError, match="does not hold the values of a run"):
        read_stored_values(file, None)
