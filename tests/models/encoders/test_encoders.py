"""Where a model comes from and what runs it: folders, the hub's cache, ONNX, torch, an endpoint."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.core.errors import SpecError
from karat.models.encoders.encoder import Choice
from karat.models.encoders.files import NotExported, find_files
from karat.models.encoders.machine import Machine
from karat.models.encoders.open import choose_backend, describe_backend, open_encoder
from karat.models.governor.faults import classify
from karat.models.testing.http import HttpResponse, LoopbackServer

TEXTS = ["a cat", "A cat was sitting on a mat, and so was the dog.", "Paris", "", "北京"]


@pytest.fixture
def hub(minilm, tmp_path, monkeypatch):
    """A hub's cache, as huggingface_hub lays it out, that holds the real model."""
    constants = pytest.importorskip("huggingface_hub.constants")
    repo, commit = tmp_path / "hub" / "models--someone--small", "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(minilm, repo / "snapshots" / commit, copy_function=lambda a, b: Path(b).symlink_to(a))
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return "someone/small", commit


def copy_model(minilm, folder):
    """The real model, where files may be changed."""
    shutil.copytree(minilm, folder)
    for file in folder.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)
    return folder


def test_a_model_of_the_hub_is_found_offline_with_its_commit(hub):
    name, commit = hub
    files = find_files(name)
    assert (files.commit, files.identity, files.cross) == (commit, f"{name}@{commit}", False)
    assert (files.max_length(None), files.max_length(100), files.pooling_mode) == (256, 100, "mean")
    assert files.onnx is None
    pytest.importorskip("sentence_transformers")
    made = open_encoder(Choice(name, machine=Machine("sentence-transformers"))).encode(TEXTS)
    assert made.rows.shape == (5, 384)


def test_the_token_is_that_of_the_environment(monkeypatch):
    asked = {}

    def download(name, **given):
        asked.update(given, name=name)
        raise OSError("offline")

    monkeypatch.setattr(pytest.importorskip("huggingface_hub"), "snapshot_download", download)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_API_TOKEN", "hf_one")
    with pytest.raises(SpecError, match="not a folder, and cannot be downloaded from the hub: offline"):
        find_files("all-MiniLM-L6-v2", "v2")
    assert (asked["name"], asked["revision"], asked["token"]) == (
        "sentence-transformers/all-MiniLM-L6-v2",
        "v2",
        "hf_one",
    )
    assert all(pattern.endswith((".json", ".txt", ".model")) for pattern in asked["allow_patterns"])


@pytest.mark.parametrize(
    ("name", "said"),
    [("./no/such", "no folder"), ("a/b/c", "no folder"), (".", "no config.json"), ("a-file", "is not a folder")],
)
def test_what_is_no_model_is_told(name, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    with pytest.raises(SpecError, match=said):
        find_files(name)


def test_offline_nothing_is_fetched(cache, monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SpecError, match="nobody/nothing"):
        find_files("nobody/nothing")


def test_both_back_ends_give_the_vectors_of_sentence_transformers(minilm):
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package)
    model = pytest.importorskip("sentence_transformers").SentenceTransformer(minilm, device="cpu")
    expected = model.encode(TEXTS)
    for backend in ("onnx", "sentence-transformers"):
        made = open_encoder(Choice(minilm, machine=Machine(backend))).encode(TEXTS)
        unit = made.rows / np.linalg.norm(made.rows, axis=1, keepdims=True)
        np.testing.assert_allclose(unit, expected, rtol=0, atol=1e-5)
        assert made.rows.dtype == np.float32
        assert not made.truncated.any()


def test_pooling_is_read_from_the_model(minilm, tmp_path):
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package)
    library, folder = pytest.importorskip("sentence_transformers"), copy_model(minilm, tmp_path / "cls")
    pooling = folder / "1_Pooling" / "config.json"
    told = json.loads(pooling.read_text()) | {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}
    pooling.write_text(json.dumps(told))
    expected = library.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    made = open_encoder(Choice(str(folder), machine=Machine("onnx"))).encode(TEXTS).rows
    np.testing.assert_allclose(made / np.linalg.norm(made, axis=1, keepdims=True), expected, rtol=0, atol=1e-5)


def test_a_model_is_exported_once_and_by_its_content(minilm, cache_folder, tmp_path):
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package)
    from karat.models.encoders.onnx_export import export

    first = export(find_files(minilm))
    made = first.stat().st_mtime_ns
    assert export(find_files(minilm)) == first
    assert first.stat().st_mtime_ns == made
    other = copy_model(minilm, tmp_path / "other")
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    assert find_files(str(other)).identity != find_files(minilm).identity


def test_a_shipped_onnx_file_is_taken_as_it_is(minilm, tmp_path, monkeypatch):
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package)
    from karat.models.encoders import onnx_export

    folder = copy_model(minilm, tmp_path / "ships")
    (folder / "onnx").mkdir()
    shutil.copy(onnx_export.export(find_files(minilm)), folder / "onnx" / "model.onnx")
    monkeypatch.setattr(onnx_export, "export", lambda _: pytest.fail("it ships one"))
    encoder = open_encoder(Choice(str(folder), machine=Machine("onnx")))
    expected = open_encoder(Choice(minilm, machine=Machine("sentence-transformers"))).encode(TEXTS).rows
    made = encoder.encode(TEXTS).rows
    cosines = (made * expected).sum(axis=1) / np.linalg.norm(made, axis=1) / np.linalg.norm(expected, axis=1)
    np.testing.assert_allclose(cosines, 1, atol=1e-5)


def test_a_model_that_cannot_be_exported_runs_in_torch(minilm, monkeypatch):
    for package in ("onnxruntime", "onnx", "sentence_transformers"):
        pytest.importorskip(package)
    from karat.models.encoders import onnx_export

    def refuse(files):
        raise NotExported(files.name)

    monkeypatch.setattr(onnx_export, "export", refuse)
    monkeypatch.setattr("karat.models.encoders.open.accelerator", lambda: None)
    assert "|torch|" in open_encoder(Choice(minilm, machine=Machine(batch_size=3))).identity
    with pytest.raises(NotExported):
        open_encoder(Choice(minilm, machine=Machine("onnx", batch_size=3)))


NO_TORCH = """
import sys
from karat.metrics import semantic_similarity
print(semantic_similarity(["a cat"], ["a dog"], model=sys.argv[1]).to_pylist(), file=sys.stderr)
assert "onnxruntime" in sys.modules
assert not {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
"""


def test_onnx_runtime_needs_no_torch(minilm, monkeypatch):
    for package in ("onnxruntime", "onnx"):
        pytest.importorskip(package)
    open_encoder(Choice(minilm, machine=Machine("onnx")))  # which exports it
    subprocess.run([sys.executable, "-c", NO_TORCH, minilm], check=True)


def test_a_part_that_onnx_does_not_know_leaves_the_model_to_torch(minilm, tmp_path, monkeypatch):
    folder = copy_model(minilm, tmp_path / "dense")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    monkeypatch.setattr("karat.models.encoders.open.accelerator", lambda: None)
    assert choose_backend(Choice(str(folder)), find_files(str(folder))) == "sentence-transformers"


def test_auto_takes_torch_for_an_accelerator_and_for_other_dtypes(minilm, monkeypatch):
    for package in ("onnxruntime", "onnx", "torch"):
        pytest.importorskip(package)
    files = find_files(minilm)
    monkeypatch.setattr("karat.models.encoders.open.accelerator", lambda: None)
    assert choose_backend(Choice(minilm), files) == "onnx"
    assert choose_backend(Choice(minilm, dtype="bfloat16"), files) == "sentence-transformers"
    assert "ONNX Runtime" in describe_backend()
    monkeypatch.setattr("karat.models.encoders.open.accelerator", lambda: "cuda")
    assert choose_backend(Choice(minilm), files) == "sentence-transformers"
    assert choose_backend(Choice(minilm, machine=Machine(device="cpu")), files) == "onnx"
    with pytest.raises(SpecError, match="in float32"):
        choose_backend(Choice(minilm, machine=Machine("onnx", device="cuda")), files)


def test_a_window_wider_than_the_model_is_refused(minilm):
    with pytest.raises(SpecError, match="512 tokens"):
        find_files(minilm).max_length(513)


class Embeddings(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint: a text's vector is its length and how many a's it has; it refuses `bad`."""

    asked: list = []  # noqa: RUF012
    plain = False

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body["input"])
        if any("bad" in text for text in body["input"]):
            return self.reply(400, {"error": {"message": "bad text", "code": "content_filter"}})
        rows = [[float(len(text)), float(text.count("a"))] for text in body["input"]]
        made = rows if self.plain else [base64.b64encode(np.array(r, "<f4").tobytes()).decode() for r in rows]
        data = [{"index": place, "embedding": row} for place, row in enumerate(made)]
        return self.reply(200, {"data": data[::-1], "usage": {"prompt_tokens": 3}})

    def reply(self, status, said):
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture(params=[False, True], ids=["base64", "floats"])
def endpoint(request, monkeypatch):
    Embeddings.plain, Embeddings.asked = request.param, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Embeddings)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    yield Embeddings.asked
    server.shutdown()
    server.server_close()


def test_an_endpoint_is_asked_in_batches_and_one_bad_text_is_alone(endpoint):
    from karat.models.encoders.endpoint import EndpointEncoder

    encoder = EndpointEncoder(Choice("small", endpoint=True, machine=Machine(batch_size=4)))
    assert encoder.encode(["a", "bb", "ccc"]).rows.tolist() == [[1, 1], [2, 0], [3, 0]]
    assert endpoint == [["a", "bb", "ccc"]]
    with pytest.warns(UserWarning, match="1 texts got no vector.*bad text"):
        rows = encoder.encode(["aa", "b", "bad", "c", "d", "ea"]).rows
    assert np.isnan(rows[2]).all()
    assert rows[[0, 1, 3, 4, 5]].tolist() == [[2, 2], [1, 0], [1, 0], [1, 0], [2, 1]]


@pytest.mark.parametrize("text", ["<p>Bad gateway</p>", "{}", '{"data": []}', "[]"])
def test_a_reply_without_vectors_may_be_better_the_next_time(text):
    from karat.models.encoders.endpoint import EmbeddingModel
    from karat.models.openai.body import UnreadableReply
    from karat.models.openai.client import Endpoint

    server = LoopbackServer(lambda _: HttpResponse(text.encode()))
    server.start()
    model = EmbeddingModel(Endpoint(f"http://127.0.0.1:{server.port}/v1", ""), "small")
    with pytest.raises(UnreadableReply, match="/embeddings") as raised:
        asyncio.run(model([{"role": "user", "content": "a"}], None, {}))
    server.stop()
    assert classify(raised.value).kind == "transient"


def test_similarity_by_an_endpoint(endpoint, cache):
    from karat.metrics import semantic_similarity

    metric = semantic_similarity.using(model="small", endpoint=True)
    scores = metric(["aa", "b"], ["a", "aa"]).to_pylist()
    assert scores == pytest.approx([1.0, 2**-0.5])
    asked = len(endpoint)
    assert metric(["aa", "b"], ["a", "aa"]).to_pylist() == scores
    assert len(endpoint) == asked
    with pytest.raises(SpecError, match="revision is not a setting"):
        metric(["a"], ["b"], revision="main")


def by_endpoint(*words, code=0):
    spec = "semantic_similarity(endpoint=true, model=small)"
    result = CliRunner().invoke(main, ["score", "answers.jsonl", "-m", spec, "--batch-size", "1", *words])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def answers(tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    rows = [{"prediction": "a" * n, "reference": "a" * n + "b"} for n in range(1, 4)]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_the_limits_of_a_command_reach_its_embeddings(endpoint, answers):
    quoted = by_endpoint("--dry-run", "--price", "1000,1")
    assert quoted.stdout.startswith("6 calls, of which 0 are in the cache")
    assert ", 0 out; about $0.0" in quoted.stdout
    assert endpoint == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        capped = by_endpoint("--max-calls", "4", "--concurrency", "1", code=6)
        assert len(endpoint) == 4
        assert "models: 4 calls" in capped.stderr
        assert "2 not asked" in capped.stderr
        by_endpoint("--resume", "--max-calls", "4", "--concurrency", "1", code=6)
        assert len(endpoint) == 4  # those of the run so far count
    assert "models: 2 calls" in by_endpoint().stderr
    assert sorted(endpoint) == [["a"], ["aa"], ["aaa"], ["aaab"], ["aab"], ["ab"]]


def test_the_endpoint_of_a_command_is_that_of_its_embeddings(endpoint, answers, monkeypatch):
    url = os.environ["OPENAI_BASE_URL"]
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert "models: 6 calls" in by_endpoint("--base-url", url).stderr
    assert len(endpoint) == 6
