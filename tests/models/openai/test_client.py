"""HTTP requests to an endpoint: headers, proxies, certificates, redirects and errors."""

import asyncio
import os
import ssl
import subprocess
import sys

import pytest

from karat.core.errors import SpecError
from karat.models.context import use_governor
from karat.models.governor.faults import classify
from karat.models.governor.governor import Governor
from karat.models.openai import client
from karat.models.openai.client import EndpointConnectionError, EndpointError
from karat.models.openai.model import OpenAIModel
from karat.models.testing.fake import FakeServer
from karat.models.testing.http import HttpResponse, LoopbackServer

KEY = "very-secret-key"
MESSAGES = [{"role": "user", "content": "2 + 2 = 4?"}]


class Endpoint:
    """A server that records what it receives, and gives always the same response."""

    def __init__(self, response):
        self.received = []
        self._server = LoopbackServer(lambda request: self.received.append(request) or response)

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop()

    @property
    def address(self):
        return f"127.0.0.1:{self._server.port}"


def answer(text):
    return HttpResponse.from_value({"choices": [{"message": {"content": text}}]})


@pytest.fixture
def environment(monkeypatch):
    """Without any proxy; what is found is not remembered after the test."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    client._find_proxy.cache_clear()
    yield monkeypatch
    client._find_proxy.cache_clear()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(variable, environment):
    with Endpoint(answer("from the proxy")) as proxy:
        environment.setenv(variable, f"http://user:word@{proxy.address}")
        reply = asyncio.run(OpenAIModel("small", base_url="http://models.invalid/v1", api_key="k-123")(MESSAGES))
    assert reply.text == "from the proxy"
    (request,) = proxy.received
    assert (request.method, request.path) == ("POST", "http://models.invalid/v1/chat/completions")
    assert b"Authorization: Bearer k-123" in request.head
    assert b"Proxy-Authorization: Basic " in request.head


def test_a_proxy_without_a_scheme_is_an_http_proxy(environment):
    with Endpoint(answer("from the proxy")) as proxy:
        environment.setenv("HTTP_PROXY", proxy.address)
        reply = asyncio.run(OpenAIModel("small", base_url="http://models.invalid/v1")(MESSAGES))
    assert reply.text == "from the proxy"


def test_the_password_of_a_proxy_is_in_no_error(environment):
    with Endpoint(HttpResponse(b"", status=407)) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://user:word@{proxy.address}")
        with pytest.raises(EndpointConnectionError, match=r"407.*'http://127\.0\.0\.1") as raised:
            asyncio.run(OpenAIModel("small", base_url="https://models.invalid/v1", api_key=KEY)(MESSAGES))
    assert "word" not in str(raised.value)


def test_an_address_in_no_proxy_is_reached_directly(environment):
    environment.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    environment.setenv("NO_PROXY", "127.0.0.1")
    with FakeServer("yes") as server:
        assert asyncio.run(OpenAIModel("small", base_url=server.url)(MESSAGES)).text == "yes"


def test_a_socks_proxy_is_refused(environment):
    environment.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(SpecError, match=r"socks5://….*expected an http or https proxy"):
        asyncio.run(OpenAIModel("small", base_url="http://models.invalid/v1")(MESSAGES))


def test_certificates_of_certifi_are_trusted_and_checked():
    certifi, context = pytest.importorskip("certifi"), client._ssl_context()
    own = ssl.create_default_context(cafile=certifi.where())
    known = {each["serialNumber"] for each in context.get_ca_certs()}
    assert {each["serialNumber"] for each in own.get_ca_certs()} <= known
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_organization_and_project_of_the_environment_are_sent(environment):
    environment.setenv("OPENAI_ORG_ID", "org-1")
    environment.setenv("OPENAI_PROJECT_ID", "proj-1")
    with Endpoint(answer("yes")) as endpoint:
        asyncio.run(OpenAIModel("small", base_url=f"http://{endpoint.address}/v1")(MESSAGES))
    (request,) = endpoint.received
    for header in (b"OpenAI-Organization: org-1", b"OpenAI-Project: proj-1", b"Authorization: Bearer none"):
        assert header in request.head


@pytest.mark.parametrize("status", [418, 500])
def test_an_error_that_is_not_json_is_quoted_without_the_key(status):
    with Endpoint(HttpResponse(b"<p>very-secret-key is tired</p>", status=status)) as endpoint:
        model = OpenAIModel("small", base_url=f"http://{endpoint.address}/v1", api_key="very-secret-key")
        with pytest.raises(EndpointError) as raised:
            asyncio.run(model(MESSAGES))
    assert (raised.value.status_code, raised.value.body) == (status, None)
    assert classify(raised.value).message == f"HTTP {status}: <p>(key) is tired</p>"


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse(b"", status=307, headers="Location: /v1/chat/completions\r\n"),
        HttpResponse(b"", headers=f"X-Large: {'a' * 100_000}\r\n"),
        HttpResponse(b"not gzip", headers="Content-Encoding: gzip\r\n"),
        HttpResponse(b"", status=307, headers=f"Location: ftp://{KEY}/\r\n"),
    ],
    ids=["redirects without end", "a header too large", "a body that is not gzip", "a redirect that quotes the key"],
)
def test_a_reply_that_cannot_be_read_is_an_error_without_the_key(response):
    with Endpoint(response) as endpoint:
        model = OpenAIModel("small", base_url=f"http://{endpoint.address}/v1", api_key=KEY)
        with pytest.raises(EndpointConnectionError) as raised:
            asyncio.run(model(MESSAGES))
    error = raised.value
    assert classify(error).kind == "transient"
    for text in (str(error), repr(error.__cause__), repr(error.__context__)):  # aiohttp's errors hold the headers
        assert KEY not in text


def test_large_headers_of_gateways_are_accepted():
    large = HttpResponse(answer("yes").body, headers=f"Content-Security-Policy: {'a' * 30_000}\r\n")
    with Endpoint(large) as endpoint:
        assert asyncio.run(OpenAIModel("small", base_url=f"http://{endpoint.address}/v1")(MESSAGES)).text == "yes"


@pytest.mark.parametrize("end", ["?api-version=1", "/?api-version=1"])
def test_the_path_is_put_before_the_query_of_a_base_url(end):
    with Endpoint(answer("yes")) as endpoint:
        asyncio.run(OpenAIModel("small", base_url=f"http://{endpoint.address}/v1{end}")(MESSAGES))
    assert endpoint.received[0].path == "/v1/chat/completions?api-version=1"


def test_line_ends_around_url_and_key_are_removed(environment):
    with Endpoint(answer("yes")) as endpoint:
        environment.setenv("OPENAI_BASE_URL", f"http://{endpoint.address}/v1\n")
        environment.setenv("OPENAI_API_KEY", f"{KEY}\r\n")
        asyncio.run(OpenAIModel("small")(MESSAGES))
    assert f"Authorization: Bearer {KEY}\r\n".encode() in endpoint.received[0].head + b"\r\n"


@pytest.mark.parametrize("url", ["http://a host/v1", "http://host:port/v1", "http://user@host/v1", "http://[::1/v1"])
def test_a_base_url_that_is_not_valid_is_refused_at_once(url):
    with pytest.raises(SpecError, match="a base URL is"):
        OpenAIModel("small", base_url=url)


def test_a_key_of_two_lines_is_refused_and_not_quoted():
    with pytest.raises(SpecError, match="line break") as raised:
        OpenAIModel("small", api_key=f"{KEY}\n{KEY}")
    assert KEY not in str(raised.value)


def test_a_key_that_changes_in_the_environment_is_used(environment):
    with FakeServer("yes", key=KEY) as server:
        environment.setenv("OPENAI_BASE_URL", server.url)
        environment.setenv("OPENAI_API_KEY", "mistyped")
        with use_governor(Governor()) as models:
            wrong = models.connect("small")
            environment.setenv("OPENAI_API_KEY", KEY)
            right = models.connect("small")
            assert models.connect("small") is right
        with pytest.raises(EndpointError, match="Incorrect API key"):
            asyncio.run(wrong(MESSAGES))
        assert asyncio.run(right(MESSAGES)).text == "yes"


def test_a_redirect_to_another_server_is_refused_and_nothing_is_sent_there():
    with Endpoint(answer("yes")) as other:
        moved = HttpResponse(b"", status=307, headers=f"Location: http://{other.address}/{KEY}\r\n")
        with Endpoint(moved) as endpoint:
            model = OpenAIModel("small", base_url=f"http://{endpoint.address}/v1", api_key=KEY)
            with pytest.raises(SpecError, match=f"redirects to another host, http://{other.address}, where") as raised:
                asyncio.run(model(MESSAGES))
    assert not other.received
    assert KEY not in str(raised.value)
    assert classify(raised.value).kind == "fatal"


def test_a_redirect_within_a_server_is_followed_with_its_body():
    responses = [HttpResponse(b"", status=307, headers="Location: /v2/chat/completions\r\n"), answer("yes")]
    received = []
    server = LoopbackServer(lambda request: received.append(request) or responses[len(received) - 1])
    server.start()
    try:
        reply = asyncio.run(OpenAIModel("small", base_url=f"http://127.0.0.1:{server.port}/v1")(MESSAGES))
    finally:
        server.stop()
    assert reply.text == "yes"
    assert [request.path for request in received] == ["/v1/chat/completions", "/v2/chat/completions"]
    assert received[1].body == received[0].body


@pytest.mark.parametrize(("temperature", "text"), [(float("nan"), "a"), (0, "\ud800")])
def test_a_request_that_cannot_be_written_fails_its_row_and_is_not_sent(temperature, text):
    with FakeServer("yes") as server:
        model = OpenAIModel("small", base_url=server.url)
        with pytest.raises(ValueError, match=r"JSON|surrogates") as raised:
            asyncio.run(model([{"role": "user", "content": text}], None, {"temperature": temperature}))
        assert not server.calls
    assert classify(raised.value).kind == "row"


LIGHT = """
import asyncio, sys
from karat.models.openai.model import OpenAIModel
from karat.models.testing.fake import FakeServer
with FakeServer("yes") as server:
    model = OpenAIModel("small", base_url=server.url)
    assert asyncio.run(model([{"role": "user", "content": "?"}])).text == "yes"
assert not {"aiohttp", "openai", "httpx", "pydantic", "pyarrow", "pandas", "certifi"} & set(sys.modules)
"""


def test_a_call_imports_no_other_client():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


FORKED = """
import os, sys
from karat.models.event_loop import run_coroutine
from karat.models.openai.model import OpenAIModel
from karat.models.testing.fake import FakeServer

with FakeServer("yes") as server:
    model = OpenAIModel("small", base_url=server.url)
    def ask():
        return run_coroutine(model([{"role": "user", "content": "?"}]), drain=lambda: None).text
    ask()
    if not (child := os.fork()):
        assert ask() == "yes"
        from karat.models.openai.client import _sessions
        assert len(_sessions) == 1
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert ask() == "yes"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_its_own_connections_and_leaves_those_of_its_parent_alone():
    # Python threatens to fork no process with threads, and calls the parent's sockets unclosed when the child ends.
    allowed = ["ignore:This process:DeprecationWarning", "ignore:unclosed <socket:ResourceWarning"]
    command = [sys.executable, "-W", "error", *(part for each in allowed for part in ("-W", each)), "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
