"""Spark Connect servers on this machine: Sail, which needs no Java, and Apache Spark where scripts/spark has put it."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import karat

APACHE = Path(__file__).parents[2] / ".spark"
SAIL = Path(__file__).parents[2] / "bench" / "sail.py"


@pytest.fixture(scope="module", autouse=True)
def interactive():
    """The parts of pyspark take a process without a main file, as pytest's workers are, for their own doctests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "ps1", ">>> ", raising=False)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_clouds():
    """Ray asks the addresses at which clouds describe a machine where it runs: through a proxy that does not exist."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("http_proxy", "http://127.0.0.1:9")
        patch.setenv("no_proxy", "localhost,127.0.0.1")
        yield


@pytest.fixture(scope="session")
def store(moto):
    """Machines of clusters know a store from the start; `s3` makes its bucket."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "an-access-key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-key")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_ENDPOINT_URL", moto.url)
        patch.setenv("AWS_REGION", "us-east-1")
        yield


@pytest.fixture(scope="session")
def serve(store):
    """Starts Sail, whose workers import karat as this process does, and the modules of a folder.

    It gives the process and its address.
    """

    @contextmanager
    def start(folder):
        with subprocess.Popen(
            [sys.executable, SAIL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(folder),
            text=True,
        ) as process:
            yield process, f"sc://127.0.0.1:{process.stdout.readline().strip()}"
            process.kill()

    return start


@pytest.fixture(scope="session")
def serve_apache(store):
    """Starts Apache Spark in the same way; the test skips where there is none."""

    @contextmanager
    def start(folder):
        if not (APACHE / "complete").exists() or shutil.which("java") is None:
            pytest.skip("needs scripts/spark and Java")
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        command = [APACHE / "pyspark" / "bin" / "spark-submit", "--master", "local[2]"]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.ui.enabled": "false",
        }
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        env = _environment(folder) | {"SPARK_HOME": str(APACHE / "pyspark"), "PYSPARK_PYTHON": sys.executable}
        log = folder / "apache.log"
        with (
            log.open("w") as output,
            subprocess.Popen([*command, "spark-internal"], stdout=output, stderr=output, env=env) as process,
        ):
            while process.poll() is None and "server started at" not in log.read_text():
                time.sleep(0.2)
            yield process, f"sc://127.0.0.1:{port}"
            process.kill()

    return start


def _environment(folder):
    path = os.pathsep.join([str(Path(karat.__file__).parents[1]), str(folder)])
    return {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
