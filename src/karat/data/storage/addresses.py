"""Addresses of files that are not on this machine: their parts, and how messages show them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from karat.core.errors import DataError, did_you_mean

SCHEMES = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "az"),
    "hf": "hf",
    **dict.fromkeys(("http", "https"), "http"),
}
"""The store of each scheme of addresses."""

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://(.*)", re.DOTALL)
_QUERY = re.compile(r"""(https?://[^\s?#'"]*)[?#][^\s'"]*""", re.IGNORECASE)
_SIGNATURE = re.compile(r"""([a-z][a-z0-9+.-]*://[^\s?'"]*)\?(?=[\w.-]+=)[^\s'"]*""", re.IGNORECASE)  # else a pattern
_PASSWORD = re.compile(r"(?:(?<=http)|(?<=https))://[^/@\s]*@|://[^/@\s]*:[^/@\s]*@", re.IGNORECASE)


def is_address(path: object) -> bool:
    r"""Whether a path is the address of a file in a store, such as `s3://bucket/rows.parquet`.

    >>> is_address("s3://bucket/rows.parquet"), is_address("rows.parquet"), is_address("C:\\rows.parquet")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def to_path(path: str | Path) -> str | Path:
    """A path as `Path`; an address as it is, since a `Path` would merge its slashes."""
    return path if is_address(path) else Path(path)


def join_path(folder: str | Path, *names: str) -> str | Path:
    """The path, or the address, of what is in a folder.

    >>> join_path("s3://lake/runs", "a", "manifest.json")
    's3://lake/runs/a/manifest.json'
    """
    return "/".join((str(folder), *names)) if is_address(folder) else Path(folder, *names)


def is_file(path: str | Path) -> bool:
    """Whether a path leads to a file, or is an address, for which no store is asked."""
    return is_address(path) or Path(path).is_file()


def split_address(address: str) -> tuple[str, str]:
    """The store (`s3`, `gs`, `az`, `hf` or `http`) of an address, and what follows `://`.

    Raises `DataError` for another scheme, and for an address that holds a password.

    >>> split_address("s3a://bucket/rows.parquet")
    ('s3', 'bucket/rows.parquet')
    """
    match = _ADDRESS.match(address)
    scheme, rest = match.groups() if match else ("", address)
    if _PASSWORD.search(address):
        problem = "an address must not hold a password; set the environment variables of the store"
        raise DataError(f"{hide_secrets(address)}: {problem}")
    if (store := SCHEMES.get(scheme.lower())) is None:
        expected = did_you_mean(scheme, SCHEMES)
        raise DataError(f"{hide_secrets(address)}: no store has addresses that begin with {scheme}://{expected}")
    return store, rest


def covers(source: str, address: str) -> bool:
    """Whether an address belongs to a source: the same, one in its folder, or one that its pattern matches.

    >>> covers("s3://lake/run/*.csv", "s3a://lake/run/a.csv"), covers("s3://lake/run/", "s3://lake/run/b/a.csv")
    (True, False)
    """
    (store, path), (other, name) = split_address(source), split_address(address)
    path += "*" * path.endswith("/")
    return store == other and (path == name or matches(name.split("/"), path.split("/")))


def matches(name: list[str], pattern: list[str]) -> bool:
    """Whether the parts of a path match a glob pattern's; wildcards match no name that begins with a dot."""
    if not (name and pattern):
        return not name and pattern in ([], ["**"])
    hidden = name[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        return matches(name, pattern[1:]) or (not hidden and matches(name[1:], pattern))
    return fnmatchcase(name[0], pattern[0]) and not hidden and matches(name[1:], pattern[1:])


def hide_secrets(text: str) -> str:
    """A text with addresses as messages show them: without passwords, and without queries, which may hold signatures.

    >>> hide_secrets("https://token@host/rows.parquet?signature=abc"), hide_secrets("az://box/rows.csv?sig=abc")
    ('https://host/rows.parquet', 'az://box/rows.csv')
    >>> hide_secrets("s3://bucket/2026-0?/day=1/*.parquet")
    's3://bucket/2026-0?/day=1/*.parquet'
    """
    return _PASSWORD.sub("://", _SIGNATURE.sub(r"\1", _QUERY.sub(r"\1", text)))
