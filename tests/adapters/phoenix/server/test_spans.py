"""Spans of a Phoenix server: its errors, its pages, its projects."""

import pytest

import karat

pytest.importorskip("phoenix.client")

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
        pytest.raises(karat.DataError, match=r"'demo' at .* holds no spans; other projects: none"),
    ):
        spans(url, "demo")


def test_reading_goes_on_where_a_page_failed(fake_phoenix):
    fake = fake_phoenix()
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
