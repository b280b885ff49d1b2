"""Values inside objects, in structs or in text, as columns named by their path."""

from __future__ import annotations

import json

import pytest

import karat

TIERS = [{"tier": "paid", "n": 10}, {"tier": "free", "n": 9}, None, {"tier": "paid", "n": 8}]


@pytest.mark.parametrize(
    "metadata",
    [TIERS, [json.dumps(each) for each in TIERS], [None if each is None else str(each) for each in TIERS]],
    ids=["struct", "JSON", "Python"],
)
def test_groups_and_conditions_take_paths_as_mappings_do(metadata):
    data = {"output": ["a"] * 4, "gold": ["a", "b", "a", "a"], "attributes.metadata": metadata}
    result = karat.score(data, "em", by="attributes.metadata.tier")
    groups = {label: (group.value, group.n) for label, group in result.groups["exact_match"].items()}
    assert groups == {"paid": (1.0, 2), "free": (0.0, 1), "(null)": (1.0, 1)}
    both = karat.score(data, "em", by="attributes.metadata.tier", map={"reference": "attributes.metadata.tier"})
    assert list(both.groups["exact_match"]) == ["(null)", "free", "paid"]
    where = """ "attributes.metadata.tier" = 'paid' AND CAST("attributes.metadata.n" AS INT) > 9"""
    chosen = karat.score(data, "em", where=where)
    assert chosen.n == 1
    assert chosen.table.column_names == ["output", "gold", "attributes.metadata", "exact_match", "reason"]


def test_a_condition_is_told_that_names_with_dots_stand_in_quotes():
    data = {"output": ["a"], "gold": ["a"], "attributes.metadata": [{"tier": "paid"}]}
    with pytest.raises(karat.DataError, match=r'need double quotes: "attributes\.metadata\.tier"'):
        karat.score(data, "em", where="attributes.metadata.tier = 'paid'")
