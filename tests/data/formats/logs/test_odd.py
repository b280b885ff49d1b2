"""Logs of other tools in which a value has another type: they are read, or refused with a sentence."""

import copy
import io
import json
import zipfile

import pytest

from karat.core.errors import KaratError
from karat.data.open import open_source

ODD = [None, 7, "x", "\ud800", [], {}, [None], {"a": 1}]
SAMPLE = {
    "id": 1,
    "input": [{"role": "user", "content": [{"type": "text", "text": "2+2?"}]}],
    "target": ["4"],
    "output": {"choices": [{"message": {"content": [{"type": "text", "text": "4"}]}}]},
    "scores": {"match": {"value": "C"}},
}
REFERENCE = {"output": {"text": "4"}, "tags": ["correct"]}
STATE = {
    "instance": {"id": "1", "input": {"text": "2+2?"}, "references": [REFERENCE], "perturbation": {"name": "typos"}},
    "result": {"completions": [{"text": " B"}]},
    "output_mapping": {"B": "4"},
}
QA = {"id": "1", "question": "2+2?", "answers": [{"text": "4"}], "is_impossible": False}
TEST = {"assert": [{"type": "equals", "value": "{{a}}"}]}
DOCUMENTS = {
    "Inspect": {"eval": {"task": "sums"}, "samples": [SAMPLE]},
    "HELM": {"adapter_spec": {"model": "m"}, "request_states": [STATE]},
    "ragas": {"helpfulness": [{"metric_input": {"response": "4"}, "metric_output": 1, "is_accepted": True}]},
    "SQuAD": {"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [QA]}]}]},
    "MLflow": {
        "info": {"trace_id": "t", "assessments": [{"assessment_name": "exact_match", "feedback": {"value": 1}}]},
        "data": {
            "spans": [
                {"parent_span_id": None, "attributes": {"mlflow.spanInputs": "{}", "mlflow.spanType": '"RETRIEVER"'}}
            ]
        },
    },
    "lm-evaluation-harness": {
        "samples": {
            "qa": [
                {"doc_id": 0, "target": "1", "arguments": [["Q", " a"], ["Q", " b"]], "resps": []}
                | {"filtered_resps": [["-1.0", "False"], ["-2.0", "True"]]}
            ]
        }
    },
    "lighteval": {
        "rows": [
            {
                "doc": {"choices": ["a", "b"], "gold_index": [1]},
                "model_response": {"text": [], "logprobs": [-1.0, -2.0]},
            }
        ]
    },
    "pandas": {"columns": ["id", "answer"], "data": [["1", "4"]]},
    "promptfoo": {
        "results": {
            "results": [
                {"promptIdx": 0, "testIdx": 0, "testCase": TEST, "vars": {"a": "4"}, "response": {"output": "4"}}
            ]
        }
    },
}
EVENTS = [
    {"spec": {"completion_fns": ["gpt-4"]}},
    {"sample_id": "a", "type": "sampling", "data": {"prompt": [{"role": "user", "content": "2+2?"}], "sampled": ["4"]}},
    {"sample_id": "a", "type": "match", "data": {"correct": True, "expected": "4"}},
]


def places(value):
    """Every list or dict in a value, with each of its indexes or keys, as a path."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield [key]
        yield from ([key, *path] for path in places(inner))


def variants(document):
    """The document with an odd value in each place, and without what is there."""
    for path in places(document):
        for odd in [*ODD, ...]:
            changed = copy.deepcopy(document)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            if odd is ...:
                inner.pop(path[-1])
            else:
                inner[path[-1]] = odd
            yield changed


def read(path, content):
    path.write_bytes(content)
    try:
        return [row for batch in open_source(path).batches() for row in batch.to_pylist()]
    except KaratError as error:
        return str(error)


@pytest.mark.parametrize("tool", DOCUMENTS)
def test_documents_with_odd_values_are_read_or_refused(tool, tmp_path):
    path = tmp_path / "log.json"
    assert len(read(path, json.dumps(DOCUMENTS[tool]).encode())) == 1
    for document in variants(DOCUMENTS[tool]):
        found = read(path, json.dumps(document).encode())
        assert isinstance(found, list) or str(path) in found, document


def test_packed_logs_of_inspect_with_odd_values_are_read_or_refused(tmp_path):
    for document in variants(DOCUMENTS["Inspect"]):
        samples = document.pop("samples", None)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as log:
            log.writestr("header.json", json.dumps(document))
            for number, sample in enumerate(samples if isinstance(samples, list) else [samples]):
                log.writestr(f"samples/{number}.json", json.dumps(sample))
        found = read(tmp_path / "log.eval", packed.getvalue())
        assert isinstance(found, list) or "log.eval" in found, (document, samples)


def test_events_of_evals_with_odd_values_are_read_or_refused(tmp_path):
    for events in variants(EVENTS):
        found = read(tmp_path / "log.jsonl", "\n".join(map(json.dumps, events)).encode())
        assert isinstance(found, list) or "log.jsonl" in found, events


def test_a_log_that_is_not_as_its_tool_writes_it_names_the_row(tmp_path):
    document = {"eval": {}, "samples": [SAMPLE, {**SAMPLE, "output": {"choices": ["4"]}}]}
    found = read(tmp_path / "log.json", json.dumps(document).encode())
    assert "log.json, row 2: not as Inspect writes it: AttributeError" in found


@pytest.mark.parametrize("name", ["log.json", "log.jsonl"])
@pytest.mark.parametrize("start", ["[", '{"a": ', '{"resourceSpans": [', '{"spec": {"completion_fns": ['])
def test_what_is_nested_too_deeply_is_refused(name, start, tmp_path):
    assert "log.json" in read(tmp_path / name, start.encode() + b'[{"a":' * 100_000)
