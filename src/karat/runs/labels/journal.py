"""The journal of a labelling session: JSON Lines to which every key adds one line, and none is ever changed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from karat.core.atomic import HELD, acquire, check_is_file, sync
from karat.core.errors import DataError

ASIDES = frozenset({"plan", "judge", "stop"})
ACTIONS = frozenset({"label", "skip", "undo"}) | ASIDES
"""What a line does: it labels a row, leaves it out, or takes back the annotator's last line about it.

Three kinds of lines, the asides, label no row: a plan has what an interval follows from besides the labels, a judge
line the verdicts that were asked for it, and a stop the interval at which a rule ended the labelling.
"""
_PATIENCE = 10.0  # seconds; a process holds the journal while one line reaches the disk


def live_rows(ids: Iterable[str | None], annotators: Iterable[str | None], actions: Iterable[str]) -> list[int]:
    """The positions of the lines that were not taken back.

    >>> live_rows(["a", "a", "a", "b"], ["ada"] * 4, ["label", "undo", "label", "skip"])
    [2, 3]
    """
    live: dict[tuple[str | None, str | None], list[int]] = {}
    for at, (row, annotator, action) in enumerate(zip(ids, annotators, actions, strict=True)):
        if action in ASIDES:
            continue
        lines = live.setdefault((row, annotator), [])
        if action != "undo":
            lines.append(at)
        elif lines:
            lines.pop()
    return sorted(at for lines in live.values() for at in lines)


_MOST_BYTES = 1 << 30


class Journal:
    """A journal to which several processes, and threads of one, may add lines at the same time.

    `take` is called once with each line of the file and its place, whoever wrote it, in their order. A file that does
    not exist has no lines; the first line makes it.
    """

    def __init__(self, path: Path, take: Callable[[dict[str, Any], str], None]) -> None:
        self.path, self._take = path, take
        self._read_bytes = self._read_lines = 0
        self._file: BinaryIO

    @contextmanager
    def hold(self, *, create: bool = False) -> Iterator[None]:
        """Keep everybody else out within the block; all lines of the file have been taken when it begins.

        Raises `DataError` for a file that is not a journal, which stays as it is, and where another process does not
        let go of it.
        """
        if not (create or self.path.exists()):
            yield
            return
        if not self.path.parent.is_dir():
            raise DataError(f"{self.path}: there is no folder {str(self.path.parent)!r}")
        check_is_file(self.path)
        if self.path.exists() and self.path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{self.path} has more than {_MOST_BYTES >> 20} MB, which no labels have")
        with self.path.open("a+b", buffering=0) as file:  # closing it lets go
            self._acquire(file)
            self._catch_up(file)
            self._file = file
            yield

    def append(self, *lines: Mapping[str, Any]) -> None:
        """Add lines within `hold`, all in one write, and wait until they are on the disk."""
        texts = [json.dumps(line, ensure_ascii=False).encode() for line in lines]
        written = b"".join(text + b"\n" for text in texts)
        if self._file.write(written) != len(written):
            self._file.truncate(self._read_bytes)
            raise OSError(f"{self.path}: the disk is full; the last label is not kept")
        os.fsync(self._file.fileno())
        if not self._read_bytes:
            sync(self.path.parent)
        for text in texts:
            self._take_text(text)

    def _acquire(self, file: BinaryIO) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return acquire(file.fileno())
            except HELD:
                if time.monotonic() > end:
                    raise DataError(f"{self.path}: another process keeps the file locked") from None
                time.sleep(0.01)

    def _catch_up(self, file: BinaryIO) -> None:
        """Take the lines that were added; a last one that a power failure cut short is removed."""
        if file.seek(0, os.SEEK_END) < self._read_bytes:
            raise DataError(f"{self.path}: lines that were there are gone; start again")
        file.seek(self._read_bytes)
        *whole, rest = file.read().split(b"\n")
        for text in whole:
            self._take_text(text)
        if rest and (_parse(rest) or not self._read_lines):
            self._take_text(rest)
            file.write(b"\n")
        elif rest:
            file.truncate(self._read_bytes)

    def _take_text(self, text: bytes) -> None:
        """Take a line; it counts as read once it was taken without an error."""
        place = f"{self.path}, line {self._read_lines + 1}"
        if (line := _parse(text)) is None:
            raise DataError(f"{place}: expected a line that karat label has written; name another file")
        self._take(line, place)
        self._read_bytes += len(text) + 1
        self._read_lines += 1


def _parse(text: bytes) -> dict[str, Any] | None:
    """A line of a journal; None for any other text."""
    try:
        line: dict[str, Any] = json.loads(text)
        known = line["action"] in ACTIONS and isinstance(line["id"] + line["annotator"], str)
        return line if known and (line["action"] != "label" or isinstance(line["score"], int | float)) else None
    except (ValueError, KeyError, TypeError):
        return None
