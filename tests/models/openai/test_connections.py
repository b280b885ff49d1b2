"""Connections: kept alive, through proxies and TLS, to hosts with several addresses, and lost."""

import asyncio
import socket
import ssl
import threading
from contextlib import suppress

import pytest

from karat.models.openai import client, connections
from karat.models.openai.client import EndpointConnectionError, EndpointUnreachable
from karat.models.openai.connections import Connection, Connections, Origin, Route
from karat.models.openai.model import OpenAIModel

MESSAGES = [{"role": "user", "content": "2 + 2 = 4?"}]
YES = b'{"choices": [{"message": {"content": "yes"}}]}'
KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(YES), YES)


class Server:
    """Gives each connection the replies of a script, and counts connections and requests."""

    def __init__(self, *replies, context=None, tunnels=False):
        self._replies, self._context, self._tunnels = replies, context, tunnels
        self.accepted, self.heads = 0, []

    def __enter__(self):
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listening.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.accepted += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with suppress(OSError), connection:
            if self._tunnels:
                self._receive(connection)
                connection.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
            with self._context.wrap_socket(connection, server_side=True) if self._context else connection as talk:
                for reply in self._replies:
                    if not self._receive(talk):
                        return
                    talk.sendall(reply)

    def _receive(self, connection):
        asked = b""
        while b"\r\n\r\n" not in asked:
            if not (piece := connection.recv(1 << 16)):
                return False
            asked += piece
        head, _, body = asked.partition(b"\r\n\r\n")
        self.heads.append(head)
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                while len(body) < int(line.partition(b":")[2]):
                    if not (piece := connection.recv(1 << 16)):
                        return False
                    body += piece
        return True


def ask(url, times=1):
    async def calls():
        model = OpenAIModel("small", base_url=url)
        return [(await model(MESSAGES)).text for _ in range(times)]

    return asyncio.run(calls())


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """The context of a server whose certificate, for `models.invalid`, is trusted in this test."""
    x509 = pytest.importorskip("cryptography.x509")
    from datetime import UTC, datetime, timedelta

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("models.invalid"), x509.DNSName("localhost")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
        .add_extension(names, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM
    private = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path / "server.pem"
    file.write_bytes(certificate.public_bytes(form) + private)
    server, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context(cafile=file)
    server.load_cert_chain(file)
    monkeypatch.setattr(client, "_ssl_context", lambda: ours)
    for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    client._find_proxy.cache_clear()
    yield server
    client._find_proxy.cache_clear()


def test_calls_one_after_the_other_share_a_connection():
    with Server(KEPT, KEPT, KEPT) as server:
        assert ask(f"http://127.0.0.1:{server.port}/v1", 3) == ["yes"] * 3
    assert server.accepted == 1
    assert server.heads[0].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % server.port)


@pytest.mark.parametrize(
    "replies",
    [(KEPT,), (KEPT.replace(b"\r\n", b"\r\nConnection: close\r\n", 1), KEPT), (KEPT + b"unasked", KEPT)],
    ids=["closed in silence", "closed as announced", "with more than the reply"],
)
def test_a_connection_that_is_over_is_not_used_again(replies):
    async def calls(model):
        assert (await model(MESSAGES)).text == "yes"
        await asyncio.sleep(0.05)  # in which the end arrives
        assert (await model(MESSAGES)).text == "yes"

    with Server(*replies) as server:
        asyncio.run(calls(OpenAIModel("small", base_url=f"http://127.0.0.1:{server.port}/v1")))
    assert server.accepted == 2


def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch):
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.0)
    with Server(KEPT, KEPT) as server:
        assert ask(f"http://127.0.0.1:{server.port}/v1", 2) == ["yes"] * 2
    assert server.accepted == 2


def test_a_call_that_is_cancelled_leaves_no_connection_behind():
    async def call(port):
        pool = Connections()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await pool.request(
                    Route(Origin(secure=False, host="127.0.0.1", port=port)), [b"GET / HTTP/1.1\r\n"], 9, None
                )
        assert not pool._all
        assert not any(pool._idle.values())

    with Server(KEPT) as server:  # which waits for the rest
        asyncio.run(call(server.port))


def test_nothing_received_for_too_long_is_an_error(monkeypatch):
    monkeypatch.setattr(connections, "READ_SECONDS", 0.05)
    with Server(KEPT[:-3], b"") as server, pytest.raises(EndpointConnectionError, match="nothing was received"):
        ask(f"http://127.0.0.1:{server.port}/v1")


def test_an_endpoint_over_tls(trusted):
    with Server(KEPT, KEPT, context=trusted) as server:
        assert ask(f"https://localhost:{server.port}/v1", 2) == ["yes", "yes"]
        with pytest.raises(EndpointUnreachable, match="certificate"):  # which is for other names
            ask(f"https://127.0.0.1:{server.port}/v1")


def test_an_endpoint_over_tls_behind_a_proxy(trusted, monkeypatch):
    with Server(KEPT, KEPT, context=trusted, tunnels=True) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:p%40ss@127.0.0.1:{proxy.port}")
        assert ask("https://models.invalid/v1", 2) == ["yes", "yes"]
    tunnel, first, second = proxy.heads
    assert tunnel.startswith(b"CONNECT models.invalid:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwQHNz" in tunnel  # user:p@ss
    assert b"Authorization: Bearer" not in tunnel.replace(b"Proxy-Authorization", b"")
    for head in (first, second):
        assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: models.invalid\r\n")
        assert b"Proxy-" not in head


def test_the_next_address_of_a_host_is_tried_where_the_first_refuses(monkeypatch):
    async def addresses(_host, _port):
        return ["::1", "127.0.0.1"]

    monkeypatch.setattr(connections, "_resolve", addresses)
    with Server(KEPT) as server:
        assert ask(f"http://models.invalid:{server.port}/v1") == ["yes"]
    with pytest.raises(EndpointUnreachable, match=r"refused|Connect call failed"):
        ask("http://models.invalid:1/v1")


def test_many_calls_look_up_a_name_once(monkeypatch):
    asked = []

    async def addresses(host, _port):
        asked.append(host)
        await asyncio.sleep(0.01)
        return ["127.0.0.1"]

    async def calls(model):
        return await asyncio.gather(*(model(MESSAGES) for _ in range(20)))

    monkeypatch.setattr(connections, "_resolve", addresses)
    with Server(KEPT) as server:
        assert len(asyncio.run(calls(OpenAIModel("small", base_url=f"http://models.invalid:{server.port}/v1")))) == 20
    assert asked == ["models.invalid"]


def test_a_large_upload_is_written_as_fast_as_it_is_taken():
    async def call(port):
        route, parts = Route(Origin(secure=False, host="127.0.0.1", port=port)), [b"a" * (1 << 20)] * 20
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (20 << 20)
        written, write = [], Connection._write

        async def watched(self, parts, response):
            def watch():
                for part in parts:
                    written.append(self.transport.get_write_buffer_size())
                    yield part

            return await write(self, watch(), response)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Connection, "_write", watched)
            response = await Connections().request(route, [head, *parts], 1000, None)
        assert response.body == YES
        assert max(written) < 4 << 20

    with Server(KEPT) as server:
        asyncio.run(call(server.port))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://models.example/v1", "https://models.example"),
        ("http://models.example:8080", "http://models.example:8080"),
        ("http://[::1]:80/v1", "http://[::1]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_how_an_origin_is_written(url, said):
    assert str(Origin.of(url)) == said
