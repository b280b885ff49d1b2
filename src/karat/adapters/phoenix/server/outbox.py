"""Logging annotations: in batches, none twice, and kept in a file until Phoenix has them.

Phoenix keeps one annotation for each span, name and identifier (for documents: span, position and name), so sending
one again is safe. Annotations are written to a file before they are sent, and the file is removed when all of them
have arrived: no score is lost if the server goes away, on Ctrl-C, or in a crash. An annotation that Phoenix refuses,
for example because it does not hold the span, is singled out and stays in the file; all others are logged.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from karat.adapters.phoenix.server.annotation import TARGETS, Annotation, target
from karat.adapters.phoenix.server.connection import Progress, ServerError, check_address, connect
from karat.adapters.phoenix.server.frame_annotations import from_frame
from karat.adapters.phoenix.server.result_annotations import from_result, from_run
from karat.core.atomic import check_is_file, write_text
from karat.core.errors import DataError, KaratError, RowError
from karat.data.storage.stores import name_errors
from karat.runs.scoring.result import Result
from karat.runs.store.run import Run

_BATCH = 100
_REFUSED = {400, 413, 422}  # statuses caused by the annotations, not by the server; so may be 500
_MOST_500 = 10  # in a row, then it is the server: one annotation in a batch causes at most eight
_REQUIRED = ("name", "annotator_kind", "result")


class NotLogged(KaratError):
    """Some of `total` annotations are not in Phoenix: those in `left`, which the file `path` keeps."""

    def __init__(self, why: str, left: Sequence[Annotation], total: int, path: Path, url: str) -> None:
        self.left, self.total, self.path = left, total, path
        super().__init__(f"{why}\n{len(left)} of {total} annotations are not logged; {how_to_send(path, url)}")


@dataclass(frozen=True)
class Logged:
    """How many annotations Phoenix has taken, and how many rows had no score."""

    logged: int
    unscored: int = 0


def log_annotations(
    scored: Any, url: str, *, outbox: str | Path | None = None, progress: Progress | None = None
) -> Logged:
    """Log scores to the Phoenix at `url`, as annotations of their spans, else of their traces or sessions.

    `scored`: the result of `karat.score` on spans, a run of them, or a frame of `evaluate_dataframe` or
    `to_annotation_dataframe`. They are of what it has ids of: `span_id` or `context.span_id`, else `trace_id`, else
    `session_id`. `outbox`: the file that holds the annotations not logged yet, by default a new one in the working
    directory; it is removed when all are logged. `progress`: called with the number of annotations logged so far and
    of all.

    Logging the same scores again changes nothing. Documents that a judge judged one by one, as
    `judge:document_relevance` does, get an annotation each. Rows without a score are counted, not logged.

    Raises `NotLogged` if Phoenix cannot be reached or refuses some; the file that the error names holds the rest.
    """
    path = Path(outbox or new_outbox())
    check(url, path)
    read = from_run if isinstance(scored, Run) else from_result if isinstance(scored, Result) else from_frame
    annotations = read(scored)
    _send(annotations.to_log, url, path, progress)
    return Logged(len(annotations.to_log), annotations.unscored)


def send_annotations(path: str | Path, url: str, *, progress: Progress | None = None) -> Logged:
    """Log the annotations in a file, one JSON object a line; the file is removed when all are logged.

    Raises `RowError` for a line without an annotation, and `NotLogged` if some are not logged; these stay there.
    """
    check(url, Path(path))
    annotations = list(_read(Path(path)))
    _send(annotations, url, Path(path), progress)
    return Logged(len(annotations))


def check(url: str, outbox: Path) -> None:
    """Raise, before anything is scored or sent, if annotations cannot be sent to `url` or kept in `outbox`."""
    check_address(url)
    if not os.access(outbox.parent, os.W_OK):
        kept = f"{outbox}: annotations that are not logged yet would be kept there"
        raise DataError(f"{kept}, but {outbox.parent.resolve()} cannot be written to")


def new_outbox() -> Path:
    """The path of a new file in the working directory."""
    return Path(f"karat-unsent-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.jsonl")


def how_to_send(outbox: Path, url: str) -> str:
    """The part of a message that says where annotations are kept, and which command sends them."""
    command = shlex.join(["karat", "runs", "publish", str(outbox), "--to", "phoenix", "--set", f"url={url}"])
    return f"{outbox} keeps what is not logged, and this sends it: {command}"


def _send(annotations: Sequence[Annotation], url: str, path: Path, progress: Progress | None) -> None:
    """Send all; the file holds those that are not logged. Raises `NotLogged` if some are left."""
    _write(annotations, path)
    delivery = _Delivery(annotations, progress)
    try:
        with connect(url, wait=True) as http:
            from phoenix.client import Client  # noqa: PLC0415  (an extra)

            delivery.run(Client(http_client=http))
    except ServerError as error:
        delivery.errors.append(str(error))
    finally:
        _write(delivery.left, path)  # also after Ctrl-C
    if delivery.left:
        raise NotLogged("\n".join(dict.fromkeys(delivery.errors)), delivery.left, len(annotations), path, url)


@dataclass
class _Delivery:
    """The positions of the annotations that are logged, and the reasons why others are not."""

    annotations: Sequence[Annotation]
    progress: Progress | None
    logged: set[int] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    failures: int = 0  # 500s since the last batch that was logged

    @property
    def left(self) -> list[Annotation]:
        return [each for position, each in enumerate(self.annotations) if position not in self.logged]

    def run(self, client: Any) -> None:
        posts: dict[str, Callable[[list[Annotation]], Any]] = {
            "span_id": lambda batch: client.spans.log_span_annotations(span_annotations=batch, sync=True),
            "document": lambda batch: client.spans.log_document_annotations(document_annotations=batch, sync=True),
            "trace_id": lambda batch: client.traces.log_trace_annotations(trace_annotations=batch, sync=True),
            "session_id": lambda batch: client.sessions.log_session_annotations(session_annotations=batch, sync=True),
        }
        kinds = ["document" if "document_position" in each else target(each) for each in self.annotations]
        for kind, post in posts.items():
            positions = [position for position, each in enumerate(kinds) if each == kind]
            for start in range(0, len(positions), _BATCH):
                self._log(positions[start : start + _BATCH], post)

    def _log(self, positions: list[int], post: Callable[[list[Annotation]], Any]) -> None:
        """Log these; if Phoenix refuses the batch, log all but those it refuses, by halving it where need be."""
        import httpx  # noqa: PLC0415  (an extra)

        try:
            post([self.annotations[n] for n in positions])
        except httpx.HTTPStatusError as error:
            text, status = error.response.text, error.response.status_code
            unknown = {n for n in positions if self.annotations[n][target(self.annotations[n])] in text}
            if status == 404 and unknown:
                parts = [rest] if (rest := [n for n in positions if n not in unknown]) else []
            elif status not in _REFUSED and not self._counts_as_refused(status):
                raise
            else:
                middle = len(positions) // 2
                parts = [positions[:middle], positions[middle:]] if middle else []
            if len(parts) < 2:
                self.errors.append(f"refused: HTTP {status}: {text[:300]}")
            for part in parts:
                self._log(part, post)
        else:
            self.logged.update(positions)
            self.failures = 0
            if self.progress is not None:
                self.progress(len(self.logged), len(self.annotations))

    def _counts_as_refused(self, status: int) -> bool:
        self.failures += status == 500
        return status == 500 and self.failures < _MOST_500


def _write(annotations: Sequence[Annotation], path: Path) -> None:
    """Replace the contents of the file by these annotations; remove the file if there are none."""
    if annotations:
        write_text(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in annotations))
    else:
        path.unlink(missing_ok=True)


_MOST_BYTES = 16 << 20  # of a line


def _read(path: Path) -> Iterator[Annotation]:
    with name_errors(str(path)):
        for number, line in enumerate(_read_lines(path), 1):
            try:
                annotation = json.loads(line)
            except ValueError as error:
                raise RowError(f"{path}, line {number}: {error}") from None
            members = annotation if isinstance(annotation, dict) else {}
            missing = [] if members.keys() & TARGETS else ["span_id"]
            if missing := [*missing, *(name for name in _REQUIRED if name not in members)]:
                raise RowError(f"{path}, line {number}: an annotation with {', '.join(missing)} is expected")
            yield annotation


def _read_lines(path: Path) -> Iterator[bytes]:
    check_is_file(path)
    with path.open("rb") as file:
        yield from iter(lambda: file.readline(_MOST_BYTES), b"")
