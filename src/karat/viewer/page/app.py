"""The addresses of the page: its own files, and under `/api/` what it asks for, as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from karat.core.errors import KaratError
from karat.viewer.page import figures, listing, people
from karat.viewer.page.guard import Refused, encode
from karat.viewer.page.labelling import AlreadyFinished, Labelling
from karat.viewer.page.query import Impossible, Query, Unknown
from karat.viewer.page.workspace import Workspace

TYPES: Mapping[str, str] = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_STATIC, _STYLE = Path(__file__).parent / "static", Path(__file__).parents[1] / "style.css"
PageAnswer: TypeAlias = Callable[[Workspace, Query], dict[str, Any]]

ANSWERS: Mapping[str, PageAnswer] = {
    "/api/runs": figures.list_runs,
    "/api/result": figures.show_values,
    "/api/provenance": figures.show_provenance,
    "/api/compare": figures.compare_runs,
    "/api/rank": figures.rank_runs,
    "/api/agreement": people.show_agreement,
    "/api/columns": listing.list_columns,
    "/api/rows": listing.list_rows,
    "/api/facets": listing.count_rows,
    "/api/curves": listing.draw_scores,
    "/api/row": listing.read_row,
}
_JSON = ("application/json", "application/json; charset=utf-8")
_OURS = "this is a mistake of karat; the terminal in which karat view runs has the details"


def make_app(space: Workspace) -> Starlette:
    """The application, without the guard that belongs in front of it."""
    answers = dict(ANSWERS)
    if space.labels is not None:
        labelling = Labelling(space.labels)
        answers |= {"/api/label/next": labelling.show, "/api/label": labelling.mark}
    routes = [Route(path, _post(space, answer), methods=["POST"]) for path, answer in answers.items()]
    files = {path.name: path for path in (*_STATIC.glob("*"), _STYLE) if path.suffix in TYPES}
    routes += [Route(f"/{name}", _file(path), methods=["GET"]) for name, path in files.items()]
    routes.append(Route("/", _file(_STATIC / "index.html"), methods=["GET"]))
    return Starlette(routes=routes, exception_handlers={HTTPException: _refuse})


def _file(path: Path) -> Callable[[Request], Response]:
    def send(_: Request) -> Response:
        return Response(path.read_bytes(), media_type=TYPES[path.suffix])

    return send


def _post(space: Workspace, answer: PageAnswer) -> Callable[[Request], Awaitable[Response]]:
    async def post(request: Request) -> Response:
        if request.headers.get("content-type", "").lower() not in _JSON:
            return _reply(415, {"error": "the content type application/json is expected"})
        try:
            data = json.loads(await request.body(), parse_constant=_refuse_constant)
            json.dumps(data, ensure_ascii=False).encode()  # half a character is in no row
        except Refused as refused:
            return _reply(refused.status, {"error": refused.reason})
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            return _reply(400, {"error": "a JSON object of whole characters is expected"})
        return await _answer(space, answer, data)

    return post


async def _answer(space: Workspace, answer: PageAnswer, data: Mapping[str, Any]) -> Response:
    """What a function answers, in a thread of its own; an error in plain words, without paths of this machine."""

    def work() -> bytes:
        return encode(answer(space, Query.read(data)))

    try:
        return Response(await run_in_threadpool(work), media_type="application/json")
    except Impossible as error:  # 200: a browser reports every other status as an error of the page
        return _reply(200, {"impossible": space.clean(str(error))})
    except AlreadyFinished as error:
        return _reply(409, {"error": space.clean(str(error)), **error.answer})
    except KaratError as error:
        return _reply(404 if isinstance(error, Unknown) else 400, {"error": space.clean(str(error))})
    except Exception:
        logging.getLogger("karat").exception("the page asked %s", answer.__name__)
        return _reply(500, {"error": _OURS})


async def _refuse(_: Request, error: Exception) -> Response:
    """An address or a method that does not exist."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _reply(status, {"error": "there is no such address" if status == 404 else "another method is expected"})


def _reply(status: int, answer: Mapping[str, Any]) -> Response:
    return Response(encode(answer), status, media_type="application/json")


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
