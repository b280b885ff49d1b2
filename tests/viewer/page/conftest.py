"""Runs to look at, and servers of the page over them, each in a process of its own."""

import json
import os
import socket
import subprocess
from http.client import HTTPConnection

import numpy as np
import pytest

import karat

N = 60


class Served:
    """`karat view` with these arguments; `address` is what it printed."""

    def __init__(self, python, *arguments, **environment):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        words = ["-m", "karat", "view", "--no-open", *arguments]
        self.process = python(*words, **pipes, env={**os.environ, **environment})
        self.address = self.process.stdout.readline().strip()
        self.host, _, self.token = self.address.removeprefix("http://").partition("/#token=")
        self.port = int(self.host.rpartition(":")[2] or 0)

    def raw(self, *lines, body=b""):
        """The status, the headers and the body that a request of these lines gets."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, content = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in rest), content

    def post(self, path, **data):
        """The status and the JSON of what an address answers."""
        headers = {"X-Karat-Token": self.token, "Content-Type": "application/json"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", path, json.dumps(data), headers)
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    def stop(self, signal=9):
        if self.process.poll() is None:
            self.process.send_signal(signal)
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


def rows(right):
    """Answers to questions about numbers; the answer is right where `right`."""
    return {
        "id": [f"q{row}" for row in range(N)],
        "question": [f"what is {row}?" for row in range(N)],
        "gold": [f"number {row}" for row in range(N)],
        "topic": ["odd" if row % 2 else "even" for row in range(N)],
        "size": [[row % 7 * 10.0, np.nan, None][(row % 5 == 0) + (row % 15 == 0)] for row in range(N)],
        "prediction": [None if row == 9 else f"number {row}" if ok else "a lie" for row, ok in enumerate(right)],
    }


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder with the runs `before` and `after`."""
    folder, random = tmp_path_factory.mktemp("runs"), np.random.default_rng(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder))
        for name, share in (("before", 0.4), ("after", 0.7)):
            karat.score(rows(random.random(N) < share), ["exact_match", "token_f1"], run=name, by="topic")
    return folder


@pytest.fixture(scope="session")
def serve(python):
    """Start `karat view` with some arguments, until the tests end."""
    started = []

    def start(*arguments, **environment):
        started.append(Served(python, *arguments, **environment))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def served(runs, serve):
    """The page over these runs, without labels."""
    return serve(runs)


@pytest.fixture(scope="session")
def ids(served):
    """The ids of both runs, by name."""
    return {run["name"]: run["id"] for run in served.post("/api/runs")[1]["runs"]}
