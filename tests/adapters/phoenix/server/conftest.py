"""Phoenix servers: one that fails as a test asks it to, and a real one.

The real one is `$KARAT_PHOENIX`, else `.phoenix/bin/phoenix` as scripts/phoenix puts it.
"""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

import karat
from karat.models.governor.retry import RetryPolicy


class FakePhoenix:
    """`kept`: annotations by what Phoenix holds to be one. `faults`: what befalls the next requests, one each.

    A fault is a status, `(status, headers)`, "late" (kept, never answered in time) or "lost" (kept, never answered).
    """

    def __init__(self, unknown=(), poison=(), broken=()):
        self.kept, self.faults, self.requests = {}, [], []
        self.unknown, self.poison, self.broken = set(unknown), set(poison), set(broken)
        self.spans = []

    def answer(self, path, batch):
        """Keep a batch; a status and what is said."""
        if gone := sorted(self.unknown & {each["span_id"] for each in batch}):
            return 404, f"Spans with IDs {', '.join(gone)} do not exist."
        if self.broken & {each["span_id"] for each in batch}:
            return 500, "the server broke"
        if self.poison & {each["span_id"] for each in batch}:
            return 422, "something in it is wrong"
        for each in batch:
            place = each.get("document_position")
            assert (place is None) == path.endswith("span_annotations")
            self.kept[each["span_id"], each["name"], each.get("identifier"), place] = each
        return 200, json.dumps({"data": [{"id": str(number)} for number in range(len(batch))]})

    @contextmanager
    def serving(self, port=0):
        """The address it is served at, within it."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path, asked = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
                fake.requests.append((path, self.headers["Authorization"]))
                fault = fake.faults.pop(0) if fake.faults else None
                if path.endswith("projects"):
                    said = {"data": [{"name": "demo", "id": "UDE="}]}
                else:
                    start, most = int(asked.get("cursor", ["0"])[0]), int(asked["limit"][0])
                    said = {"data": fake.spans[start : start + most], "next_cursor": str(start + most)}
                self.send_response(fault or 200)
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

            def do_POST(self):
                batch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["data"]
                fake.requests.append(batch)
                fault = fake.faults.pop(0) if fake.faults else None
                status, headers = fault if isinstance(fault, tuple) else (fault, {})
                said = "no"
                if not isinstance(status, int):
                    status, said = fake.answer(urlsplit(self.path).path, batch)
                if fault == "lost":
                    self.connection.close()
                    return
                if fault == "late":
                    self.connection.recv(1)  # until the client gives up and closes the connection
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.encode())

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass

        with Server(("127.0.0.1", port), Handler) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_address[1]}"
            finally:
                server.shutdown()
                thread.join()


@pytest.fixture
def fake_phoenix():
    """The class of servers that fail on request."""
    return FakePhoenix


@pytest.fixture
def impatient(monkeypatch, tmp_path):
    """Short pauses and timeouts, and a working directory of its own for what is not sent."""
    from karat.adapters.phoenix.server import retry  # it needs httpx, which comes with Phoenix's client

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(retry, "RETRIES", RetryPolicy(4, first_pause=0.01, longest_pause=0.01))
    monkeypatch.setattr(retry, "TIMEOUT", 2.0)  # a busy machine answers within it


@pytest.fixture
def scored():
    """250 spans, of which the last has no reference."""
    rows = [{"span_id": f"{n:016x}", "prediction": "x y", "reference": "x" if n < 249 else None} for n in range(250)]
    return karat.score(rows, ["exact_match", "token_f1"])


PLACES = [Path(os.environ.get("KARAT_PHOENIX", "-")), Path(__file__).parents[4] / ".phoenix/bin/phoenix"]


class RealPhoenix:
    """A Phoenix on this machine, that can be killed and started again on what it kept."""

    def __init__(self, program, folder):
        self.program, self.folder, self.process = program, folder, None
        self.port, self.grpc = (_free_port() for _ in range(2))
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        import httpx  # which comes with Phoenix's client

        told = {"HOST": "127.0.0.1", "PORT": self.port, "GRPC_PORT": self.grpc, "WORKING_DIR": self.folder}
        told |= {"TELEMETRY_ENABLED": "false", "ALLOW_EXTERNAL_RESOURCES": "false", "DISABLE_AGENT_ASSISTANT": "true"}
        env = os.environ | {f"PHOENIX_{name}": str(value) for name, value in told.items()}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, "serve"], env=env, stdout=log, stderr=log, start_new_session=True
            )
        for _ in range(1800):
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            try:
                if httpx.get(f"{self.url}/healthz").is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def client(self):
        from phoenix.client import Client

        return Client(base_url=self.url)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    program = next((place for place in PLACES if place.is_file()), None)
    if program is None:
        pytest.skip("no Phoenix server: scripts/phoenix installs one")
    server = RealPhoenix(program, tmp_path_factory.mktemp("phoenix"))
    server.start()
    yield server
    server.kill()
