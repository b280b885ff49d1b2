"""Evaluations and calls to models as spans of OpenTelemetry, and nothing of it where that is not set up."""

import asyncio
import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import karat
from karat.core import telemetry as tracing
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.testing.fake import FakeModel, FakeServer

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
logs = pytest.importorskip("opentelemetry._logs")
CORRECT = {"explanation": "Both say Paris.", "label": "correct"}
ROWS = [{"question": "Capital of France?", "prediction": "Paris", "reference": ["Paris"]}]


class Spans:
    """What was exported: spans and log events."""

    def __init__(self, **options):
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor

        self.log_exporter = InMemoryLogRecordExporter()
        self.logger_provider = LoggerProvider()
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self.log_exporter))

        self.exporter = memory.InMemorySpanExporter()
        self.provider = sdk.TracerProvider(**options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def __iter__(self):
        return iter(sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time))

    def events(self, span=None):
        """The attributes of the log events, or of those within a span."""
        records = [each.log_record for each in self.log_exporter.get_finished_logs()]
        assert {record.event_name for record in records} <= {"gen_ai.evaluation.result"}
        return [
            {key.removeprefix("gen_ai.evaluation."): value for key, value in record.attributes.items()}
            for record in records
            if span is None or (record.trace_id, record.span_id) == (span.context.trace_id, span.context.span_id)
        ]

    def of(self, kind):
        return [span for span in self if span.attributes["openinference.span.kind"] == kind]


@pytest.fixture
def spans(monkeypatch):
    """Providers for the length of a test: a process can set only one of each for good."""
    found = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.provider)
    monkeypatch.setattr(logs, "get_logger_provider", lambda: found.logger_provider)
    return found


def judged(model, governor=None, rows=ROWS):
    judge = Judge("correctness", model=model, governor=governor or Governor())
    result = karat.score(rows, judge)
    return judge.spec, result.table.to_pylist()


def test_a_judged_row_is_a_span_with_its_calls_within(spans):
    with FakeServer(CORRECT, price=(1.0, 2.0)) as server:
        spec, (row,) = judged(OpenAIModel("small", base_url=server.url))
    (evaluation,), (call,) = spans.of("EVALUATOR"), spans.of("LLM")
    assert evaluation.name == "judge:correctness.evaluate"
    assert evaluation.status.is_ok
    assert evaluation.parent is None
    assert json.loads(evaluation.attributes["input.value"]) == ROWS[0]
    assert json.loads(evaluation.attributes["output.value"]) == [
        {"name": "judge:correctness", "score": 1.0, "label": "correct", "explanation": "Both say Paris."}
    ]
    assert json.loads(evaluation.attributes["metadata"]) == {"evaluator.kind": "llm", "evaluator.class": "Judge"}
    assert spans.events(evaluation) == [
        {"name": "judge:correctness", "score.value": 1.0, "score.label": "correct", "explanation": "Both say Paris."}
    ]
    assert call.parent.span_id == evaluation.context.span_id
    assert row[f"{spec}.trace_id"] == f"{evaluation.context.trace_id:032x}" == f"{call.context.trace_id:032x}"
    told = call.attributes
    assert call.name == "chat small"
    assert call.kind is trace.SpanKind.CLIENT
    assert told["llm.model_name"] == told["gen_ai.request.model"] == told["gen_ai.response.model"] == "small"
    assert json.loads(told["llm.invocation_parameters"]) == {"temperature": 0.0}
    assert told["gen_ai.request.temperature"] == 0.0
    assert told["llm.input_messages.0.message.role"] == "system"
    assert json.loads(told["input.value"])["messages"][0]["content"] == told["llm.input_messages.0.message.content"]
    assert json.loads(told["llm.output_messages.0.message.content"]) == CORRECT
    assert told["llm.token_count.prompt"] == told["gen_ai.usage.input_tokens"] == row[f"{spec}.input_tokens"]
    assert told["llm.token_count.completion"] == told["gen_ai.usage.output_tokens"] == row[f"{spec}.output_tokens"]
    assert told["llm.token_count.total"] == row[f"{spec}.input_tokens"] + row[f"{spec}.output_tokens"]
    assert told["llm.cost.total"] == row[f"{spec}.cost"] > 0
    assert told["gen_ai.operation.name"] == "chat"
    assert (told["server.address"], told["server.port"]) == ("127.0.0.1", server.port)
    assert call.start_time >= evaluation.start_time
    assert call.end_time <= evaluation.end_time


def test_each_row_has_a_trace_of_its_own_and_its_own_calls(spans):
    rows = [{**ROWS[0], "prediction": f"Paris {number}"} for number in range(40)]
    spec, table = judged(FakeModel(CORRECT), rows=rows)
    assert len({row[f"{spec}.trace_id"] for row in table}) == len(spans.of("LLM")) == 40
    parents = {span.context.span_id: json.loads(span.attributes["input.value"]) for span in spans.of("EVALUATOR")}
    for call in spans.of("LLM"):
        assert parents[call.parent.span_id]["prediction"] in call.attributes["input.value"]
    assert {f"{span.context.trace_id:032x}" for span in spans.of("LLM")} == {row[f"{spec}.trace_id"] for row in table}


def test_within_a_span_of_the_user_all_is_of_its_trace(spans):
    with spans.provider.get_tracer("mine").start_as_current_span(
        "mine", attributes={"openinference.span.kind": "CHAIN"}
    ):
        spec, (row,) = judged(FakeModel(CORRECT))
    (mine,), (evaluation,), (call,) = spans.of("CHAIN"), spans.of("EVALUATOR"), spans.of("LLM")
    assert evaluation.parent.span_id == mine.context.span_id
    assert call.parent.span_id == evaluation.context.span_id
    assert row[f"{spec}.trace_id"] == f"{mine.context.trace_id:032x}"


def test_a_call_that_fails_is_a_span_with_the_error_and_the_next_one_another(spans, monkeypatch):
    monkeypatch.setattr("karat.models.governor.retry.RetryPolicy.pause", lambda *_: 0.01)
    with FakeServer(CORRECT, faults=["500", None]) as server:
        judged(OpenAIModel("small", base_url=server.url, api_key="sk-secret-key-of-mine"))
    (evaluation,), (failed, answered) = spans.of("EVALUATOR"), spans.of("LLM")
    assert not failed.status.is_ok
    assert failed.status.description.startswith("HTTP 500")
    assert failed.attributes["error.type"] == "500"
    assert [event.name for event in failed.events] == ["exception"]
    assert answered.status.is_ok
    assert evaluation.status.is_ok
    assert "sk-secret" not in "".join(span.to_json() for span in spans)


def test_a_row_without_a_verdict_is_a_span_that_failed(spans):
    spec, (row,) = judged(FakeModel("no JSON at all"))
    (evaluation,) = spans.of("EVALUATOR")
    assert len(spans.of("LLM")) == 2
    assert not evaluation.status.is_ok
    assert evaluation.status.description == row["reason"]
    assert spans.events(evaluation) == [{"name": "judge:correctness", "error.type": "no_verdict"}]
    assert row[f"{spec}.trace_id"] == f"{evaluation.context.trace_id:032x}"


def test_a_reply_from_the_cache_has_no_span_and_the_evaluation_says_so(spans, tmp_path):
    with ReplyCache(tmp_path / "replies.sqlite") as store:
        model = FakeModel(CORRECT, endpoint="here")
        for _ in range(2):
            judged(model, Governor(store=store))
    first, second = spans.of("EVALUATOR")
    assert len(spans.of("LLM")) == 1
    assert "cached_replies" not in json.loads(first.attributes["metadata"])
    assert json.loads(second.attributes["metadata"])["cached_replies"] == 1
    assert spans.events(second) == spans.events(first)


def test_a_call_that_a_cap_forbids_has_no_span(spans):
    rows = [{**ROWS[0], "prediction": each} for each in "abc"]
    judged(FakeModel(CORRECT), Governor(max_calls=1, concurrency=1), rows)
    assert len(spans.of("LLM")) == 1
    assert [span.status.is_ok for span in spans.of("EVALUATOR")] == [True, False, False]


def test_a_metric_that_computes_is_one_span_a_run(spans):
    rows = {"prediction": ["a", "b", None], "reference": ["a", "a", ""]}
    result = karat.score(rows, ["exact_match", "token_f1"])
    first, second = spans
    assert (first.name, second.name) == ("exact_match.score", "token_f1.score")
    assert spans.events(first) == [{"name": "exact_match", "score.value": 0.5}]
    about = json.loads(first.attributes["metadata"])
    value = result.values["exact_match"]
    assert about["signature"] == result.metrics[0].signature
    assert (about["rows"], about["unscored"], about["interval"]) == (3, 1, [value.low, value.high])
    assert first.start_time < first.end_time
    assert result.table.column_names == ["prediction", "reference", "exact_match", "token_f1", "reason"]


def test_a_task_is_no_call_to_a_model(spans):
    from karat.runs.experiment.experiment import experiment

    experiment([{"question": "Capital of France?", "reference": "Paris"}], lambda row: "Paris", "exact_match")
    assert {span.attributes["openinference.span.kind"] for span in spans} == {"EVALUATOR"}


def test_an_error_in_the_block_is_the_status_and_goes_on(spans):
    with pytest.raises(KeyError), tracing.evaluation("mine", {}):
        raise KeyError("x")
    (span,) = spans
    assert span.status.description == "KeyError: 'x'"
    assert 0 <= span.end_time - span.start_time < 60e9
    assert [event.name for event in span.events] == ["exception"]


def test_results_and_inputs_are_told_whatever_they_are(spans):
    import numpy as np

    with tracing.evaluation("mine", {"a": np.arange(2), "b": object, 3: {1}}, kind="LLM", how="async_evaluate") as span:
        span.result("x", np.float32(0.5), True, None)
        span.result("y", float("nan"), None, "only told")
    (span,) = spans
    assert span.name == "mine.async_evaluate"
    assert json.loads(span.attributes["input.value"]) == {"a": [0, 1], "b": "<class 'object'>", "3": "{1}"}
    assert spans.events(span) == [{"name": "x", "score.value": 0.5, "score.label": "True"}]
    assert json.loads(span.attributes["output.value"])[1] == {"name": "y", "explanation": "only told"}


def test_texts_can_be_left_out(spans, monkeypatch):
    monkeypatch.setenv("OPENINFERENCE_HIDE_INPUTS", "true")
    monkeypatch.setenv("OPENINFERENCE_HIDE_OUTPUTS", "TRUE")
    judged(FakeModel(CORRECT))
    assert "Paris" not in "".join(span.to_json() for span in spans)
    assert spans.events(spans.of("EVALUATOR")[0]) == [
        {"name": "judge:correctness", "score.value": 1.0, "score.label": "correct"}
    ]


@pytest.mark.parametrize("traced", [True, False])
def test_results_are_events_also_where_no_span_is_recorded(spans, monkeypatch, traced):
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    unsampled = Spans(sampler=ALWAYS_OFF)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: unsampled.provider if traced else None)
    spec, (row,) = judged(FakeModel(CORRECT))
    karat.score([{"prediction": "a", "reference": "a"}], "exact_match")
    with pytest.raises(KeyError), tracing.evaluation("mine", {}):
        raise KeyError("x")
    assert [*spans, *unsampled] == []
    assert (row[spec], row.get(f"{spec}.trace_id"), f"{spec}.trace_id" in row) == (1.0, None, traced)
    assert spans.events() == [
        {"name": "judge:correctness", "score.value": 1.0, "score.label": "correct", "explanation": "Both say Paris."},
        {"name": "exact_match", "score.value": 1.0},
        {"name": "mine", "error.type": "KeyError"},
    ]


def test_where_tracing_is_suppressed_there_are_no_spans(spans):
    from opentelemetry import context

    token = context.attach(context.set_value("suppress_instrumentation", True))
    judged(FakeModel(CORRECT))
    context.detach(token)
    assert list(spans) == []


class Broken:
    """A provider, tracer, logger and span of which nothing works."""

    def get_tracer(self, *_):
        return self

    def __getattr__(self, name):
        raise RuntimeError(name)


class Half(Broken):
    """One that starts spans, and then nothing works."""

    def start_span(self, *_, **__):
        return self

    def is_recording(self):
        return True


@pytest.mark.parametrize("provider", [Broken(), Half(), None], ids=["broken", "half", "none"])
def test_spans_that_go_wrong_take_no_score_with_them(monkeypatch, provider):
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(logs, "get_logger_provider", lambda: provider)
    spec, (row,) = judged(FakeModel(CORRECT))
    assert row[spec] == 1.0
    assert karat.score(ROWS, "exact_match").values["exact_match"].value == 1.0


def test_an_exporter_that_fails_takes_no_score_with_it(spans, monkeypatch):
    monkeypatch.setattr(spans.exporter, "export", lambda _: 1 / 0)
    spec, (row,) = judged(FakeModel(CORRECT))
    assert row[spec] == 1.0


def test_spans_nest_in_async_code(spans):
    async def work(name):
        with tracing.evaluation(name, {}):
            await asyncio.sleep(0.001)
            with tracing.evaluation(f"{name} inner", {}):
                await asyncio.sleep(0.001)

    async def both():
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    by_name = {span.name: span for span in spans}
    for name in "ab":
        inner = by_name[f"{name} inner.evaluate"]
        assert inner.parent.span_id == by_name[f"{name}.evaluate"].context.span_id
    assert tracing.current() is None


@pytest.mark.parametrize("traced_before", [True, False])
def test_a_run_that_was_stopped_goes_on_with_or_without_spans(spans, monkeypatch, tmp_path, traced_before):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))

    def judge(*, traced):
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans.provider if traced else None)
        made = Judge("correctness", model=FakeModel(CORRECT), governor=Governor())
        assert ("trace_id" in made.details) == traced
        return made

    def stop(done, _):
        assert done <= len(ROWS)

    def score(metric, **options):
        rows = pa.Table.from_pylist([*ROWS, *ROWS]).to_reader(max_chunksize=len(ROWS))
        return karat.score(rows, metric, run="a", **options)

    with pytest.raises(AssertionError):
        score(judge(traced=traced_before), progress=stop)
    run = score(after := judge(traced=not traced_before), resume=True).run
    assert run.column(f"{after.spec}.label").to_pylist() == ["correct"] * 2 * len(ROWS)
    if not traced_before:
        assert run.column(f"{after.spec}.trace_id").null_count == len(ROWS)


REAL = """
import sys
import karat
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from karat.core import telemetry as tracing
assert not tracing.on()  # imported, and not set up
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
karat.score([{"prediction": "a", "reference": "a"}], "exact_match")
print(*(span.name for span in exporter.get_finished_spans()))
"""


def run(code, cache):
    environment = {**os.environ, "OTEL_SDK_DISABLED": "", "KARAT_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.split()


def test_a_provider_set_for_the_process_is_found(tmp_path):
    assert run(REAL, tmp_path / "replies") == ["exact_match.score"]


def test_where_it_is_not_set_up_nothing_of_it_is_imported(tmp_path):
    code = (
        "import sys, karat; from karat.judges import Judge; from karat.models.testing.fake import FakeModel;"
        f"karat.score({ROWS!r}, ['exact_match', Judge('correctness', model=FakeModel({CORRECT!r}))]);"
        "import karat.adapters.phoenix;"
        "print(*(name for name in sys.modules if name.startswith(('opentelemetry', 'openinference', 'phoenix'))))"
    )
    assert run(code, tmp_path / "replies") == []


def test_without_tracing_a_judge_gives_the_columns_it_always_gave():
    spec, (row,) = judged(FakeModel(CORRECT))
    assert f"{spec}.trace_id" not in row


def test_errors_quote_nothing_where_texts_are_left_out(spans, monkeypatch):
    monkeypatch.setenv("OPENINFERENCE_HIDE_INPUTS", "true")
    with pytest.raises(ValueError, match="Paris"), tracing.evaluation("mine", "Paris"):
        raise ValueError("no such town: Paris")
    (span,) = spans
    assert span.status.status_code.name == "ERROR"
    assert [dict(event.attributes) for event in span.events] == [{"exception.type": "ValueError"}]
    assert "Paris" not in span.to_json()


def test_a_column_of_a_frame_tells_its_mean_and_one_taken_by_rows_leaves_no_span_of_its_own(spans):
    pd = pytest.importorskip("pandas")
    from karat.adapters.phoenix import evaluate_dataframe, exact_match

    evaluate_dataframe(pd.DataFrame({"output": ["a", "b"], "expected": ["a", "c"]}), [exact_match])
    assert [spans.events(span) for span in spans] == [[{"name": "exact_match", "score.value": 0.5}]]
    spans.exporter.clear()
    with pytest.warns(UserWarning, match="valid string"):
        evaluate_dataframe(pd.DataFrame({"output": ["a", 3], "expected": ["a", "c"]}), [exact_match])
    assert [(span.name, span.status.is_ok) for span in spans] == [("exact_match.evaluate", True)]
