"""What to type when an endpoint does not answer as it should: `TABLE`, over the status and the text of the error."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

from karat.core.errors import did_you_mean
from karat.models.openai.body import UnreadableReply
from karat.models.openai.client import Endpoint, EndpointConnectionError, EndpointError, send

LIST_SECONDS = 5.0  # for the list of models, which only a message needs
LONGEST_NAME = 80  # characters of a model's name
_EMBEDS = re.compile(r"embed|(^|[/_-])(bge|e5|gte|minilm|gtr)[-_]", re.IGNORECASE)
_OTHER = re.compile(
    r"rerank|whisper|transcri|tts|speech|audio|realtime|dall-e|image|sora|moderation|(davinci|babbage)-002$",
    re.IGNORECASE,
)
"""Names of models that answer no chat, beside those that embed."""

_LOST = (None,)
_READ = tuple(range(200, 300))
_ANY = tuple(range(200, 600))

# Statuses (None without a reply), a pattern in "URL, line break, error", and what to type. The first row that fits
# counts. {set}: how the address is set; {tls} and {plain}: the address with https:// and http://; {address}: which
# address to try; {key}: where the key is from; {model}: what is wrong with the model's name, else as {address}.
TABLE = (
    (_LOST, r"^https:.*(wrong.version|record.layer|unexpected.eof)", "no TLS is spoken there: {set} {plain}"),
    (_LOST, r"certificate", "its certificate is not trusted: set SSL_CERT_FILE to a file of the authority's, in PEM"),
    (_LOST, r"gaierror|name resolution", "no host of this name is known: correct --base-url or OPENAI_BASE_URL"),
    (_LOST, r"refused|connect call failed", "nothing listens there: start the server, or correct the port"),
    (_LOST, r"redirects", "{address}"),
    (_LOST, r"^http:.*(reset|disconnected|bad status|expected http)", "if TLS is spoken there, {set} {tls}"),
    (_LOST, r"^https:.*(ssl|connection ?timeout)", "if no TLS is spoken there, {set} {plain}"),
    (_LOST, r"connection ?timeout", "correct the host or the port, or set HTTPS_PROXY if a proxy leads there"),
    (_ANY, r"^http:.*to (an )?https (server|port)", "{set} {tls}"),
    (_ANY, r"<!doctype html|<html", "this is a web page, not an API: {address}"),
    ((401,), "", "{key}"),
    ((402,), "", "the account has no credit: {key}"),
    ((403,), "", "the key may not do this: {key}"),
    (
        (400, 422),
        r"(unsupported|unrecogni[sz]ed|unknown|unexpected|extra) (\w+ ){0,2}(parameter|argument|field|input)",
        "leave out what it names, or change it: max_tokens, reasoning_effort and extra_body are settings of the judge",
    ),
    (
        (400, 413, 422),
        r"context.?(length|window|size)|maximum context|too (long|large)|too many (input )?tokens",
        "shorten the row's texts, or ask a model that takes longer ones",
    ),
    (
        (400, 422),
        r"model.*(not.found|not exist|unknown|invalid)|model \S+ is not supported|(unknown|invalid|no such) model",
        "{model}",
    ),
    ((404, 405), "", "{model}"),
    (_READ, r"returns: ''", "it is empty: {address}"),
    (_READ, "", "{address}"),
    ((429,), r"quota|billing|credit", "the account has no credit: {key}"),
    ((429, 503, 529), "", "--concurrency N and --rpm N make fewer calls"),
)


@asynccontextmanager
async def remedies(endpoint: Endpoint, model: str | None = None, *, embeds: bool = False) -> AsyncIterator[None]:
    """Errors of an endpoint that are raised in the block say in `remedy` what to type; `embeds`: the model's kind."""
    try:
        yield
    except (EndpointError, EndpointConnectionError, UnreadableReply) as error:
        error.remedy = endpoint.hide_key(await _find(endpoint, model, error, embeds))
        raise


async def _find(endpoint: Endpoint, model: str | None, error: Exception, embeds: bool) -> str:
    status = getattr(error, "status_code", None)
    text = f"{endpoint.url}\n{getattr(error, 'code', '')} {error}"
    rows = ((pattern, remedy) for statuses, pattern, remedy in TABLE if status in statuses)
    remedy = next((each for pattern, each in rows if re.search(pattern, text, re.IGNORECASE | re.DOTALL)), "")
    if "{model}" in remedy:
        remedy = await _name_models(endpoint, model, embeds, absent=status in (404, 405))
    place = urlsplit(endpoint.url)
    named = "OPENAI_API_KEY (in Python, api_key=)"
    values = {
        "set": "set --base-url or OPENAI_BASE_URL to",
        "tls": urlunsplit(place._replace(scheme="https")),
        "plain": urlunsplit(place._replace(scheme="http")),
        "key": f"set {named}, which is empty" if not endpoint.key else f"the key was read from {named}",
        "address": find_address(endpoint.url),
    }
    return re.sub(r"\{(\w+)\}", lambda name: values.get(name[1], name[0]), remedy)


def find_address(url: str) -> str:
    """What to try instead of a base URL at which there is no such API.

    >>> find_address("http://localhost:8000")
    'try http://localhost:8000/v1 as --base-url or OPENAI_BASE_URL'
    >>> find_address("http://localhost:8000/v1/chat/completions")
    'try http://localhost:8000/v1 as --base-url or OPENAI_BASE_URL'
    """
    place = urlsplit(url)
    path = re.sub(r"/(chat/completions|completions|embeddings|models)$", "", place.path.rstrip("/")) or "/v1"
    if path == place.path.rstrip("/"):
        return f"is {url} the base URL of an OpenAI-compatible API? It is set by --base-url or OPENAI_BASE_URL"
    return f"try {urlunsplit(place._replace(path=path))} as --base-url or OPENAI_BASE_URL"


async def _name_models(endpoint: Endpoint, model: str | None, embeds: bool, *, absent: bool) -> str:
    """That the endpoint has no such model, with the names of models of its kind; empty where it has it.

    Where it lists none, the address may be wrong if what was asked for is `absent`.
    """
    names: list[str] = []
    with suppress(Exception):  # the list is for a message alone
        async with asyncio.timeout(LIST_SECONDS):
            names = await send(endpoint, "GET", "/models", _read_names)
    if not names:
        return "{address}" if absent else ""
    if model is None or model in names:
        return ""
    fitting = [name for name in names if bool(_EMBEDS.search(name)) == embeds and (embeds or not _OTHER.search(name))]
    return f"it has no model {model!r}{did_you_mean(model, fitting, total=len(fitting))}"


def _read_names(reply: bytes | bytearray) -> list[str]:
    return [str(each["id"])[:LONGEST_NAME] for each in json.loads(reply)["data"]]
