"""Where files of karat's own are."""

from pathlib import Path

import pytest

from karat.core.paths import cache_path


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"KARAT_CACHE": "/a/b.sqlite", "XDG_CACHE_HOME": "/cache"}, "/a/b.sqlite"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/karat/replies.sqlite"),
        ({"KARAT_CACHE": "", "XDG_CACHE_HOME": ""}, "/home/one/.cache/karat/replies.sqlite"),
        ({}, "/home/one/.cache/karat/replies.sqlite"),
    ],
)
def test_the_variable_then_the_cache_folder_of_the_user(monkeypatch, environment, path):
    monkeypatch.delenv("KARAT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/one"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache_path("replies.sqlite", "KARAT_CACHE") == Path(path)
