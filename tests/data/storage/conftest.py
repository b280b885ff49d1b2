"""Stores on this machine, behind a server that fails when it should: moto's S3, and files over http."""

import http.client
import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

SLOW = 0.4


class FaultyServer:
    """Answers requests by `answer(method, path, headers, body)`, but for the next `faults` on paths with `match`.

    A fault is a status, `truncated` (half of the body), `reset` (no answer), `silent` (a body without its length) or
    `slow` (an answer after `SLOW` seconds); None is no fault.
    `requests` are the methods, paths and ranges that were asked for.
    """

    def __init__(self, answer: Callable) -> None:
        self.faults, self.match, self.requests = [], "", []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self):
                body = self._read_chunks() if "Transfer-Encoding" in self.headers else self._read_body()
                outer.requests.append((self.command, self.path, self.headers.get("Range")))
                fault = outer.faults.pop(0) if outer.faults and re.search(outer.match, self.path) else None
                if fault == "reset":
                    self.close_connection = True
                    return
                if fault == "slow":
                    time.sleep(SLOW)
                if isinstance(fault, int):
                    self._send(fault, {}, b"")
                    return
                status, headers, content = answer(self.command, self.path, dict(self.headers), body)
                self._send(status, headers, content, fault)

            def _read_body(self):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def _read_chunks(self):
                raw = b""
                while size := self.rfile.readline():
                    raw += size + self.rfile.read(int(size, 16) + 2)
                    if not int(size, 16):
                        return raw
                return raw

            def _send(self, status, headers, content, fault=None):
                self.send_response(status)
                sent = {"Content-Length": str(len(content))} | headers
                for name, value in sent.items():
                    if not (fault == "silent" and name.lower() == "content-length"):
                        self.send_header(name, value)
                with suppress(ConnectionError):  # nobody waits for it any more
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(content[: len(content) // 2] if fault == "truncated" else content)
                self.close_connection = fault is not None

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def web():
    """A server of the files in `web.files`, by name; with `web.ranged = False` it ignores ranges."""

    def answer(_method, path, headers, _body):
        name = path.partition("?")[0].strip("/")
        if name not in server.files:
            return 404, {}, b""
        content, wanted = server.files[name], headers.get("Range") if server.ranged else None
        about = {"ETag": f'"{hash(content)}"'}
        if wanted is None:
            return 200, about, content
        first, last = map(int, wanted.removeprefix("bytes=").split("-"))
        if first >= len(content):
            return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
        last = min(last, len(content) - 1)
        return 206, about | {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, content[first : last + 1]

    server = FaultyServer(answer)
    server.files, server.ranged = {}, True
    yield server
    server.stop()


@pytest.fixture(scope="session")
def moto():
    """A server that speaks S3, and its port."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def s3(moto, monkeypatch):
    """A store with an empty bucket, `lake`; `s3.client` is boto3's."""
    import boto3

    def answer(method, path, headers, body):
        connection = http.client.HTTPConnection("127.0.0.1", moto)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
        passed = {
            k: v
            for k, v in response.getheaders()
            if k.lower() not in ("connection", "transfer-encoding", "date", "server")
        }
        return response.status, passed, content

    server = FaultyServer(answer)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "an-access-key",
        "AWS_SECRET_ACCESS_KEY": "a-secret-key",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    server.client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{moto}")
    server.client.create_bucket(Bucket="lake")
    server.put = lambda key, content=b"x": server.client.put_object(Bucket="lake", Key=key, Body=content)
    yield server
    for file in server.client.list_objects_v2(Bucket="lake").get("Contents", []):
        server.client.delete_object(Bucket="lake", Key=file["Key"])
    server.stop()
