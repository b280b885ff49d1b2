"""A real Phoenix server: its spans scored, their scores read back, its experiments, and its sudden end.

Without a server, which `conftest.py` starts, these tests skip.
"""

import asyncio
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.governor.retry import RetryPolicy
from karat.models.testing.fake import FakeModel, FakeServer

httpx = pytest.importorskip("httpx")
client_package = pytest.importorskip("phoenix.client")
exporter = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")

import pandas as pd  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: E402

from karat.adapters import phoenix as adapter  # noqa: E402
from karat.adapters.phoenix.experiment import experiment_evaluator  # noqa: E402
from karat.adapters.phoenix.server import retry as patience  # noqa: E402  (it needs httpx, which comes with the client)
from karat.adapters.phoenix.server.connection import spans  # noqa: E402
from karat.adapters.phoenix.server.outbox import NotLogged, log_annotations, send_annotations  # noqa: E402

pytestmark = pytest.mark.phoenix

TRACES = 60
ANSWERS = ["Paris", "in Paris", "Lyon"]  # by turns; the gold is Paris
DOCUMENTS = [("d1", "Paris is the capital of France.", 0.9), ("d2", "Lyon lies on the Rhône.", 0.4)]


@pytest.fixture(scope="session")
def project(server):
    """A project of traces that were sent as applications send them: a chain of a retriever and a model."""
    provider = TracerProvider(resource=Resource({"openinference.project.name": "rag/demo"}))
    provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter(f"{server.url}/v1/traces")))
    tracer = provider.get_tracer("app")
    for number in range(TRACES):
        question, answer = f"Capital of France, {number}?", ANSWERS[number % len(ANSWERS)]
        whole = {"input.value": question, "output.value": answer, "metadata": json.dumps({"gold": "Paris"})}
        with tracer.start_as_current_span("ask", attributes=_kind("CHAIN") | whole):
            found = {
                f"retrieval.documents.{place}.document.{name}": value
                for place, document in enumerate(DOCUMENTS)
                for name, value in zip(("id", "content", "score"), document, strict=True)
            }
            with tracer.start_as_current_span(
                "find", attributes=_kind("RETRIEVER") | {"input.value": question} | found
            ):
                pass
            said = {
                f"llm.{way}_messages.0.message.{name}": value
                for way, *message in (("input", "user", question), ("output", "assistant", answer))
                for name, value in zip(("role", "content"), message, strict=True)
            }
            with tracer.start_as_current_span("answer", attributes=_kind("LLM") | said | {"llm.model_name": "m"}):
                pass
    provider.shutdown()
    for _ in range(100):
        with_spans = [each["name"] for each in server.client.projects.list()]
        if "rag/demo" in with_spans and len(_all_spans(server)) == 3 * TRACES:
            return "rag/demo"
        time.sleep(0.1)
    raise AssertionError("the spans did not arrive")


def _kind(kind):
    return {"openinference.span.kind": kind}


def _all_spans(server):
    ids = {each["name"]: each["id"] for each in server.client.projects.list()}
    return server.client.spans.get_spans(project_identifier=ids["rag/demo"], limit=10_000)


def annotations(server, kind, name):
    """What Phoenix holds of the spans of a kind under a name."""
    ids = {each["name"]: each["id"] for each in server.client.projects.list()}
    wanted = [each["context"]["span_id"] for each in _all_spans(server) if each["span_kind"] == kind]
    return server.client.spans.get_span_annotations(
        span_ids=wanted, project_identifier=ids["rag/demo"], include_annotation_names=[name]
    )


def test_the_command_scores_spans_and_logs_the_scores_once_however_often_it_is_given(server, project):
    command = ["score", "--phoenix", server.url, "--project", project, "--since", "2h", "--kind", "CHAIN", "-m", "em"]
    command += ["--map", "reference=attributes.metadata.gold", "--annotate", "--json"]
    results = [CliRunner().invoke(main, command) for _ in range(2)]
    for result in results:
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["metrics"][0]["value"] == pytest.approx(1 / 3)
        assert f"{TRACES} annotations logged" in result.stderr
    found = annotations(server, "CHAIN", "em")
    assert Counter(each["result"]["score"] for each in found) == {1.0: TRACES / 3, 0.0: TRACES * 2 / 3}
    assert len({each["span_id"] for each in found}) == TRACES
    assert {each["annotator_kind"] for each in found} == {"CODE"}
    assert {each["metadata"]["signature"] for each in found} == {
        karat.metrics.exact_match.using(normalize="squad").signature
    }


def test_python_scores_spans_as_the_command_does(server, project):
    seen = []
    frame = spans(server.url, project, kind="LLM", progress=lambda done, total: seen.append(done))
    assert seen[-1] >= 3 * TRACES
    result = karat.score(frame, "token_f1", map={"prediction": "question", "reference": "question"})
    assert result.n == TRACES
    assert log_annotations(result, server.url).logged == TRACES
    assert {each["result"]["score"] for each in annotations(server, "LLM", "token_f1")} == {1.0}


def test_scores_of_a_frame_from_the_client_are_logged_as_those_of_karat_are(server, project):
    frame = server.client.spans.get_spans_dataframe(project_identifier=project, limit=10_000)
    read = {"output": "attributes.output.value", "expected": lambda row: row["attributes.metadata"]["gold"]}
    evaluator = adapter.bind_evaluator(adapter.as_evaluator("token_f1"), read)
    scored = adapter.evaluate_dataframe(frame[frame["span_kind"] == "CHAIN"], [evaluator])
    assert log_annotations(scored, server.url).logged == TRACES
    by_karat = karat.score(
        spans(server.url, project, kind="CHAIN"), "token_f1", map={"reference": "attributes.metadata.gold"}
    )
    assert log_annotations(by_karat, server.url).logged == TRACES
    found = annotations(server, "CHAIN", "token_f1")
    assert Counter(round(each["result"]["score"], 3) for each in found) == {1.0: 20, 0.667: 20, 0.0: 20}


def test_documents_that_a_judge_judges_one_by_one_are_annotated_each(server, project):
    model = FakeModel(_relevance)
    judge = Judge("document_relevance", model=model, governor=Governor())
    result = karat.score(spans(server.url, project, kind="RETRIEVER"), judge)
    assert result.values[judge.spec].value == 0.5
    for _ in range(2):
        assert log_annotations(result, server.url).logged == TRACES * 3
    held = Counter()
    for span in _all_spans(server):
        if span["span_kind"] == "RETRIEVER":
            held.update((e["documentPosition"], e["label"], e["annotatorKind"]) for e in _of_documents(server, span))
    assert held == {(0, "relevant", "LLM"): TRACES, (1, "irrelevant", "LLM"): TRACES}


def _relevance(messages):
    label = "relevant" if "is the capital" in messages[-1]["content"] else "irrelevant"
    return {"explanation": "It says so.", "label": label}


def _of_documents(server, span):
    query = """query ($id: ID!) { node(id: $id) { ... on Span { documentEvaluations {
        name label score documentPosition annotatorKind } } } }"""
    answer = httpx.post(f"{server.url}/graphql", json={"query": query, "variables": {"id": span["id"]}})
    return answer.json()["data"]["node"]["documentEvaluations"]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_experiments_keep_every_score_of_every_evaluator(server, way):
    judge = Judge("correctness", model=FakeModel({"explanation": "So it is.", "label": "correct"}), governor=Governor())
    lists = {"output": lambda output: [output], "expected": lambda expected: [expected["answer"]]}
    evaluators = [
        experiment_evaluator("token_f1"),
        experiment_evaluator(judge, name="correct"),
        experiment_evaluator(adapter.PrecisionRecallFScore(), lists),
        experiment_evaluator("exact_match", {"reference": "metadata.other"}, name="other"),
    ]
    dataset = server.client.datasets.create_dataset(
        name=f"capitals, {way}",
        inputs=[{"question": "Capital of France?"}, {"question": "Capital of Italy?"}],
        outputs=[{"answer": "Paris"}, {"answer": "Rome"}],
        metadata=[{"other": "Paris"}, {"other": None}],
    )
    asked = {"dataset": dataset, "task": lambda example: "Paris", "evaluators": evaluators, "print_summary": False}
    ran = server.client.experiments.run_experiment(**asked) if way == "sync" else asyncio.run(_run(server.url, asked))
    rows = httpx.get(f"{server.url}/v1/experiments/{ran['experiment_id']}/json").json()
    held = {
        each["name"]: [each["score"], each["label"], each["explanation"], each["annotator_kind"], each["error"]]
        for row in rows
        if row["input"]["question"] == "Capital of Italy?"
        for each in row["annotations"]
    }
    assert held == {
        "token_f1": [0.0, None, None, "CODE", None],
        "correct": [1.0, "correct", "So it is.", "LLM", None],
        "precision": [0.0, None, None, "CODE", None],
        "recall": [0.0, None, None, "CODE", None],
        "f1": [0.0, None, None, "CODE", None],
        "other": [None, None, "reference is null", "CODE", None],
    }
    assert sum(each["name"] == "other" and each["score"] == 1 for row in rows for each in row["annotations"]) == 1


@pytest.mark.filterwarnings("ignore:Evaluator.source is deprecated:DeprecationWarning")  # Phoenix's client reads it
@pytest.mark.parametrize("way", ["sync", "async"])
def test_bare_evaluators_keep_their_scores_in_experiments(server, way):
    """As Phoenix's documentation passes them, without `experiment_evaluator`."""

    @adapter.create_evaluator(name="short")
    def short(output: str) -> bool:
        return len(output) < 3

    dataset = server.client.datasets.create_dataset(
        name=f"bare, {way}", inputs=[{"n": n} for n in range(8)], outputs=[{"answer": "ab"[n % 2]} for n in range(8)]
    )
    equal = adapter.bind_evaluator(adapter.exact_match, {"expected": "expected.answer"})
    f1 = adapter.bind_evaluator(adapter.as_evaluator("token_f1", name="f1"), {"reference": "expected.answer"})
    evaluators = [equal, short, f1, adapter.MatchesRegex("b")]
    asked = {"dataset": dataset, "task": lambda example: "a", "evaluators": evaluators, "print_summary": False}
    ran = server.client.experiments.run_experiment(**asked) if way == "sync" else asyncio.run(_run(server.url, asked))
    rows = httpx.get(f"{server.url}/v1/experiments/{ran['experiment_id']}/json").json()
    scores = {}
    for each in (annotation for row in rows for annotation in row["annotations"]):
        scores.setdefault(each["name"], []).append((each["score"], each["label"]))
    assert Counter(scores["exact_match"]) == {(1.0, None): 4, (0.0, None): 4}
    assert Counter(scores["short"]) == {(1.0, "True"): 8}
    assert Counter(scores["f1"]) == {(1.0, None): 4, (0.0, None): 4}
    assert Counter(scores["matches_regex"]) == {(0.0, None): 8}


async def _run(url, asked):
    async with httpx.AsyncClient(base_url=url) as http:
        client = client_package.AsyncClient(http_client=http)
        return await client.experiments.run_experiment(**asked, concurrency=20)


def _answer(example):
    return example["input"]["q"]


def test_an_experiment_on_a_split_of_a_dataset_scores_its_examples_alone(server):
    table = pd.DataFrame({"q": ["a", "b", "c"], "gold": ["a", "x", "c"], "part": ["dev", "test", "test"]})
    keys = {"input_keys": ["q"], "output_keys": ["gold"], "split_key": "part"}
    server.client.datasets.create_dataset(name="with splits", dataframe=table, **keys)
    dataset = server.client.datasets.get_dataset(dataset="with splits", splits=["test"])
    texts = {"prediction": "output", "reference": "expected.gold"}
    asked = {"dataset": dataset, "task": _answer, "evaluators": [experiment_evaluator("em", texts)]}
    ran = server.client.experiments.run_experiment(**asked, print_summary=False)
    rows = httpx.get(f"{server.url}/v1/experiments/{ran['experiment_id']}/json").json()
    assert {row["input"]["q"]: row["annotations"][0]["score"] for row in rows} == {"b": 0.0, "c": 1.0}


def test_phoenixs_plugin_of_pytest_records_scores_of_karats_evaluators(server, tmp_path):
    shutil.copy(Path(__file__).with_name("recorded.py"), tmp_path / "test_answers.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    env = os.environ | {"PHOENIX_BASE_URL": server.url, "PHOENIX_COLLECTOR_ENDPOINT": server.url, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    dataset = server.client.datasets.get_dataset(dataset="pytest suite")
    (ran,) = server.client.experiments.list(dataset_id=dataset.id)
    rows = httpx.get(f"{server.url}/v1/experiments/{ran['id']}/json").json()
    scores = [each["score"] for row in rows for each in row["annotations"] if each["name"] == "f1"]
    assert sorted(scores) == [0.0, 1.0]


def test_what_there_is_not_is_told_with_what_there_is(server, project):
    with pytest.raises(karat.errors.DataError, match="did you mean 'rag/demo'"):
        spans(server.url, "rag/dem")
    with pytest.raises(karat.errors.DataError, match=r"project 'rag/demo': no span is of kind 'TOOL'.*CHAIN"):
        spans(server.url, project, kind="TOOL")
    with pytest.raises(karat.errors.DataError, match="holds no spans since 2100"):
        spans(server.url, project, since="2100-01-01")


def test_a_server_killed_while_scores_are_logged_loses_none_and_gets_none_twice(server, project, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(patience, "RETRIES", RetryPolicy(4, first_pause=0.05, longest_pause=0.05))
    result = karat.score(spans(server.url, project), "rouge_l", map={"prediction": "question", "reference": "question"})

    def kill(done, total):
        if done == 100:
            server.kill()

    with pytest.raises(NotLogged, match="80 of 180 annotations are not logged") as told:
        log_annotations(result, server.url, progress=kill)
    server.start()
    assert len(annotations(server, "CHAIN", "rouge_l")) < TRACES
    assert send_annotations(told.value.path, server.url).logged == 80
    for kind in ("CHAIN", "RETRIEVER", "LLM"):
        assert len(annotations(server, kind, "rouge_l")) == TRACES
    assert not list(tmp_path.iterdir())


def _send_span(server, project, session):
    provider = TracerProvider(resource=Resource({"openinference.project.name": project}))
    provider.add_span_processor(BatchSpanProcessor(exporter.OTLPSpanExporter(f"{server.url}/v1/traces")))
    attributes = _kind("CHAIN") | {"session.id": session}
    with provider.get_tracer("app").start_as_current_span("ask", attributes=attributes) as span:
        pass
    provider.shutdown()
    for _ in range(100):
        if any(each["name"] == project for each in server.client.projects.list()):
            return span.get_span_context()
        time.sleep(0.1)
    raise AssertionError("the span did not arrive")


def test_traces_and_sessions_are_annotated_once_too(server, tmp_path):
    trace = f"{_send_span(server, 'chat', 's-1').trace_id:032x}"
    for target, ids, held in (
        ("trace_id", [trace], lambda: server.client.traces.get_traces(project_identifier="chat")),
        ("session_id", ["s-1"], None),
    ):
        rows = {target: ids, "prediction": ["in Paris"], "reference": ["Paris"]}
        result = karat.score(rows, "token_f1")
        for _ in range(2):
            assert log_annotations(result, server.url).logged == 1
        assert held is None or [each["trace_id"] for each in held()] == ids
    with pytest.raises(NotLogged, match="1 of 1"):
        log_annotations(
            karat.score({"session_id": ["none"], "prediction": ["a"], "reference": ["a"]}, "em"), server.url
        )
    for path in Path().glob("karat-unsent-*.jsonl"):
        path.unlink()


def test_an_experiment_that_was_stopped_is_resumed(server):
    dataset = server.client.datasets.create_dataset(
        name="resumed", inputs=[{"n": n} for n in range(4)], outputs=[{"answer": "a"}] * 4
    )
    failing = [True]

    def task(example):
        if failing[0] and example["input"]["n"] > 1:
            raise ValueError("not yet")
        return "a"

    f1 = experiment_evaluator("token_f1")
    ran = server.client.experiments.run_experiment(
        dataset=dataset, task=task, evaluators=[f1], print_summary=False, retries=0
    )
    failing[0] = False
    server.client.experiments.resume_experiment(
        experiment_id=ran["experiment_id"], task=task, evaluators=[f1], print_summary=False
    )
    rows = httpx.get(f"{server.url}/v1/experiments/{ran['experiment_id']}/json").json()
    assert [each["score"] for row in rows for each in row["annotations"] if each["name"] == "token_f1"] == [1.0] * 4


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_quickstarts_of_phoenixs_client_run_under_karats_name_and_with_karats_evaluators(
    server, quickstarts, monkeypatch
):
    """The README of the installed client, whose placeholders are replaced by what the server holds.

    Statements that fail with Phoenix's client fail likewise: the README of 3.5 has outdated ones.
    """
    blocks_of, run_statements = quickstarts
    for name in ("PHOENIX_BASE_URL", "PHOENIX_COLLECTOR_ENDPOINT"):
        monkeypatch.setenv(name, server.url)
    span = f"{_send_span(server, 'my-llm-app', 'my-session-id').span_id:016x}"
    rows = {"inputs": [{"question": "q"}], "outputs": [{"answer": "Result for: q"}]}
    for name in ("qa-evaluation", "my-dataset"):
        dataset = server.client.datasets.create_dataset(name=name, **rows)
    failures = {}
    with FakeServer() as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for package in ("phoenix.client", "karat.adapters.phoenix.client"):
            names = {"ours": [experiment_evaluator("exact_match", {"reference": "expected.answer"})]}
            changes = {
                r"phoenix\.client": package,
                r"run_experiment\(": "run_experiment(evaluators=ours, ",
                r"\bname=\"": f'name="{package} ',
                r"span-\d+": span,
                "my-experiment-id": server.client.experiments.create(dataset_id=dataset.id)["id"],
                "my-example-id": dataset.examples[0]["id"],
            }
            code = blocks_of("arize-phoenix-client")
            for pattern, text in changes.items():
                code = [re.sub(pattern, text, block) for block in code]
            failures[package] = [list(map(type, run_statements(block, names))) for block in code]
            experiment = httpx.get(f"{server.url}/v1/experiments/{names['experiment']['experiment_id']}/json").json()
            assert [each["score"] for row in experiment for each in row["annotations"]] == [1.0]
            names.clear()
            gc.collect()  # the clients that the quickstarts leave open
    theirs, ours = failures.values()
    assert ours == theirs
    assert sum(map(len, ours)) < len(ours)
    assert any("Customer" in each["name"] for each in server.client.projects.list())
