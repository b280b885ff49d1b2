"""No encoder reports its use to anyone: what is sent is counted in a network of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OFFLINE = Path(__file__).parents[3] / "scripts" / "campaign" / "offline"
WAIT = 14  # seconds: ONNX Runtime, left alone, asks for the address of its makers' server within ten
SUPPRESS = ("ORT_DISABLE_TELEMETRY", "CI", "GITHUB_ACTIONS")  # with any of them it reports nothing
SCORE = """
import sys
import karat
for backend in ["onnx", "sentence-transformers"]:
    karat.metrics.semantic_similarity(["a"], ["b"], model=sys.argv[1], backend=backend)
"""


@pytest.fixture
def run_offline():
    """Run code, and wait, in a network of its own. Gives what was printed."""
    unshare = shutil.which("unshare")
    if not (sys.platform == "linux" and shutil.which("ip") and unshare):
        pytest.skip("needs Linux, ip and unshare")
    if subprocess.run([unshare, "--net", "--map-root-user", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make a network of its own")

    def run(code, *words):
        environment = {name: value for name, value in os.environ.items() if name not in SUPPRESS}
        command = [str(OFFLINE), sys.executable, "-c", f"{code}\nimport time\ntime.sleep({WAIT})", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()

    return run


def test_an_encoder_sends_nothing(run_offline, minilm):
    for package in ("onnxruntime", "tokenizers", "sentence_transformers"):
        pytest.importorskip(package)
    assert run_offline(SCORE, str(minilm)) == "packets sent beyond this machine: 0"


def test_onnx_runtime_left_alone_is_seen_to_send(run_offline):
    pytest.importorskip("onnxruntime", minversion="1.29")  # the first that reports
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_offline("import onnxruntime")
    assert "packets sent beyond this machine: " in caught.value.stdout
