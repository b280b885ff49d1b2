"""Spans of a Phoenix server: its errors, its pages, its projects."""

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

pytest.importorskip("phoenix.client")

from karat.adapters.phoenix.server import connection
from karat.adapters.phoenix.server.connection import ServerError, spans

pytestmark = pytest.mark.usefixtures("impatient")


def test_a_wrong_address_is_told_at_once(monkeypatch, fake_phoenix):
    monkeypatch.setenv("PHOENIX_API_KEY", "secret")
    with pytest.raises(ServerError, match="does not answer"):
        spans("http://127.0.0.1:1", "demo")
    with pytest.raises(ServerError, match="not the address"):
        spans("localhost:6006", "demo")
    fake = fake_phoenix()
    fake.faults = [401]
    with fake.serving() as url, pytest.raises(ServerError, match=r"HTTP 401.*PHOENIX_API_KEY"):
        spans(url, "demo")
    assert fake.requests == [("/v1/projects", "Bearer secret")]


def test_an_empty_project_is_told_with_the_others(fake_phoenix):
    fake = fake_phoenix()
    with (
        fake.serving() as url,
        pytest.raises(karat.errors.DataError, match=r"'demo' at .* holds no spans; other projects: none"),
    ):
        spans(url, "demo")


def span(number, **attributes):
    return {
        "context": {"span_id": f"{number + 1:016x}", "trace_id": f"{number + 1:032x}"},
        **dict.fromkeys(("parent_id", "name", "end_time", "status_code", "status_message")),
        "span_kind": "LLM",
        "start_time": "2026-01-02T03:04:05+00:00",
        "attributes": attributes,
    }


def test_reading_goes_on_where_a_page_failed(monkeypatch, fake_phoenix):
    monkeypatch.setattr(connection, "_PAGE", 100)
    fake = fake_phoenix()
    fake.faults = [None, None, 503, 500]
    fake.spans = [
        span(n, **{"input.value": f"Q{n}?\u2028", "output.value": "A" if n else 1, "metadata.gold": "A"})
        for n in range(250)
    ]
    seen = []
    with fake.serving() as url:
        frame = spans(url, "demo", progress=lambda done, total: seen.append(done))
        result = karat.score(frame, "exact_match", map={"reference": "attributes.metadata.gold"})
    assert (result.n, result.mapping["prediction"]) == (250, "prediction")
    assert result.table["span_id"].to_pylist() == [f"{n:016x}" for n in range(250, 0, -1)]
    assert seen == [100, 200, 250]
    assert frame.rows == 250


def test_attributes_are_json_into_which_paths_reach(fake_phoenix):
    fake = fake_phoenix()
    fake.spans = [
        span(n, **{"output.value": "A", "metadata": '{"gold": "A"}', "list.0.it": n} if n else {}) for n in range(3)
    ]
    with fake.serving() as url:
        read = spans(url, "demo")
    attributes = [json.loads(cell) for cell in pa.table(read)["attributes"].to_pylist()]
    assert [each.get("list.0.it") for each in attributes] == [2, 1, None]
    result = karat.score(read, "exact_match", map={"reference": "attributes.metadata.gold"})
    assert result.table["exact_match"].to_pylist() == [1.0, 1.0, None]


@pytest.mark.parametrize("attributes", [{"input.value": "cut \ud83d"}, {"list.0.it": "cut \ud83d"}])
def test_half_a_character_is_told_with_the_text_before_it(attributes, fake_phoenix):
    fake = fake_phoenix()
    fake.spans = [span(0, **attributes)]
    with fake.serving() as url, pytest.raises(karat.errors.RowError, match=r"half of a surrogate pair.*cut \\ud83d"):
        spans(url, "demo")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (["prediction=outptu"], "no column 'outptu' for prediction"),
        (["predicted=prediction", "reference=question"], "no metric has a column 'predicted'"),
        ([], "no column fits 'reference'"),
    ],
)
def test_a_mapping_is_checked_before_spans_are_read(mapping, message, fake_phoenix):
    fake = fake_phoenix()
    flags = [flag for each in mapping for flag in ("--map", each)]
    with fake.serving() as url:
        result = CliRunner().invoke(main, ["score", "--phoenix", url, "--project", "demo", "-m", "exact_match", *flags])
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
    assert fake.requests == []
