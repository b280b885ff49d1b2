"""No test reaches beyond this machine, and real data is used where it is present."""

import gc
import json
import os
import signal
import socket
from pathlib import Path

import pytest

DATA = Path(__file__).parents[1] / "shared" / "data"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # tests import ONNX Runtime themselves
os.environ.pop("COLUMNS", None)  # tests on all cores run with that of the terminal, and what they print is for a pipe
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores Ctrl-C in what it starts in the background


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage while tests are collected, and never look again at what they leave: both took seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def real_data():
    """The folder of real predictions and gold, beside the project; tests that need it skip where it is not."""

    def folder(name):
        if not (DATA / name).is_dir():
            pytest.skip(f"{name} is not here")
        return DATA / name

    return folder


@pytest.fixture
def expected(real_data):
    return lambda name: json.loads((real_data(name) / "expected.json").read_text())


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Connecting anywhere but to this machine fails the test."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test wanted to connect to {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
