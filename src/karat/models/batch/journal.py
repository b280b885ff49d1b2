"""The batches that are under way, noted beside the file of their replies, so that a stopped process finds them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from karat.core.atomic import HELD, open_locked
from karat.core.errors import DataError


@dataclass(frozen=True)
class OpenBatch:
    """A batch of requests whose replies are not in the file yet.

    `keys` are the requests' `custom_id`s, `url` the path of the API that they go to, `file` the endpoint's name for the
    uploaded file, `since` when it was uploaded, in seconds of `time.time`, and `id` the endpoint's name for the batch,
    None until it is known.
    """

    keys: tuple[str, ...]
    url: str
    file: str
    since: float
    id: str | None = None

    def __str__(self) -> str:
        return f"{self.id} ({len(self.keys):,} requests)"


class BatchJournal:
    """A file of notes, which one process at a time holds; it is removed at the end where no batch is open.

    `batches` are the open ones, by our name, which is in the batch's metadata.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.batches = path, dict[str, OpenBatch]()
        try:
            self._file = os.fdopen(open_locked(path), "r+b")
        except HELD:
            raise DataError(f"{path} is in use: another process waits for these replies") from None
        end = 0
        for line in self._file:
            if not line.endswith(b"\n"):  # its writer was killed before it did what it says
                break
            note = json.loads(line)
            self._take(note.pop("name"), note)
            end += len(line)
        self._file.seek(end)
        self._file.truncate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self.batches:
            self.path.unlink(missing_ok=True)

    def note(self, name: str, **members: Any) -> None:
        """Add to what is known of a batch; `ended` closes it. The note is on the disk when this returns."""
        self._file.write(json.dumps({"name": name, **members}).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._take(name, members)

    def _take(self, name: str, members: dict[str, Any]) -> None:
        if "ended" in members:
            self.batches.pop(name, None)
        elif name in self.batches:
            self.batches[name] = replace(self.batches[name], **members)
        else:
            self.batches[name] = OpenBatch(tuple(members.pop("keys")), **members)
