"""Scores logged to Phoenix as annotations: what they say, and that none is lost or logged twice.

A real server is in test_phoenix_server.py; here one fails as it is told to.
"""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

pytest.importorskip("phoenix.client")

from karat.adapters.phoenix.server import retry as patience
from karat.adapters.phoenix.server.annotations import identifier
from karat.adapters.phoenix.server.connection import ServerError, spans
from karat.adapters.phoenix.server.outbox import NotLogged, log_annotations, send_annotations


class FakePhoenix:
    """`kept`: annotations by what Phoenix holds to be one. `faults`: what befalls the next requests, one each.

    A fault is a status, `(status, headers)`, "late" (kept, answered too late) or "lost" (kept, never answered).
    """

    def __init__(self, unknown=(), poison=()):
        self.kept, self.faults, self.requests = {}, [], []
        self.unknown, self.poison = set(unknown), set(poison)
        self.spans = []

    def answer(self, path, batch):
        """Keep a batch; a status and what is said."""
        if gone := sorted(self.unknown & {each["span_id"] for each in batch}):
            return 404, f"Spans with IDs {', '.join(gone)} do not exist."
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
                    time.sleep(0.6)
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


@pytest.fixture(autouse=True)
def impatient(monkeypatch, tmp_path):
    """No waiting, and a folder of its own for what is not sent."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(patience, "PAUSES", (0.01,) * 3)
    monkeypatch.setattr(patience, "TIMEOUT", 0.3)


@pytest.fixture
def scored():
    """250 spans, of which the last has no reference."""
    rows = [{"span_id": f"{n:016x}", "prediction": "x y", "reference": "x" if n < 249 else None} for n in range(250)]
    return karat.score(rows, ["exact_match", "token_f1"])


def logged_scores(fake, name="token_f1"):
    return {span: each["result"]["score"] for (span, called, *_), each in fake.kept.items() if called == name}


def test_scores_are_logged_with_what_tells_where_they_come_from(scored):
    fake = FakePhoenix()
    with fake.serving() as url:
        logged = log_annotations(scored, url)
    assert (logged.logged, logged.unscored) == (498, 2)
    assert logged_scores(fake) == {f"{n:016x}": pytest.approx(2 / 3) for n in range(249)}
    one = fake.kept["0" * 16, "exact_match", identifier(scored.metrics[0].signature), None]
    assert (one["annotator_kind"], one["result"]) == ("CODE", {"score": 0.0})
    assert one["metadata"] == {"signature": scored.metrics[0].signature, "direction": "maximize"}


def test_the_same_scores_logged_again_take_their_own_place_and_no_file_is_left(scored, tmp_path):
    fake = FakePhoenix()
    with fake.serving() as url:
        log_annotations(scored, url)
        before = dict(fake.kept)
        log_annotations(scored, url)
    assert fake.kept == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", [500, 502, 503, 429, (429, {"Retry-After": "0"}), "late", "lost"])
def test_what_passes_is_waited_for_and_nothing_is_there_twice(scored, fault):
    fake = FakePhoenix()
    fake.faults = [None, fault, fault, None, None, fault]
    with fake.serving() as url:
        assert log_annotations(scored, url).logged == 498
    assert len(fake.kept) == 498
    assert len(fake.requests) == 5 + 3


def test_a_server_that_goes_away_leaves_the_rest_in_a_file_that_can_be_sent(scored, tmp_path):
    fake = FakePhoenix()
    fake.faults = [None, None, *["lost"] * 4]
    with (
        fake.serving() as url,
        pytest.raises(NotLogged, match=r"does not answer(.|\n)*298 of 498.*karat annotate") as told,
    ):
        log_annotations(scored, url)
    kept_by_file = [json.loads(line) for line in told.value.path.read_text().splitlines()]
    assert len(kept_by_file) == 298
    with pytest.raises(NotLogged, match="298 of 298"):  # it is still away
        send_annotations(told.value.path, url)
    with fake.serving() as url:
        assert send_annotations(told.value.path, url).logged == 298
    assert len(fake.kept) == 498
    assert not list(tmp_path.iterdir())


def test_what_phoenix_does_not_know_is_named_and_holds_nothing_else_up(scored):
    fake = FakePhoenix(unknown=[f"{n:016x}" for n in (3, 77, 210)])
    with fake.serving() as url, pytest.raises(NotLogged, match=f"IDs {3:016x}, {77:016x} do not exist") as told:
        log_annotations(scored, url)
    assert {each["span_id"] for each in told.value.left} == fake.unknown
    assert len(fake.kept) == 492
    assert len(fake.requests) == 5 + 4  # the four batches with one in them are sent once more


def test_what_phoenix_refuses_is_found_by_halving(scored):
    fake = FakePhoenix(poison=[f"{130:016x}"])
    with fake.serving() as url, pytest.raises(NotLogged, match="something in it is wrong"):
        log_annotations(scored, url)
    assert len(fake.kept) == 496
    assert not fake.poison & {span for span, *_ in fake.kept}


@pytest.mark.parametrize(("status", "said"), [(401, "PHOENIX_API_KEY"), (404, "HTTP 404"), (405, "HTTP 405")])
def test_a_server_that_lets_nobody_in_is_not_asked_again(scored, status, said):
    fake = FakePhoenix()
    fake.faults = [status] * 9
    with fake.serving() as url, pytest.raises(NotLogged, match=said):
        log_annotations(scored, url)
    assert len(fake.requests) == 1


def test_ctrl_c_keeps_what_is_not_logged(scored, tmp_path):
    fake = FakePhoenix()

    def press(done, total):
        if done == 200:
            raise KeyboardInterrupt

    with fake.serving() as url, pytest.raises(KeyboardInterrupt):
        log_annotations(scored, url, outbox="left.jsonl", progress=press)
    assert len((tmp_path / "left.jsonl").read_text().splitlines()) == 298


def test_judges_say_label_explanation_and_model_and_annotate_documents_where_they_judge_each():
    model = FakeModel({"explanation": "It names Paris.", "label": "relevant"})
    judge = Judge("document_relevance", model=model, governor=Governor())
    short = Judge("conciseness", model=FakeModel({"explanation": "Short.", "label": "concise"}), governor=Governor())
    rows = [
        {
            "span_id": "a",
            "question": "?",
            "prediction": "Paris",
            "contexts": ["Paris", "Lyon", "Rome"],
            "context_spans": ["b", "b", "c"],
            "context_positions": [0, 1, 0],
        }
    ]
    fake = FakePhoenix()
    with fake.serving() as url:
        logged = log_annotations(karat.score(rows, [judge, short]), url)
    assert logged.logged == 5
    elsewhere = FakePhoenix()
    with elsewhere.serving() as url:  # these contexts are no span's
        log_annotations(
            karat.score([{**rows[0], "passages": ["x", "y", "z"]}], judge, map={"contexts": "passages"}), url
        )
    whole = {name: each for (span, name, _, place), each in fake.kept.items() if place is None}
    assert whole["judge:conciseness"]["result"] == {"score": 1.0, "label": "concise", "explanation": "Short."}
    assert whole["judge:conciseness"]["annotator_kind"] == "LLM"
    assert "model='fake'" in whole["judge:conciseness"]["metadata"]["signature"]
    assert not any(place is not None for *_, place in elsewhere.kept)
    documents = {(span, place): each["result"] for (span, _, _, place), each in fake.kept.items() if place is not None}
    expected = {"label": "relevant", "explanation": "It names Paris.", "score": 1.0}
    assert documents == dict.fromkeys([("b", 0), ("b", 1), ("c", 0)], expected)


def test_a_document_of_a_chain_and_of_its_retriever_has_the_verdict_of_its_own_row():
    def judged(messages):
        label = "relevant" if "the retriever's" in messages[-1]["content"] else "irrelevant"
        return {"explanation": "So it is.", "label": label}

    judge = Judge("document_relevance", model=FakeModel(judged), governor=Governor())
    place = {"contexts": ["Paris"], "context_spans": ["b"], "context_positions": [0]}
    rows = [{"span_id": each, "question": f"the {called}'s", **place} for each, called in
            (("a", "chain"), ("b", "retriever"), ("c", "agent"))]  # fmt: skip
    fake = FakePhoenix()
    with fake.serving() as url:
        assert log_annotations(karat.score(rows, judge), url).logged == 4
    assert [each["result"]["label"] for (*_, place), each in fake.kept.items() if place == 0] == ["relevant"]


def test_rows_must_say_which_span_they_are_of_and_no_two_may_be_of_one():
    with pytest.raises(karat.ColumnError, match="which span"):
        log_annotations(karat.score([{"prediction": "a", "reference": "a"}], "em"), "http://localhost:1")
    twice = [{"span_id": "s", "prediction": "a", "reference": "a"}] * 2
    with pytest.raises(karat.DataError, match="rows 1 and 2 are both of span s"):
        log_annotations(karat.score(twice, "em"), "http://localhost:1")


def test_frames_are_logged_and_what_is_missing_in_them_is_not():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "span_id": ["a", "b", "c"],
            "annotation_name": "mine",
            "annotator_kind": "LLM",
            "score": [0.5, None, None],
            "label": [None, "good", None],
            "explanation": [None, "why", "no verdict"],
            "metadata": [{"signature": "s"}, {}, {}],
        }
    )
    fake = FakePhoenix()
    with fake.serving() as url:
        logged = log_annotations(frame, url)
    assert (logged.logged, logged.unscored) == (2, 1)
    assert [each["result"] for each in fake.kept.values()] == [{"score": 0.5}, {"label": "good", "explanation": "why"}]


def test_scores_and_labels_of_frames_have_the_types_that_phoenix_takes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "span_id": ["a", "b"],
            "annotation_name": "n",
            "score": [True, False],
            "label": [1, "\ud83d"],
            "metadata": '{"k": 1}',
        }
    )
    fake = FakePhoenix()
    with fake.serving() as url:
        log_annotations(frame, url)
    assert [each["result"] for each in fake.kept.values()] == [
        {"score": 1.0, "label": "1"},
        {"score": 0.0, "label": "?"},
    ]
    assert {each["metadata"]["k"] for each in fake.kept.values()} == {1}


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("score", [1, "high"], "row 2: score: a number is expected, got 'high'"),
        ("annotator_kind", ["LLM", "model"], "row 2: annotator_kind 'model'"),
        ("metadata", [{}, "not JSON"], "row 2: metadata: an object is expected, got 'not JSON'"),
        ("span_id", ["a", "a"], "rows 1 and 2 are both 'n' of span a"),
    ],
)
def test_what_is_wrong_in_a_frame_is_told_by_row_before_anything_is_sent(tmp_path, column, values, said):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"span_id": ["a", "b"], "annotation_name": "n", "score": [1, 2]} | {column: values})
    with pytest.raises(karat.DataError, match=said):
        log_annotations(frame, "http://localhost:1")
    assert not list(tmp_path.iterdir())


def test_polars_frames_are_logged_too():
    frame = pytest.importorskip("polars").DataFrame({"span_id": ["a"], "annotation_name": ["n"], "score": [0.5]})
    fake = FakePhoenix()
    with fake.serving() as url:
        assert log_annotations(frame, url).logged == 1


def test_what_would_keep_scores_from_being_logged_is_told_before_anything_is_scored(tmp_path):
    with pytest.raises(karat.DataError, match="there cannot be written to"):
        log_annotations(
            karat.score([{"span_id": "s", "output": "a", "gold": "a"}], "em"), "http://a", outbox="there/it"
        )
    (tmp_path / "rows.jsonl").write_text('{"span_id": "s", "output": "a", "gold": "a"}')
    result = CliRunner().invoke(main, ["score", "rows.jsonl", "-m", "em", "--phoenix", "localhost:6006", "--annotate"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'localhost:6006' is no address of a Phoenix" in result.stderr


def test_a_file_that_holds_no_annotations_is_told_by_line(tmp_path):
    (tmp_path / "scored.parquet").write_bytes(b"PAR1\xcc\x00")
    with pytest.raises(karat.RowError, match=r"scored.parquet, line 1: .*utf-8"):
        send_annotations(tmp_path / "scored.parquet", "http://localhost:1")
    (tmp_path / "some.jsonl").write_text('{"span_id": "a"}\n')
    with pytest.raises(karat.RowError, match=r"some.jsonl, line 1: an annotation with name"):
        send_annotations(tmp_path / "some.jsonl", "http://localhost:1")


def test_the_command_says_what_is_left_and_leaves_with_its_own_code(scored, tmp_path):
    fake = FakePhoenix()
    fake.faults = ["lost"] * 4
    with fake.serving() as url, pytest.raises(NotLogged) as told:
        log_annotations(scored, url)
    fake.faults = [None, *[500] * 4]
    with fake.serving() as url:
        first = CliRunner().invoke(main, ["annotate", str(told.value.path), "--phoenix", url])
        second = CliRunner().invoke(main, ["annotate", str(told.value.path), "--phoenix", url])
    assert (first.exit_code, second.exit_code) == (5, 0)
    assert "398 of 498 annotations are not logged" in first.output
    assert "398 annotations logged" in second.output
    assert len(fake.kept) == 498


@pytest.mark.parametrize("press", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_loses_nothing(scored, tmp_path, press):
    fake = FakePhoenix()
    fake.faults = ["lost"] * 4
    with fake.serving() as url, pytest.raises(NotLogged) as told:
        log_annotations(scored, url)
    fake.requests, fake.faults = [], ["late"] * 5
    with fake.serving() as url:
        command = [sys.executable, "-m", "karat", "annotate", str(told.value.path), "--phoenix", url]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while len(fake.requests) < 3:
            time.sleep(0.01)
        process.send_signal(press)
        said = process.communicate()[1]
        left = len(told.value.path.read_text().splitlines())
        if press is not signal.SIGKILL:
            assert (process.returncode, left) == (128 + press, 298)
            assert f"karat annotate {told.value.path} --phoenix {url}" in said
        else:
            assert left == 498
        fake.faults = []
        send_annotations(told.value.path, url)
    assert len(fake.kept) == 498


def test_scores_of_exported_spans_are_shown_before_they_are_logged(tmp_path):
    spans = [{"span_id": f"{n}", "trace_id": "t", "span_kind": kind, "attributes": {"output.value": "a", "gold": "b"}}
             for n, kind in enumerate(["LLM", "LLM", "CHAIN"], 1)]  # fmt: skip
    (tmp_path / "spans.jsonl").write_text("\n".join(map(json.dumps, spans)))
    command = ["score", "spans.jsonl", "--kind", "LLM", "-m", "em", "--map", "reference=span_kind", "--annotate"]
    fake = FakePhoenix()
    fake.faults = [500] * 4
    with fake.serving() as url:
        left = CliRunner().invoke(main, [*command, "--phoenix", url])
        under = CliRunner().invoke(main, [*command, "--phoenix", url, "--fail-under", "0.5"])
    assert (left.exit_code, under.exit_code) == (5, 3)
    assert "exact_match" in left.stdout
    assert "2 of 2 annotations are not logged" in left.stderr
    assert "2 annotations logged" in under.stderr
    assert {span for span, *_ in fake.kept} == {"1", "2"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "Missing argument 'FILE'; or --phoenix URL"),
        (["a.jsonl", "--annotate"], "--phoenix URL says which"),
        (["a.jsonl", "--phoenix", "http://localhost:1"], "with FILE it goes with --annotate"),
        (["a.jsonl", "--project", "p"], "--project is about spans read from a running Phoenix"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(given, said):
    result = CliRunner().invoke(main, ["score", *given, "-m", "em"])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_a_wrong_address_is_told_at_once(monkeypatch):
    monkeypatch.setenv("PHOENIX_API_KEY", "secret")
    with pytest.raises(ServerError, match="does not answer"):
        spans("http://127.0.0.1:1", "demo")
    with pytest.raises(ServerError, match="no address"):
        spans("localhost:6006", "demo")
    fake = FakePhoenix()
    fake.faults = [401]
    with fake.serving() as url, pytest.raises(ServerError, match=r"HTTP 401.*PHOENIX_API_KEY"):
        spans(url, "demo")
    assert fake.requests == [("/v1/projects", "Bearer secret")]


def test_an_empty_project_is_told_with_the_others():
    fake = FakePhoenix()
    with (
        fake.serving() as url,
        pytest.raises(karat.DataError, match=r"'demo' at .* holds no spans; other projects: none"),
    ):
        spans(url, "demo")


def test_reading_goes_on_where_a_page_failed():
    fake = FakePhoenix()
    fake.faults = [None, None, 503, 500]
    fake.spans = [
        {
            "context": {"span_id": f"{n + 1:016x}", "trace_id": f"{n + 1:032x}"},
            **dict.fromkeys(("parent_id", "name", "end_time", "status_code", "status_message")),
            "span_kind": "LLM",
            "start_time": "2026-01-02T03:04:05+00:00",
            "attributes": {"input.value": f"Q{n}?", "output.value": "A" if n else 1, "metadata.gold": "A"},
        }
        for n in range(250)
    ]
    seen = []
    with fake.serving() as url:
        frame = spans(url, "demo", progress=lambda done, total: seen.append(done))
        result = karat.score(frame, "em", map={"reference": "attributes.metadata.gold"})
    assert (result.n, result.mapping["prediction"]) == (250, "prediction")
    assert result.table["span_id"].to_pylist() == [f"{n:016x}" for n in range(250, 0, -1)]
    assert seen == [100, 200, 250, 250]  # the last page is empty
