"""The connection to a running Phoenix, and reading its spans.

Both use Phoenix's own client (`karat[phoenix]`), which reads its key from `$PHOENIX_API_KEY`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, KaratError, MissingExtra, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.version import warn_of_newer
from karat.data.json.reader import open_json_rows
from karat.data.roles import map_columns
from karat.data.source import Source
from karat.data.spans.fields import FIELDS
from karat.data.spans.source import Spans, open_spans, parse_time
from karat.data.storage.files import BatchFile, temporary_folder
from karat.data.storage.validate import validate_source

Progress = Callable[[int, int | None], None]

_FIELDS = ("parent_id", "span_kind", "name", "start_time", "end_time", "status_code", "status_message")
_OWN = ("context.span_id", "context.trace_id", *_FIELDS, "attributes")
_PAGE = 1000  # spans, the most that the server allows
_INDEXED = re.compile(r"\.\d+(\.|$)")  # in the name of an attribute that is an item of a list
_MOST_COLUMNS = 500  # for attributes


class ServerError(KaratError):
    """Phoenix cannot be reached, or refuses access."""


def check_address(url: str) -> None:
    """Raise `ServerError` for a wrong address, and `MissingExtra` if Phoenix's client is not installed."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"{url!r} is not the address of a Phoenix, such as http://localhost:6006")
    _check_client()


@cache
def _check_client() -> None:
    if find_spec("phoenix") is None or find_spec("phoenix.client") is None:
        raise MissingExtra("arize-phoenix-client", extra="phoenix", need="a running Phoenix")
    warn_of_newer("arize-phoenix-client", "3.5")


@contextmanager
def connect(url: str, *, wait: bool = False) -> Iterator[Any]:
    """An httpx client for the server at `url`; errors within the block are raised as `ServerError`.

    `wait`: retry also if the server has never answered.
    """
    check_address(url)
    import httpx  # noqa: PLC0415  (an extra)
    from phoenix.client.utils.config import get_env_client_headers  # noqa: PLC0415

    from karat.adapters.phoenix.server.retry import RetryingClient, response_fault  # noqa: PLC0415  (it needs httpx)

    with RetryingClient(base_url=url, headers=get_env_client_headers(), wait=wait) as http:
        try:
            yield http
        except httpx.HTTPStatusError as error:
            key = "; $PHOENIX_API_KEY is the key" if error.response.status_code in {401, 403} else ""
            raise ServerError(f"Phoenix at {url}: {response_fault(error.response).message}{key}") from error
        except httpx.TransportError as error:
            raise ServerError(f"Phoenix at {url} does not answer: {error or type(error).__name__}") from error
        except json.JSONDecodeError as error:
            raise ServerError(f"the server at {url} is not Phoenix: {error}") from error


def spans(
    url: str,
    project: str = "default",
    *,
    since: str | datetime | None = None,
    kind: str | None = None,
    progress: Progress | None = None,
) -> Spans:
    """The spans of a project in a running Phoenix, with the same columns as `karat.spans` gives exported spans.

    `url`: the server's, such as `http://localhost:6006`. `project`: its name or id. `since`: only spans that started
    at or after this ISO time, or within the last `"2h"`, `"3d"`. `kind`: only spans of this kind, such as `"LLM"` or
    `"RETRIEVER"`, become rows. `progress`: called with the number of spans read so far, and None.

    The spans are read page by page into a temporary file, so they need not fit into memory. Rows are in the order in
    which the server received the spans. Raises `ServerError` if the server does not answer, `DataError` for an
    unknown project, a project without spans, or an unknown kind.
    """
    since = None if since is None else parse_time(since)
    with temporary_folder() as folder:
        with connect(url) as http:
            from phoenix.client import Client  # noqa: PLC0415  (an extra)

            ids = {each["name"]: each["id"] for each in Client(http_client=http).projects.list()}
            pages = _Pages(Path(folder) / "pages.jsonl")
            for page in _read_pages(http, _project_id(ids, url, project), since):
                pages.add(page)
                if progress is not None:
                    progress(pages.spans, None)
        if not pages.spans:
            others = sorted(ids.keys() - {project})
            hint = (
                f" since {since:%Y-%m-%d %H:%M:%S %Z}" if since else f"; other projects: {', '.join(others) or 'none'}"
            )
            raise DataError(f"project {project!r} at {url} holds no spans{hint}")
        rows = open_json_rows(pages.in_order(), f"Phoenix's project {project!r}", "newline_delimited")
        file = BatchFile(rows.schema, rows.batches())
    source = Source(rows.name, rows.schema, pages.spans, file.read)
    return open_spans(validate_source(source, checked=False)).filter(kind, since)


def check_map(roles: Mapping[str, str], metrics: Iterable[Metric]) -> None:
    """Raise `ColumnError` if metrics cannot be computed on a server's spans with this mapping, or without one.

    It is known before spans are read: only columns of attributes differ from project to project.
    """
    attributes = [column for column in roles.values() if column.startswith("attributes.")]
    names = [*_OWN, *FIELDS.names, *attributes]
    wanted = dict.fromkeys(role for metric in metrics for role in metric.definition.columns)
    map_columns(names, list(wanted), roles, where="spans of Phoenix")


def _read_pages(http: Any, project: str, since: datetime | None) -> Iterator[list[dict[str, Any]]]:
    """The spans of a project, the latest first."""
    query: dict[str, Any] = {"limit": _PAGE} | ({"start_time": since.isoformat()} if since else {})
    cursor: str | None = ""
    while cursor is not None:
        found = http.get(f"v1/projects/{project}/spans", params=query | ({"cursor": cursor} if cursor else {}))
        found.raise_for_status()
        page = found.json()
        if page["data"]:
            yield page["data"]
        cursor = page.get("next_cursor") if page["data"] else None


def _project_id(ids: Mapping[str, str], url: str, project: str) -> str:
    """The id of a project; its name may contain characters that an address cannot."""
    if project in ids.values():
        return project
    if project not in ids:
        raise DataError(f"Phoenix at {url} has no project {project!r}{did_you_mean(project, ids)}")
    return ids[project]


class _Pages:
    """Spans in a file, page after page, in the order in which they were read."""

    def __init__(self, path: Path) -> None:
        self._path, self._ends, self._names = path, [0], Counter[str]()
        self.spans = 0

    def add(self, page: Sequence[Mapping[str, Any]]) -> None:
        self._names.update(key for span in page for key in span["attributes"] if not _INDEXED.search(key))
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(span) + "\n" for span in reversed(page))
            self._ends.append(file.tell())
        self.spans += len(page)

    def in_order(self) -> Path:
        """The path of a file with a row for each span, the earliest first."""
        named = dict(self._names.most_common(_MOST_COLUMNS))
        ordered = self._path.with_name("spans.jsonl")
        with self._path.open("rb") as file, ordered.open("w", encoding="utf-8") as rows:
            for start, end in reversed([*pairwise(self._ends)]):
                file.seek(start)
                for line in file.read(end - start).splitlines():
                    rows.write(json.dumps(_to_row(json.loads(line), named)) + "\n")
        return ordered


def _to_row(span: Mapping[str, Any], named: Mapping[str, int]) -> dict[str, Any]:
    """A span with a column for each of the named attributes, and one with all others as JSON."""
    attributes = span["attributes"]
    return {
        **{f"context.{name}": span["context"][name] for name in ("span_id", "trace_id")},
        **{name: span[name] for name in _FIELDS},
        **{f"attributes.{key}": attributes.get(key) for key in named},
        "attributes": json.dumps({key: value for key, value in attributes.items() if key not in named}),
    }
