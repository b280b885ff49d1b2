"""Columns of several runs, read beside each other in pieces of the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa


def zip_streams(streams: Sequence[Iterable[Any]]) -> Iterator[list[Any]]:
    """Several streams of arrays in pieces of the same rows; the last pieces differ in length where the streams do."""
    filled = [filter(len, stream) for stream in streams]
    held: list[Any] = [pa.nulls(0, pa.large_string()) for _ in streams]
    while True:
        held = [each if len(each) else next(stream, each) for each, stream in zip(held, filled, strict=True)]
        if not any(map(len, held)):
            return
        rows = min(map(len, held)) or max(map(len, held))
        yield [each[:rows] for each in held]
        held = [each[rows:] for each in held]
