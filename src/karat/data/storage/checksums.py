"""Checksums, by which it is noticed that a file is not as it was written: CRC-32, at about 2.5 GB a second.

They find damage, such as a flipped byte. They do not stop someone who writes another checksum too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

from karat.core.errors import DataError, spell_error
from karat.data.storage.addresses import hide_secrets
from karat.data.storage.remote_files import FileId, identify, open_file, read_bytes
from karat.data.storage.stores import name_errors

CHECKSUM = "checksum"
"""The member of a JSON object that holds the checksum of all others."""
_LARGEST = 256 << 20
_PIECE = 1 << 20
_REMEDY = "take it from a copy, or score again"


@dataclass(frozen=True)
class FileSum:
    """The size of a file in bytes, and the CRC-32 of its content in hexadecimal digits."""

    size: int
    crc32: str

    def __str__(self) -> str:
        return f"{self.size} bytes with the CRC-32 {self.crc32}"


def sum_bytes(content: Any) -> FileSum:
    """The checksum of bytes, or of a buffer.

    >>> sum_bytes(b"123456789")
    FileSum(size=9, crc32='cbf43926')
    """
    return FileSum(len(content), f"{crc32(content):08x}")


def sum_file(path: str | Path) -> FileSum:
    """The checksum of a file at a path or an address."""
    size = checksum = 0
    with name_errors(hide_secrets(str(path))), open_file(path) as file:
        while len(piece := file.read_buffer(_PIECE)):
            size, checksum = size + len(piece), crc32(piece, checksum)
    return FileSum(size, f"{checksum:08x}")


def check_file(path: str | Path, expected: FileSum) -> None:
    """Raise `DataError` for a file that is not as it was written; a version of it is read once a process."""
    if (actual := _sum_version(identify(path))) != expected:
        raise _damaged(path, expected, actual)


def read_checked(path: str | Path, expected: FileSum | None) -> bytes:
    """The content of a file; `DataError` where it is not as it was written. None: that is not known."""
    with name_errors(hide_secrets(str(path))):
        content = read_bytes(path)
    if expected is not None and (actual := sum_bytes(content)) != expected:
        raise _damaged(path, expected, actual)
    return content


def _damaged(path: str | Path, expected: FileSum, actual: FileSum) -> DataError:
    return DataError(f"{hide_secrets(str(path))} is damaged: {expected} were written, found {actual}; {_REMEDY}")


@lru_cache(maxsize=1 << 14)
def _sum_version(file: FileId) -> FileSum:
    return sum_file(file.path)


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a JSON file with its checksum, whatever the spaces and the order of its members.

    >>> seal({"n": 1})
    {'n': 1, 'checksum': '0af73c42'}
    """
    stored = json.loads(json.dumps(content))  # tuples become lists, and all keys texts
    stored.pop(CHECKSUM, None)
    return {**content, CHECKSUM: _sum_members(stored)}


def unseal(content: Any, path: str | Path) -> Any:
    """The content of a JSON file without its checksum; `DataError` where that is of another content.

    What was written without a checksum is not checked.
    """
    if not isinstance(content, dict) or CHECKSUM not in content:
        return content
    left = {name: value for name, value in content.items() if name != CHECKSUM}
    if (expected := content[CHECKSUM]) != (actual := _sum_members(left)):
        problem = f"is damaged or was changed: expected the checksum {expected!r:.40}, found {actual}; {_REMEDY}"
        raise DataError(f"{hide_secrets(str(path))} {problem}")
    return left


def read_json(path: str | Path) -> Any:
    """The content of a JSON file; `DataError` where it is none, or has more than 256 MB."""
    with name_errors(hide_secrets(str(path))), open_file(path) as file:  # a store is asked for the size once
        if (size := file.size()) > _LARGEST:
            most = f"more than the {_LARGEST >> 20} MB that karat reads"
            raise DataError(f"{hide_secrets(str(path))} has {size >> 20:,} MB, {most}; {_REMEDY}")
        content = bytes(file.read())
    return parse_json(content, path)


def parse_json(content: bytes, path: str | Path) -> Any:
    """The content of a JSON file, of which the bytes were read; `DataError` where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{hide_secrets(str(path))} is damaged, and no JSON: {spell_error(error)}") from error


def _sum_members(content: Mapping[str, Any]) -> str:
    return sum_bytes(json.dumps(content, sort_keys=True).encode()).crc32
