"""Systems that are named as they are passed: `karat.compare(before=…, after=…)`."""

import pytest

import karat
from karat.errors import DataError, SpecError


def scored(right, **options):
    """40 answers, of which so many are right."""
    rows = {"id": range(40), "gold": ["yes"] * 40, "prediction": ["yes"] * right + ["no"] * (40 - right)}
    return karat.score(rows, "exact_match", **options)


def test_systems_are_named_by_arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = scored(20), scored(30)
    scored(20, run="kept")
    compared = karat.compare("kept", new=second)
    assert compared.systems == ("kept", "new")
    assert karat.compare(before="kept", after=second, metrics="exact_match").systems == ("before", "after")
    assert set(karat.rank(x=first, y=second, z="kept").systems) == {"x", "y", "z"}
    with pytest.raises(SpecError, match="two systems, found 1"):
        karat.compare(before=first)
    with pytest.raises(DataError, match=r"exact_match.*metric= names a system: is metrics= meant\?"):
        karat.compare(first, second, metric="exact_match")
    with pytest.raises(SpecError, match=r"found float; confidance= names a system: is confidence= meant\?"):
        karat.compare(first, second, confidance=0.9)
