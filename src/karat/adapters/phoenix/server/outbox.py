"""Annotations on their way: sent in batches, none twice, and in a file until Phoenix has them.

Phoenix keeps one annotation a span, name and identifier (of documents: a span, place and name), so that sending again
is safe. What is sent is written to a file first, and the file is removed when all of it has arrived: neither a server
that goes away, nor Ctrl-C, nor a crash loses a score. What Phoenix refuses, such as a score of a span that it does not
hold, is found, stays in the file, and holds nothing else up.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from karat.adapters.phoenix.server.annotations import annotations_of
from karat.adapters.phoenix.server.connection import Progress, ServerError, check_address, connected
from karat.core.atomic import write_text
from karat.core.errors import DataError, KaratError, RowError
from karat.data.storage.validate import naming

Annotation: TypeAlias = Mapping[str, Any]

_BATCH = 100
_REFUSED = {400, 413, 422}  # about what was sent, not about the server
_NEEDED = ("span_id", "name", "annotator_kind", "result")


class NotLogged(KaratError):
    """Some of `total` annotations are not in Phoenix: those `left`, which the file `path` keeps."""

    def __init__(self, why: str, left: Sequence[Annotation], total: int, path: Path, url: str) -> None:
        self.left, self.total, self.path = left, total, path
        super().__init__(f"{why}\n{len(left)} of {total} annotations are not logged; {how_to_send(path, url)}")


@dataclass(frozen=True)
class Logged:
    """How many annotations Phoenix took, and how many scores there were none of."""

    logged: int
    unscored: int = 0


def log_annotations(
    scored: Any, url: str, *, outbox: str | Path | None = None, progress: Progress | None = None
) -> Logged:
    """Log scores to the Phoenix at `url`, as annotations of the spans that they are of.

    `scored`: what `karat.score` gave for spans, or a frame of `evaluate_dataframe` or `to_annotation_dataframe`.
    `outbox`: the file that holds what is not logged yet, by default one in the working folder; it is gone when all is
    logged. `progress`: called with the annotations logged so far and all there are.

    Logging the same scores again changes nothing. Documents that a judge judged one by one, such as
    `judge:document_relevance`, are annotated each. Rows without a score are counted, not logged.

    Raises `NotLogged` where Phoenix stays away or refuses some: what is left is in the file that it names.
    """
    path = Path(outbox or new_outbox())
    check(url, path)
    annotations = annotations_of(scored)
    _send(annotations.found, url, path, progress)
    return Logged(len(annotations.found), annotations.unscored)


def send_annotations(path: str | Path, url: str, *, progress: Progress | None = None) -> Logged:
    """Log the annotations that a file keeps, one JSON object a line; the file is gone when all are logged.

    Raises `karat.RowError` for a line that is none, `NotLogged` where some are not logged: the file then keeps those.
    """
    check(url, Path(path))
    annotations = list(_read(Path(path)))
    _send(annotations, url, Path(path), progress)
    return Logged(len(annotations))


def check(url: str, outbox: Path) -> None:
    """Raise, before anything is scored or sent, what would keep annotations from being logged or kept."""
    check_address(url)
    if not os.access(outbox.parent, os.W_OK):
        raise DataError(
            f"{outbox}: what is not logged yet is to be kept there, but {outbox.parent.resolve()} cannot be written to"
        )


def new_outbox() -> Path:
    """A file in the working folder that is not there yet."""
    return Path(f"karat-unsent-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.jsonl")


def how_to_send(outbox: Path, url: str) -> str:
    """Where annotations are kept, and the command that sends them."""
    command = shlex.join(["karat", "annotate", str(outbox), "--phoenix", url])
    return f"{outbox} keeps what is not logged, and this sends it: {command}"


def _send(annotations: Sequence[Annotation], url: str, path: Path, progress: Progress | None) -> None:
    """Send all, with what is not logged yet in the file; `NotLogged` where some is left."""
    _write(annotations, path)
    sending = _Sending(annotations, progress)
    try:
        with connected(url, wait=True) as client:
            sending.run(client)
    except ServerError as error:
        sending.why.append(str(error))
    finally:
        _write(sending.left, path)  # also after Ctrl-C
    if sending.left:
        raise NotLogged("\n".join(dict.fromkeys(sending.why)), sending.left, len(annotations), path, url)


@dataclass
class _Sending:
    """Which annotations are logged, by their places, and why others are not."""

    annotations: Sequence[Annotation]
    progress: Progress | None
    logged: set[int] = field(default_factory=set)
    why: list[str] = field(default_factory=list)

    @property
    def left(self) -> list[Annotation]:
        return [each for place, each in enumerate(self.annotations) if place not in self.logged]

    def run(self, client: Any) -> None:
        of_spans = [place for place, each in enumerate(self.annotations) if "document_position" not in each]
        of_documents = [place for place, each in enumerate(self.annotations) if "document_position" in each]
        for places, post in (
            (of_spans, lambda batch: client.spans.log_span_annotations(span_annotations=batch, sync=True)),
            (of_documents, lambda batch: client.spans.log_document_annotations(document_annotations=batch, sync=True)),
        ):
            for start in range(0, len(places), _BATCH):
                self._log(places[start : start + _BATCH], post)

    def _log(self, places: list[int], post: Callable[[list[Annotation]], Any]) -> None:
        """Log these; where Phoenix refuses them, all but those that it refuses."""
        import httpx  # noqa: PLC0415  (an extra)

        try:
            post([self.annotations[place] for place in places])
        except httpx.HTTPStatusError as error:
            said = error.response.text
            unknown = {place for place in places if self.annotations[place]["span_id"] in said}
            if error.response.status_code == 404 and unknown:
                rest = [place for place in places if place not in unknown]
                parts = [rest] if rest else []
            elif error.response.status_code not in _REFUSED:
                raise
            else:
                middle = len(places) // 2
                parts = [places[:middle], places[middle:]] if middle else []
            if len(parts) < 2:
                self.why.append(f"refused: {said[:300]}")
            for part in parts:
                self._log(part, post)
        else:
            self.logged.update(places)
            if self.progress is not None:
                self.progress(len(self.logged), len(self.annotations))


def _write(annotations: Sequence[Annotation], path: Path) -> None:
    """Have the file hold these and no others; none where there are none."""
    if annotations:
        write_text(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in annotations))
    else:
        path.unlink(missing_ok=True)


def _read(path: Path) -> Iterator[Annotation]:
    with naming(str(path)), path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                found = json.loads(line)
            except ValueError as error:
                raise RowError(f"{path}, line {number}: {error}") from None
            if missing := [name for name in _NEEDED if not isinstance(found, dict) or name not in found]:
                raise RowError(f"{path}, line {number}: an annotation with {', '.join(missing)} is expected")
            yield found
