"""Scores as a server takes them that knows what Langfuse's public API does of `/api/public/ingestion`."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import karat
from karat.adapters.langfuse import send_scores
from karat.core.errors import ColumnError, DataError

ROWS = {
    "trace_id": ["t1", "t2", "t3"],
    "observationId": ["o1", None, "o3"],
    "prediction": ["a b", "a", None],
    "reference": ["a b", "a c", "a"],
}
BODY = {
    "id": str,
    "traceId": str,
    "name": str,
    "value": (float, str),
    "dataType": str,
    "observationId": str,
    "comment": str,
}


class Langfuse(BaseHTTPRequestHandler):
    """Keeps scores by id, and refuses what the API does not know."""

    scores, faults = {}, []

    def do_POST(self):
        events = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["batch"]
        expected = "Basic " + base64.b64encode(b"pk:sk").decode()
        status = self.faults.pop() if self.faults else 207 if self.headers["Authorization"] == expected else 401
        reply = {"successes": [], "errors": []}
        for event in events if self.path == "/api/public/ingestion" and status == 207 else ():
            body = event["body"]
            known = all(isinstance(value, BODY[name]) for name, value in body.items())
            typed = isinstance(body["value"], str) == (body["dataType"] == "CATEGORICAL")
            good = event["type"] == "score-create" and {"id", "timestamp"} <= set(event) and known and typed
            if good and body["traceId"] != "unknown":
                self.scores[body["id"]] = body
            reply["successes" if good and body["traceId"] != "unknown" else "errors"].append(
                {"id": event["id"], "status": 201 if good else 400, "message": "no such trace"}
            )
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Langfuse) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Langfuse.scores, Langfuse.faults = {}, []
        monkeypatch.setenv("LANGFUSE_HOST", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
        yield Langfuse
        server.shutdown()


def test_each_row_and_metric_is_a_score_of_its_trace_and_sending_again_replaces_it(server):
    result = karat.score(ROWS, ["exact_match", "token_f1"])
    assert send_scores(result) == send_scores(result) == 4
    scores = sorted(server.scores.values(), key=lambda score: (score["name"], score["traceId"]))
    assert [(score["name"], score["traceId"], score.get("observationId")) for score in scores] == [
        *(("exact_match", trace, span) for trace, span in (("t1", "o1"), ("t2", None))),
        *(("token_f1", trace, span) for trace, span in (("t1", "o1"), ("t2", None))),
    ]
    assert [score["value"] for score in scores[:2]] == [1.0, 0.0]
    own = {"id" if name == "trace_id" else name: values for name, values in ROWS.items()}
    assert send_scores(karat.score(own, "exact_match"), trace="id") == 2
    assert len(server.scores) == 4, "the same ids again"


def test_a_verdict_is_a_number_a_label_and_a_comment(server, tmp_path):
    rows = [{"trace_id": "t1", "judge:correctness": 0.5, "judge:correctness.label": "partly",
             "judge:correctness.explanation": "Half of it."}]  # fmt: skip
    (tmp_path / "scored.jsonl").write_text(json.dumps(rows[0]))
    assert send_scores(tmp_path / "scored.jsonl") == 2
    assert {(score["name"], score["value"], score["comment"]) for score in server.scores.values()} == {
        ("judge:correctness", 0.5, "Half of it."),
        ("judge:correctness.label", "partly", "Half of it."),
    }


def test_a_busy_server_is_asked_again_and_a_refusal_is_told(server, monkeypatch):
    monkeypatch.setattr("karat.models.governor.retry.RetryPolicy.pause", lambda *_: 0.0)
    result = karat.score(ROWS, "exact_match")
    server.faults = [503, 429]
    assert send_scores(result) == 2
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "other")
    with pytest.raises(DataError, match="did not take the scores: HTTP 401"):
        send_scores(result)


def test_scores_that_were_not_taken_and_what_is_missing_are_told(server, monkeypatch):
    with pytest.raises(DataError, match="did not take 1 of 2 scores, the first because: no such trace"):
        send_scores(karat.score({**ROWS, "trace_id": ["t1", "unknown", "t3"]}, "exact_match"))
    with pytest.raises(ColumnError, match="no column holds the id of each row's trace"):
        send_scores(karat.score({name: ROWS[name] for name in ("prediction", "reference")}, "exact_match"))
    with pytest.raises(ColumnError, match="there is no column 'trace'; did you mean 'trace_id'"):
        send_scores(karat.score(ROWS, "exact_match"), trace="trace")
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    with pytest.raises(DataError, match="LANGFUSE_SECRET_KEY is not set"):
        send_scores(karat.score(ROWS, "exact_match"))
