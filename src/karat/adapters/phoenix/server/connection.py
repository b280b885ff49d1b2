"""The connection to a running Phoenix, and reading its spans.

Both use Phoenix's own client (`karat[phoenix]`), which reads its key from `$PHOENIX_API_KEY`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError, KaratError, MissingExtra, RowError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.version import warn_of_newer
from karat.data.formats.validate import validate_source
from karat.data.roles import map_columns
from karat.data.source import Source
from karat.data.spans.fields import FIELDS
from karat.data.spans.source import Spans, open_spans, parse_time
from karat.data.storage.files import BatchFile

Progress = Callable[[int, int | None], None]

_COLUMNS = (
    *("context.span_id", "context.trace_id", "parent_id", "span_kind", "name", "start_time", "end_time"),
    *("status_code", "status_message", "attributes"),
)
_SCHEMA = pa.schema([(name, pa.string()) for name in _COLUMNS])
_PAGE = 1000  # spans, the most that the server allows


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
    """The spans of a project in a running Phoenix, with the fields that `karat.spans` extracts from exported spans.

    `url`: the server's, such as `http://localhost:6006`. `project`: its name or id. `since`: only spans that started
    at or after this ISO time, or within the last `"2h"`, `"3d"`. `kind`: only spans of this kind, such as `"LLM"` or
    `"RETRIEVER"`, become rows. `progress`: called with the number of spans read so far, and None.

    The column `attributes` is JSON, into which paths such as `attributes.metadata.gold` reach. The spans are read page
    by page into a temporary file, so they need not fit into memory. Rows are in the order in which the server received
    the spans. Raises `ServerError` if the server does not answer, `DataError` for an
    unknown project, a project without spans, or an unknown kind.
    """
    since = None if since is None else parse_time(since)
    with connect(url) as http:
        from phoenix.client import Client  # noqa: PLC0415  (an extra)

        ids = {each["name"]: each["id"] for each in Client(http_client=http).projects.list()}
        file = BatchFile(_SCHEMA, _read_pages(http, _project_id(ids, url, project), since, progress))
    rows = sum(page.num_rows for page in file.read())
    if not rows:
        others = sorted(ids.keys() - {project})
        hint = f" since {since:%Y-%m-%d %H:%M:%S %Z}" if since else f"; other projects: {', '.join(others) or 'none'}"
        raise DataError(f"project {project!r} at {url} holds no spans{hint}")
    source = Source(f"Phoenix's project {project!r}", _SCHEMA, rows, lambda: reversed([*file.read()]))
    return open_spans(validate_source(source, checked=False)).filter(kind, since)


def check_map(roles: Mapping[str, str], metrics: Iterable[Metric]) -> None:
    """Raise `ColumnError` if metrics cannot be computed on a server's spans with this mapping, or without one.

    It is known before spans are read: only columns of attributes differ from project to project.
    """
    attributes = [column for column in roles.values() if column.startswith("attributes.")]
    names = [*_COLUMNS, *FIELDS.names, *attributes]
    wanted = dict.fromkeys(role for metric in metrics for role in metric.definition.columns)
    map_columns(names, list(wanted), roles, where="spans of Phoenix")


def _read_pages(http: Any, project: str, since: datetime | None, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """The spans of a project: the latest page first, in each the earliest span."""
    query: dict[str, Any] = {"limit": _PAGE} | ({"start_time": since.isoformat()} if since else {})
    cursor: str | None = ""
    done = 0
    while cursor is not None:
        response = http.get(f"v1/projects/{project}/spans", params=query | ({"cursor": cursor} if cursor else {}))
        response.raise_for_status()
        page = response.json()
        if not (rows := [_to_row(span) for span in reversed(page["data"])]):
            return
        yield _to_batch(rows)
        cursor, done = page.get("next_cursor"), done + len(rows)
        if progress is not None:
            progress(done, None)


def _to_row(span: Mapping[str, Any]) -> dict[str, Any]:
    context = {f"context.{name}": value for name, value in span["context"].items()}
    return {**span, **context, "attributes": json.dumps(span["attributes"], ensure_ascii=False)}


def _to_batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    try:
        return pa.RecordBatch.from_pylist(rows, _SCHEMA)
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end]
        raise RowError(
            f"a span has half of a surrogate pair (\\ud800 to \\udfff), which is not a character, in {near!r}"
        ) from None


def _project_id(ids: Mapping[str, str], url: str, project: str) -> str:
    """The id of a project; its name may contain characters that an address cannot."""
    if project in ids.values():
        return project
    if project not in ids:
        raise DataError(f"Phoenix at {url} has no project {project!r}{did_you_mean(project, ids)}")
    return ids[project]
