"""Events of a run's rows, as a collector receives them over OTLP."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import karat
from karat.core.errors import ColumnError, DataError

pytest.importorskip("opentelemetry.exporter.otlp.proto.http._log_exporter")
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from karat.adapters.opentelemetry import send_results

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ROWS = {
    "trace_id": [TRACE, None, None],
    "span_id": [SPAN, None, None],
    "response_id": [None, "resp-2", None],
    "prediction": ["a b", "a", None],
    "reference": ["a b", "a c", "a"],
}


class Collector(BaseHTTPRequestHandler):
    records, status = [], 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            self.records.extend(record for scope in resource.scope_logs for record in scope.log_records)
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Collector.records, Collector.status = [], 200
        yield f"http://127.0.0.1:{server.server_port}/v1/logs"
        server.shutdown()


def attributes(record):
    return {
        each.key: each.value.double_value if each.value.HasField("double_value") else each.value.string_value
        for each in record.attributes
    }


def test_each_row_is_an_event_within_its_span_or_with_the_id_of_its_response(endpoint):
    assert send_results(karat.score(ROWS, "exact_match"), endpoint=endpoint) == 3
    first, second, third = Collector.records
    assert {record.event_name for record in Collector.records} == {"gen_ai.evaluation.result"}
    assert (first.trace_id.hex(), first.span_id.hex()) == (TRACE, SPAN)
    assert attributes(first) == {"gen_ai.evaluation.name": "exact_match", "gen_ai.evaluation.score.value": 1.0}
    assert not any(second.trace_id)
    assert attributes(second) == {
        "gen_ai.evaluation.name": "exact_match",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.response.id": "resp-2",
    }
    assert attributes(third) == {
        "gen_ai.evaluation.name": "exact_match",
        "gen_ai.evaluation.explanation": "prediction is null",
        "error.type": "not_scored",
    }


def test_many_events_all_arrive(endpoint):
    rows = {"prediction": ["a"] * 3000, "reference": ["a"] * 3000}
    assert (
        send_results(karat.score(rows, ["exact_match", "token_f1"]), endpoint=endpoint)
        == 6000
        == len(Collector.records)
    )


def test_events_that_are_not_taken_and_ids_that_are_none_are_told(endpoint):
    Collector.status = 400
    with pytest.raises(DataError, match=r"3 of 3 events were not taken by http://127.0.0.1"):
        send_results(karat.score(ROWS, "exact_match"), endpoint=endpoint)
    with pytest.raises(ColumnError, match="row 1: expected hexadecimal ids"):
        send_results(karat.score({**ROWS, "span_id": ["x", None, None]}, "exact_match"), endpoint=endpoint)
