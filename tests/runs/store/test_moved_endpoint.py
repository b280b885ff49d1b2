"""A run that was stopped goes on at another endpoint only where the user says that the models have moved there."""

import pyarrow as pa
import pytest

import karat
from karat.errors import DataError
from karat.judges import Judge, use_governor
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.testing.fake import FakeServer
from karat.runs.store.run import open_run

N = 12
TABLE = pa.table({"id": range(N), "question": ["?"] * N, "prediction": map(str, range(N)), "gold": ["1"] * N})
REPLY = {"explanation": "so", "label": "correct"}
FAULTS = [*[None] * 6, *["401"] * 20]
KEY = "sk-secret-of-the-test"


@pytest.fixture(autouse=True)
def _key(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("KARAT_MOVED_FROM", raising=False)


def score(server, how, name="a", **options):
    own = OpenAIModel("fake", base_url=server.url) if how == "own model" else "fake"
    with use_governor(Governor(concurrency=1), base_url=None if how == "own model" else server.url):
        return karat.score(TABLE.to_reader(max_chunksize=3), Judge("correctness", model=own), run=name, **options).run


@pytest.mark.parametrize("how", ["own model", "by name"])
def test_a_run_goes_on_at_another_address_only_where_it_is_said_to_have_moved(monkeypatch, how):
    with FakeServer(REPLY, faults=FAULTS) as first, pytest.raises(ModelError):
        score(first, how)
    with FakeServer(REPLY) as second, FakeServer(REPLY) as third:
        for moved in ("", second.url, "http://another.example/v1"):
            monkeypatch.setenv("KARAT_MOVED_FROM", moved)
            with pytest.raises(DataError) as refused:
                score(second, how, resume=True)
            message = str(refused.value)
            assert f"run a asked its models at {first.url}, and would now ask them at {second.url}" in message
            assert message.endswith(f"if the same models have moved there: KARAT_MOVED_FROM={first.url}")
            assert second.calls == 0
        monkeypatch.setenv("KARAT_MOVED_FROM", f"{first.url}/")
        run = score(second, how, resume=True)
        assert 0 < second.calls < N
        assert run.manifest.settings["endpoints"] == [first.url, second.url]
        assert open_run("a").manifest.settings["endpoints"] == [first.url, second.url]
        score(third, how, name="b")
    note = f"a and b asked their models at different addresses: {first.url}, {second.url}; {third.url}"
    assert note in karat.compare("a", "b").notes


def test_a_run_goes_on_at_the_same_address_and_keeps_no_key(folder):
    with FakeServer(REPLY, faults=FAULTS) as server, pytest.raises(ModelError):
        score(server, "by name")
    with FakeServer(REPLY, port=int(server.url.split(":")[2].split("/")[0])) as again:
        assert score(again, "by name", resume=True).manifest.settings["endpoints"] == [server.url]
    written = (folder / "a" / "manifest.json").read_text("utf-8")
    assert (server.url in written, KEY in written) == (True, False)


def test_a_run_without_models_has_no_endpoints():
    assert "endpoints" not in karat.score(TABLE, "exact_match", run="a").run.manifest.settings
