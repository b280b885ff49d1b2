"""An endpoint that cannot be used ends the run soon, with address, status and what to type; never with a key."""

import asyncio
import datetime as dt
import socket
import ssl
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.core.errors import KaratError, SpecError
from karat.models.batch.provider import Provider
from karat.models.encoders.endpoint import EmbeddingModel
from karat.models.governor.faults import ModelError, RequestError
from karat.models.governor.governor import Governor
from karat.models.governor.retry import RetryPolicy
from karat.models.openai.client import find_endpoint
from karat.models.openai.model import OpenAIModel
from karat.models.request import Request
from karat.models.testing.http import HttpResponse, LoopbackServer

KEY = "very-secret-key"
LONG = 15  # seconds: far more than one call takes, far less than a row may
PAGE = b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head></html>"
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def refuse(status, message=KEY, code=None):
    return HttpResponse.from_value({"error": {"message": message, "code": code}}, status=status)


def below_v1(request):
    return refuse(404, "no such path") if not request.path.startswith("/v1/") else refuse(500)


def offer(*names):
    def answer(request):
        if request.method == "GET":
            return HttpResponse.from_value({"data": [{"id": name} for name in names]})
        return refuse(404, "The model does not exist", "model_not_found")

    return answer


@contextmanager
def serving(answer):
    server = LoopbackServer(answer if callable(answer) else lambda _: answer)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


class Quiet(BaseHTTPRequestHandler):
    log_message = staticmethod(lambda *_: None)


@contextmanager
def plain(_):
    """A server that says so where it receives what is no HTTP."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def encrypted(folder):
    """A server that speaks TLS alone, with a certificate that nobody knows."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    built = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + dt.timedelta(1))
    pem = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "server.pem").write_bytes(
        key.private_bytes(pem, *plain) + built.sign(key, hashes.SHA256()).public_bytes(pem)
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    listening = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

    Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()


@contextmanager
def nobody(_):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield port


def look_up(found, host, *more, **options):
    """Nothing about a host that cannot be is asked beyond this machine."""
    if str(host).endswith(".invalid"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return found(host, *more, **options)


HTTP, HTTPS = "http://127.0.0.1:{port}/v1", "https://127.0.0.1:{port}/v1"
CASES = {
    "no /v1": (below_v1, "http://127.0.0.1:{port}", "HTTP 404", "try http://127.0.0.1:{port}/v1 as --base-url"),
    "too much of the path": (
        refuse(404),
        "http://127.0.0.1:{port}/api/v1/chat/completions",
        "HTTP 404",
        "try http://127.0.0.1:{port}/api/v1 as --base-url",
    ),
    "another path": (refuse(404), HTTP, "HTTP 404", "is http://127.0.0.1:{port}/v1 the base URL"),
    "a wrong key": (refuse(401), HTTP, "HTTP 401", "the key was read from OPENAI_API_KEY"),
    "a key without rights": (refuse(403), HTTP, "HTTP 403", "the key was read from OPENAI_API_KEY"),
    "no credit": (refuse(429, "no credit", "insufficient_quota"), HTTP, "HTTP 429", "no credit"),
    "a web page": (HttpResponse(PAGE), "http://127.0.0.1:{port}", "HTTP 200", "web page, not an API: try http"),
    "a web page of an error": (HttpResponse(PAGE, status=404), HTTP, "HTTP 404", "web page, not an API: is http"),
    "an empty reply": (HttpResponse(b""), HTTP, "HTTP 200", "it is empty"),
    "half of a reply": (HttpResponse(b'{"choices": ['), HTTP, "HTTP 200", "is http://127.0.0.1:{port}/v1 the base"),
    "a model that is spelled otherwise": (offer("small", "large"), HTTP, "HTTP 404", "did you mean 'small'?"),
    "a model that is not there": (offer("x1", "x2"), HTTP, "HTTP 404", "it has no model 'smal'; there are: x1, x2"),
    "another host": (
        HttpResponse(b"", status=307, headers="Location: http://localhost:1/v1\r\n"),
        HTTP,
        "redirects to another host, http://localhost:1",
        "set --base-url or OPENAI_BASE_URL to the address there",
    ),
    "an HTTPS port that says so": (
        HttpResponse(b"The plain HTTP request was sent to HTTPS port", status=400),
        HTTP,
        "HTTP 400",
        "set --base-url or OPENAI_BASE_URL to https://127.0.0.1:{port}/v1",
    ),
    "an HTTPS port": (encrypted, HTTP, "no complete reply", "to https://127.0.0.1:{port}/v1"),
    "an HTTP port": (
        plain,
        HTTPS,
        "no connection",
        "no TLS is spoken there: set --base-url or OPENAI_BASE_URL to http:",
    ),
    "an unknown certificate": (encrypted, HTTPS, "no connection", "set SSL_CERT_FILE"),
    "an unknown host": (nobody, "http://karat.invalid:{port}/v1", "no connection", "correct --base-url"),
    "no server": (nobody, HTTP, "no connection", "start the server, or correct the port"),
    "a closed port of HTTPS": (nobody, HTTPS, "no connection", "start the server, or correct the port"),
    "too long a prompt": (refuse(400, "maximum context length is 10"), HTTP, "HTTP 400", "shorten the row's texts"),
    "too many requests": (refuse(429, "slow down"), HTTP, "HTTP 429", "--concurrency N and --rpm N"),
}


async def ask(model):
    """The message in which one row, or the run, ends."""
    try:
        async with asyncio.timeout(LONG):
            request = Request([{"role": "user", "content": "?"}], SCHEMA)
            return (await Governor(attempts=1).ask(model, request)).text
    except RequestError as error:
        return f"{model.endpoint}: {error}"  # the report names the judge, with its model
    except KaratError as error:
        return str(error)


@pytest.mark.parametrize("name", CASES)
def test_the_message_says_where_what_and_what_to_type(name, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(socket, "getaddrinfo", partial(look_up, socket.getaddrinfo))
    server, url, what, remedy = CASES[name]
    with ExitStack() as stack:
        own = server in (plain, encrypted, nobody)
        port = stack.enter_context(server(tmp_path) if own else serving(server))
        url = url.format(port=port)
        message = asyncio.run(ask(OpenAIModel("smal", base_url=url, api_key=KEY)))
    assert url.removesuffix("/v1") in message
    assert what in message
    assert remedy.format(port=port) in message, message
    assert KEY not in message
    assert "object at 0x" not in message


def test_a_key_that_is_not_set_is_said():
    with serving(refuse(401)) as port:
        message = asyncio.run(ask(OpenAIModel("small", base_url=HTTP.format(port=port))))
    assert "set OPENAI_API_KEY (in Python, api_key=), which is empty" in message


@pytest.mark.parametrize("port", ["0", "65536", "99999", "9" * 5000])
def test_a_port_that_there_is_not_is_refused_at_once(port):
    with pytest.raises(SpecError, match="expected 1 to 65535") as raised:
        OpenAIModel("small", base_url=f"http://localhost:{port}/v1")
    assert len(str(raised.value)) < 200


def test_embeddings_and_batches_say_it_too():
    with serving(refuse(401)) as port:
        endpoint = find_endpoint("small", HTTP.format(port=port), KEY)
        work = (
            Governor(attempts=1).ask(EmbeddingModel(endpoint, "small"), Request([{"role": "user", "content": "?"}])),
            Provider(endpoint, RetryPolicy(1)).state("batch_1"),
        )
        for each in work:
            with pytest.raises(ModelError, match="the key was read from OPENAI_API_KEY"):
                asyncio.run(each)


def test_a_command_ends_after_three_pages(tmp_path, monkeypatch):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "?", "prediction": "a", "reference": "b"}\n')
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(HttpResponse(PAGE)) as port:
        words = f"score {rows} -m judge:correctness --model small --no-cache --base-url http://127.0.0.1:{port}"
        result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 1
    assert f"try http://127.0.0.1:{port}/v1 as --base-url or OPENAI_BASE_URL (attempts: 3)" in result.stderr
    assert KEY not in result.output
