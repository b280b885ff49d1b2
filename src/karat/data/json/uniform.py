"""A fast check of JSON Lines: whether all lines plainly have the columns and types of the first lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from karat.core.columns.json_text import RAW
from karat.data.storage.files import LONGEST_ROW, bound_lines, open_bytes

try:
    from karat.data.json.kernel import count_plain

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

_KINDS = {pa.null(): 0, pa.string(): 1, pa.bool_(): 2, pa.int64(): 3, pa.float64(): 4, RAW: 5}
_CHUNK = 8 << 20


def count_lines(path: str | Path, kinds: Mapping[str, pa.DataType]) -> tuple[int, int, int] | None:
    r"""The numbers of lines and bytes, and of bytes that a line may have at most, if each line is an object with some
    of these keys, in this order, and values of these types or null. None if a line is not plainly so, or there is no
    compiled kernel.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
    ...     _ = file.write(b'{"a": "x", "b": [1, 2]}\n{"a": null}\n') + file.seek(0)
    ...     found = count_lines(file.name, {"a": pa.string(), "b": pa.list_(pa.int64())})
    >>> found is None or found[0] == 2
    True
    """
    several = [pa.types.is_list(kind) for kind in kinds.values()]
    inner = [kind.value_type if pa.types.is_list(kind) else kind for kind in kinds.values()]
    if not COMPILED or not all(kind in _KINDS for kind in inner):
        return None
    keys = [json.dumps(key, ensure_ascii=False).encode() for key in kinds]
    codes = [_KINDS[kind] for kind in inner]
    lines = size = 0
    rest, longest = b"", 0
    with open_bytes(Path(path)) as stream:
        while chunk := stream.read(_CHUNK):
            data = rest + bytes(chunk)
            count, stop = count_plain(data, keys, codes, several)
            if count < 0:
                return None
            rest = data[stop:]
            longest = max(longest, bound_lines(data))
            if len(rest) > LONGEST_ROW:
                return None
            lines, size = lines + count, size + stop
    if rest:  # the last line may have no end
        count, stop = count_plain(rest + b"\n", keys, codes, several)
        if count != 1:
            return None
        lines, size = lines + 1, size + len(rest)
        longest = max(longest, bound_lines(rest))
    return lines, size, longest
