"""Replies that are larger than any answer, also once they are decoded, cost little memory and say so."""

import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import zlib
from contextlib import suppress
from functools import cache

import pytest

from karat.core.errors import KaratError
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.request import Request

MEMORY = 1 << 30
ANSWER = json.dumps({"choices": [{"message": {"content": "yes"}}]}).encode()
HEAD = b"HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: application/json\r\n%s\r\n"


@cache
def bomb(window, mebibytes=64):
    """So many MiB of spaces, compressed to a thousandth."""
    deflate = zlib.compressobj(1, wbits=window)
    mebibyte = b" " * (1 << 20)
    return b"".join(deflate.compress(mebibyte) for _ in range(mebibytes)) + deflate.flush()


def chunked(piece=b" " * (1 << 20)):
    while True:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


def coded(name, body):
    return b"200 OK", b"Content-Encoding: %s\r\nContent-Length: %d\r\n" % (name, len(body)), iter([body])


def endless(status=b"200 OK", headers=b""):
    return status, headers + b"Transfer-Encoding: chunked\r\n", chunked()


REPLIES = {
    "ten gigabytes": lambda: (b"200 OK", b"Content-Length: 10000000000\r\n", iter(lambda: b" " * (1 << 20), b"")),
    "endless chunks": endless,
    "endless events": lambda: (
        b"200 OK",
        b"Transfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n",
        chunked(b"data: {}\n\n" * 1000),
    ),
    "gzip": lambda: coded(b"gzip", bomb(31, 600)),
    "zlib": lambda: coded(b"deflate", bomb(15)),
    "deflate": lambda: coded(b"deflate", bomb(-15)),
    "br": lambda: coded(b"br", b"\xcb" * 1000),
    "zstd": lambda: coded(b"zstd", b"\x28\xb5\x2f\xfd" * 1000),
    "two codings": lambda: coded(b"gzip, gzip", gzip.compress(bomb(31))),
    "endless error": lambda: endless(b"500 Oops"),
    "endless refusal": lambda: endless(b"401 No"),
    "a refusal in gzip": lambda: (b"401 No", *coded(b"gzip", bomb(31))[1:]),
    "deep": lambda: (b"200 OK", b"Content-Length: 3000000\r\n", iter([b"[" * 3_000_000])),
    "objects": lambda: (b"200 OK", b"Content-Length: 3000000\r\n", iter([b"[" + b"{}," * 999_999 + b"1]"])),
}


@pytest.fixture
def server():
    """A server whose reply to any request under /KIND is that of this kind; any other is not found."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)

    def receive(connection):
        if not (piece := connection.recv(65536)):
            raise ConnectionError  # it was closed: else this would ask for ever
        return piece

    def serve(connection):
        with connection, suppress(OSError):
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += receive(connection)
            length = re.search(rb"content-length: *(\d+)", asked, re.IGNORECASE)
            while length and len(asked.partition(b"\r\n\r\n")[2]) < int(length[1]):
                asked += receive(connection)
            kind = asked.split(b" ")[1].split(b"/")[1].decode().replace("%20", " ")
            status, headers, body = REPLIES.get(kind, lambda: endless(b"404 No"))()
            connection.sendall(HEAD % (status, headers))
            for piece in body:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1 << 20)

    def accept():
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()


ASK = """
import asyncio, json, resource, sys
from karat.models.batch.provider import Provider
from karat.models.governor.governor import Governor
from karat.models.governor.retry import RetryPolicy
from karat.models.openai.model import OpenAIModel
from karat.models.request import Request

resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
RetryPolicy.pause = lambda *_: 0.001
url, *kinds = sys.argv[1:]
said = {}
for kind in kinds:
    model = OpenAIModel("m", base_url=f"{url}/{kind.replace(' ', '%20')}/v1", structured="text")
    governor = Governor(attempts=2)
    try:
        governor.map(lambda _: governor.ask(model, Request([{"role": "user", "content": "?"}])), range(4))
    except Exception as error:
        said[kind] = f"{type(error).__name__}: {error}"
    if kind not in ("ten gigabytes", "gzip"):
        continue
    provider = Provider(model.address, RetryPolicy(1, 0.001, 0.001))
    try:
        asyncio.run(provider.download("file-1"))
    except Exception as error:
        said[f"{kind}, a file"] = f"{type(error).__name__}: {error}"
status = open("/proc/self/status").read().split()
print(json.dumps(said | {"peak": int(status[status.index("VmHWM:") + 1]) >> 10}))  # ru_maxrss has the parent's, too
"""


def test_no_reply_takes_more_memory_than_its_limit(server):
    program = ASK.replace("MEMORY", str(MEMORY))
    done = subprocess.run(  # noqa: PLW1510  (its status is asserted)
        [sys.executable, "-c", program, server, *REPLIES], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    peak = said.pop("peak")
    assert peak < 800
    assert not [each for each in said.values() if "MemoryError" in each]
    for kind in ("ten gigabytes", "endless chunks", "endless events", "gzip", "zlib", "deflate"):
        assert "larger than 4 MiB" in said[kind]
    for kind in ("ten gigabytes", "gzip"):
        assert "larger than 512 MiB" in said[f"{kind}, a file"]
    for kind in ("br", "zstd", "two codings"):
        assert "expected one of gzip, deflate, or none" in said[kind]
    assert "HTTP 500" in said["endless error"]
    for kind in ("endless refusal", "a refusal in gzip"):
        assert "HTTP 401" in said[kind]
        assert "OPENAI_API_KEY" in said[kind]
    for kind in ("deep", "objects"):
        assert "not what /chat/completions returns" in said[kind]


def test_an_endless_list_of_models_does_not_keep_a_message_from_its_reader(server):
    model = OpenAIModel("m", base_url=f"{server}/none/v1", structured="text")
    governor = Governor()
    with pytest.raises(ModelError, match="HTTP 404"):
        governor.map(lambda _: governor.ask(model, Request([{"role": "user", "content": "?"}])), [1])


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", gzip.compress(ANSWER)),
        (b"X-GZIP", gzip.compress(ANSWER)),
        (b"deflate", zlib.compress(ANSWER)),
        (b"deflate", zlib.compress(ANSWER)[2:-4]),
        (b"identity", ANSWER),
    ],
    ids=["gzip", "x-gzip", "zlib", "deflate", "identity"],  # else names hold the time that gzip writes
)
def test_a_compressed_answer_is_read(server, monkeypatch, coding, body):
    monkeypatch.setitem(REPLIES, "answer", lambda: coded(coding, body))
    model = OpenAIModel("m", base_url=f"{server}/answer/v1", structured="text")
    governor = Governor()
    (reply,) = governor.map(lambda _: governor.ask(model, Request([{"role": "user", "content": "?"}])), [1])
    assert reply.text == "yes"


def test_a_damaged_compressed_answer_says_so(server, monkeypatch):
    monkeypatch.setitem(REPLIES, "answer", lambda: coded(b"gzip", b"\x1f\x8b\x07" + bytes(40)))
    model = OpenAIModel("m", base_url=f"{server}/answer/v1", structured="text")
    governor = Governor(attempts=1)
    with pytest.raises(KaratError, match="no complete reply"):
        governor.map(lambda _: governor.ask(model, Request([{"role": "user", "content": "?"}])), [1])
