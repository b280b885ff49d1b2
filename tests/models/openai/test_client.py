"""HTTP requests to an endpoint: headers, proxies, certificates, redirects and errors."""

import asyncio
import ssl
import subprocess
import sys

import pytest

from karat.core.errors import SpecError
from karat.models.governor.faults import classify
from karat.models.openai import client
from karat.models.openai.client import EndpointError
from karat.models.openai.model import OpenAIModel
from karat.models.testing.fake import FakeServer
from karat.models.testing.http import HttpResponse, LoopbackServer

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


def test_a_redirect_is_followed_with_its_body():
    with FakeServer("yes") as server:
        moved = HttpResponse(b"", status=307, headers=f"Location: {server.url}/chat/completions\r\n")
        with Endpoint(moved) as endpoint:
            reply = asyncio.run(OpenAIModel("small", base_url=f"http://{endpoint.address}/v1")(MESSAGES))
    assert reply.text == "yes"
    assert server.requests[0]["messages"] == MESSAGES


@pytest.mark.parametrize(("temperature", "text"), [(float("nan"), "a"), (0, "\ud800")])
def test_a_request_that_cannot_be_written_fails_its_row_and_is_not_sent(temperature, text):
    with FakeServer("yes") as server:
        model = OpenAIModel("small", base_url=server.url)
        with pytest.raises(ValueError, match=r"JSON|surrogates") as raised:
            asyncio.run(model([{"role": "user", "content": text}], None, {"temperature": temperature}))
        assert not server.calls
    assert classify(raised.value).kind == "row"


LIGHT = """
import sys, threading
from karat.models.openai.client import preload
from karat.models.openai.model import OpenAIModel
from karat.models.testing.fake import FakeServer
assert "aiohttp" not in sys.modules
preload()
for thread in threading.enumerate():
    if thread.name == "karat preload":
        thread.join()
assert "aiohttp" in sys.modules
import asyncio
with FakeServer("yes") as server:
    model = OpenAIModel("small", base_url=server.url)
    assert asyncio.run(model([{"role": "user", "content": "?"}])).text == "yes"
assert not {"openai", "httpx", "pydantic", "pyarrow", "pandas"} & set(sys.modules)
"""


def test_a_call_imports_aiohttp_and_no_other_client():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)
