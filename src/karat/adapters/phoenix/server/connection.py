"""A running Phoenix: how it is reached, and its spans.

Through Phoenix's own client, `karat[phoenix]`, with the key that it takes from `$PHOENIX_API_KEY`.
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
from karat.data.spans.source import Spans, moment, open_spans
from karat.data.storage.validate import guard

Progress = Callable[[int, int | None], None]

_ITS = ("parent_id", "span_kind", "name", "start_time", "end_time", "status_code", "status_message")
_INDEXED = re.compile(r"\.\d+(\.|$)")  # of attributes that are an item of a list
_MOST_COLUMNS = 500  # of attributes


class ServerError(KaratError):
    """A Phoenix that cannot be reached, or does not let us in."""


def check_address(url: str) -> None:
    """Raise `ServerError` for what is no address, and `karat.MissingExtra` where Phoenix's client is not there."""
    if not url.startswith(("http://", "https://")):
        raise ServerError(f"{url!r} is no address of a Phoenix: http://localhost:6006 is one")
    if find_spec("phoenix") is None or find_spec("phoenix.client") is None:
        raise MissingExtra("arize-phoenix-client", extra="phoenix", need="a running Phoenix")


@contextmanager
def connected(url: str, *, wait: bool = False, answered: Callable[[Any], None] = lambda _: None) -> Iterator[Any]:
    """Phoenix's client for the server at `url`; what goes wrong within is raised as a `ServerError` that says so.

    `wait`: also for a server that has not answered yet. `answered` is shown each answer.
    """
    check_address(url)
    import httpx  # noqa: PLC0415  (an extra)
    from phoenix.client import Client  # noqa: PLC0415
    from phoenix.client.utils.config import get_env_client_headers  # noqa: PLC0415

    from karat.adapters.phoenix.server.retry import Patient, refusal  # noqa: PLC0415  (it needs httpx)

    with Patient(base_url=url, headers=get_env_client_headers(), wait=wait, answered=answered) as http:
        try:
            yield Client(http_client=http)
        except httpx.HTTPStatusError as error:
            key = "; $PHOENIX_API_KEY is the key" if error.response.status_code in {401, 403} else ""
            raise ServerError(f"Phoenix at {url}: {refusal(error.response).message}{key}") from error
        except httpx.TransportError as error:
            raise ServerError(f"Phoenix at {url} does not answer: {error or type(error).__name__}") from error
        except json.JSONDecodeError as error:
            raise ServerError(f"what answers at {url} is not Phoenix: {error}") from error


def spans(
    url: str,
    project: str = "default",
    *,
    since: str | datetime | None = None,
    kind: str | None = None,
    progress: Progress | None = None,
) -> Spans:
    """The spans of a project in a running Phoenix, with the columns that `karat.spans` finds in exported ones.

    `url`: the server's, such as `http://localhost:6006`. `project`: its name, or its id. `since`: spans that started at
    or after an ISO time, or within `"2h"`, `"3d"`. `kind`: of spans that become rows, such as `"LLM"` or `"RETRIEVER"`.
    `progress`: called with the spans read so far, and None.

    Rows are in the order in which the server got the spans. Raises `ServerError` where the server does not answer, and
    `karat.DataError` for a project or a kind that there is not.
    """
    since = None if since is None else moment(since)
    read = 0

    def turned(response: Any) -> None:
        nonlocal read
        if progress is not None and response.url.path.endswith("/spans"):
            read += len(response.json()["data"])
            progress(read, None)

    with connected(url, answered=turned) as client:
        from karat.adapters.phoenix.server.retry import TIMEOUT  # noqa: PLC0415  (it needs httpx)

        ids = {each["name"]: each["id"] for each in client.projects.list()}
        found = client.spans.get_spans(
            project_identifier=_project_id(ids, url, project),
            start_time=since,
            limit=sys.maxsize,
            timeout=TIMEOUT,
        )
    if not found:
        others = sorted(ids.keys() - {project})
        said = f" since {since:%Y-%m-%d %H:%M:%S %Z}" if since else f"; other projects: {', '.join(others) or 'none'}"
        raise DataError(f"project {project!r} at {url} holds no spans{said}")
    source = replace(open_frame(_columns(found[::-1])), name=f"Phoenix's project {project!r}")
    return open_spans(guard(source, checked=False)).only(kind, since)


def _project_id(ids: Mapping[str, str], url: str, project: str) -> str:
    """The id of a project, as names may hold what an address cannot."""
    if project in ids.values():
        return project
    if project not in ids:
        raise DataError(f"Phoenix at {url} has no project {project!r}{did_you_mean(project, ids)}")
    return ids[project]


def _columns(spans: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Spans by columns: one of each attribute that is no item of a list, and one of all others as JSON."""
    told = [span["attributes"] for span in spans]
    keys = Counter(key for each in told for key in each if not _INDEXED.search(key))
    named = dict(keys.most_common(_MOST_COLUMNS))
    rest = [{key: value for key, value in each.items() if key not in named} for each in told]
    return {
        **{f"context.{name}": [span["context"][name] for span in spans] for name in ("span_id", "trace_id")},
        **{name: [span[name] for span in spans] for name in _ITS},
        **{f"attributes.{key}": [each.get(key) for each in told] for key in named},
        "attributes": [json.dumps(each, ensure_ascii=False) for each in rest],
    }
