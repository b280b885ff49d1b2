"""The connection to a running Phoenix, and reading its spans.

Both use Phoenix's own client (`karat[phoenix]`), which reads its key from `$PHOENIX_API_KEY`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from karat.core.errors import DataError, KaratError, MissingExtra, did_you_mean
from karat.data.formats.frames import open_frame
from karat.data.spans.source import Spans, open_spans, parse_time
from karat.data.storage.validate import validate_source

Progress = Callable[[int, int | None], None]

_FIELDS = ("parent_id", "span_kind", "name", "start_time", "end_time", "status_code", "status_message")
_INDEXED = re.compile(r"\.\d+(\.|$)")  # in the name of an attribute that is an item of a list
_MOST_COLUMNS = 500  # for attributes


class ServerError(KaratError):
    """Phoenix cannot be reached, or refuses access."""


def check_address(url: str) -> None:
    """Raise `ServerError` for a wrong address, and `karat.MissingExtra` if Phoenix's client is not installed."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"{url!r} is not the address of a Phoenix, such as http://localhost:6006")
    if find_spec("phoenix") is None or find_spec("phoenix.client") is None:
        raise MissingExtra("arize-phoenix-client", extra="phoenix", need="a running Phoenix")


@contextmanager
def connect(url: str, *, wait: bool = False, on_response: Callable[[Any], None] = lambda _: None) -> Iterator[Any]:
    """Phoenix's client for the server at `url`; errors within the block are raised as `ServerError`.

    `wait`: retry also if the server has never answered. `on_response`: called with each successful response.
    """
    check_address(url)
    import httpx  # noqa: PLC0415  (an extra)
    from phoenix.client import Client  # noqa: PLC0415
    from phoenix.client.utils.config import get_env_client_headers  # noqa: PLC0415

    from karat.adapters.phoenix.server.retry import RetryingClient, response_fault  # noqa: PLC0415  (it needs httpx)

    with RetryingClient(base_url=url, headers=get_env_client_headers(), wait=wait, on_response=on_response) as http:
        try:
            yield Client(http_client=http)
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

    Rows are in the order in which the server received the spans. Raises `ServerError` if the server does not answer,
    `karat.DataError` for an unknown project, a project without spans, or an unknown kind.
    """
    since = None if since is None else parse_time(since)
    read = 0

    def count_spans(response: Any) -> None:
        nonlocal read
        if progress is not None and response.url.path.endswith("/spans"):
            read += len(response.json()["data"])
            progress(read, None)

    with connect(url, on_response=count_spans) as client:
        from karat.adapters.phoenix.server.retry import TIMEOUT  # noqa: PLC0415  (it needs httpx)

        ids = {each["name"]: each["id"] for each in client.projects.list()}
        received = client.spans.get_spans(
            project_identifier=_project_id(ids, url, project), start_time=since, limit=sys.maxsize, timeout=TIMEOUT
        )
    if not received:
        others = sorted(ids.keys() - {project})
        hint = f" since {since:%Y-%m-%d %H:%M:%S %Z}" if since else f"; other projects: {', '.join(others) or 'none'}"
        raise DataError(f"project {project!r} at {url} holds no spans{hint}")
    source = replace(open_frame(_columns(received[::-1])), name=f"Phoenix's project {project!r}")
    return open_spans(validate_source(source, checked=False)).filter(kind, since)


def _project_id(ids: Mapping[str, str], url: str, project: str) -> str:
    """The id of a project; its name may contain characters that an address cannot."""
    if project in ids.values():
        return project
    if project not in ids:
        raise DataError(f"Phoenix at {url} has no project {project!r}{did_you_mean(project, ids)}")
    return ids[project]


def _columns(spans: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Spans as columns: one for each attribute that is not an item of a list, and one with all others as JSON."""
    attributes = [span["attributes"] for span in spans]
    counts = Counter(key for each in attributes for key in each if not _INDEXED.search(key))
    named = dict(counts.most_common(_MOST_COLUMNS))
    rest = [{key: value for key, value in each.items() if key not in named} for each in attributes]
    return {
        **{f"context.{name}": [span["context"][name] for span in spans] for name in ("span_id", "trace_id")},
        **{name: [span[name] for span in spans] for name in _FIELDS},
        **{f"attributes.{key}": [each.get(key) for each in attributes] for key in named},
        "attributes": [json.dumps(each, ensure_ascii=False) for each in rest],
    }
