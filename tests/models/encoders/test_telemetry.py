"""No encoder reports its use to anyone: what is sent is counted in a network of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OFFLINE = Path(__file__).parents[3] / "scripts" / "campaign" / "offline"
WAIT = 14  # seconds: ONNX Runtime, left alone, asks for the address of its makers' server within ten
BUSY = 90  # seconds in which it does on a machine that is busy
SUPPRESS = ("ORT_DISABLE_TELEMETRY", "CI", "GITHUB_ACTIONS")  # with any of them it reports nothing
UNTIL_SENT = """
import time
from pathlib import Path

def count():
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(line.split()[10] for line in lines if line.split()[0] == "away:")

start, end = count(), time.monotonic() + BUSY
import onnxruntime
while count() == start and time.monotonic() < end:
    time.sleep(0.2)
"""
SCORE = """
import sys, time
import karat
from karat.models.encoders.machine import Machine, use_machine
for backend in ["onnx", "sentence-transformers"]:
    with use_machine(Machine(backend)):
        karat.metrics.semantic_similarity(["a"], ["b"], model=sys.argv[1])
time.sleep(WAIT)
"""


@pytest.fixture
def run_offline():
    """Run code in a network of its own. Gives what was printed."""
    unshare = shutil.which("unshare")
    if not (sys.platform == "linux" and shutil.which("ip") and unshare):
        pytest.skip("needs Linux, ip and unshare")
    if subprocess.run([unshare, "--net", "--map-root-user", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make a network of its own")

    def run(code, *words):
        environment = {name: value for name, value in os.environ.items() if name not in SUPPRESS}
        command = [str(OFFLINE), sys.executable, "-c", code, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()

    return run


def test_an_encoder_sends_nothing(run_offline, minilm):
    for package in ("onnxruntime", "tokenizers", "sentence_transformers"):
        pytest.importorskip(package)
    assert run_offline(SCORE.replace("WAIT", str(WAIT)), str(minilm)) == "packets sent beyond this machine: 0"


def test_onnx_runtime_left_alone_is_seen_to_send(run_offline):
    pytest.importorskip("onnxruntime", minversion="1.29")  # the first that reports
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_offline(UNTIL_SENT.replace("BUSY", str(BUSY)))
    assert re.search("packets sent beyond this machine: [1-9]", caught.value.stdout)
