"""Judges on four workers of Ray, and an endpoint that counts: one set of limits, and the values of one machine."""

import os
import signal
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat import Governor, Judge
from karat.core.metric.spec import parse
from karat.engines import Ray, judges
from karat.judges import use_governor
from karat.models.governor.dry_run import CountingGovernor
from karat.models.reply_cache import ReplyCache
from karat.models.testing.fake import FakeServer, script_reader
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.store.run import open_run

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # what Ray warns of is Ray's
ROWS, EACH = 80, 10  # rows, and those of a task
JUDGE = Judge("conciseness", model="fake")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Four workers on this machine."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init("local", num_cpus=4, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield
    ray.shutdown()


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A file of eight tasks."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(parts_module, "JUDGED_ROWS", EACH)
    table = pa.table({"question": [f"{at}?" for at in range(ROWS)], "answer": [f"say {at}" for at in range(ROWS)]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=EACH)
    return str(tmp_path / "rows.parquet")


@pytest.fixture
def store(tmp_path):
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        yield cache


def rows_of(run):
    return sorted(run.rows.parent.glob(run.rows.name))


def score(rows, server, governor, **settings):
    with use_governor(governor, base_url=server.url):
        return karat.score(rows, JUDGE, **{"engine": Ray(judges=True)} | settings)


def test_values_rows_and_usage_are_those_of_one_machine(rows, store):
    with FakeServer(price=(1.0, 1.0)) as server:
        there = score(rows, server, governor := Governor(store=store), run="there")
        assert governor.totals.calls == server.calls == ROWS
        again = score(rows, server, Governor(store=store))
        assert server.calls == ROWS  # all replies are in the cache
        here = score(rows, server, own := Governor(), run="here", engine=None)
    assert there.as_dict() == again.as_dict() == here.as_dict()
    assert governor.totals.cost == pytest.approx(own.totals.cost)
    kept, mine = (pa.concat_tables(map(pq.read_table, rows_of(open_run(name)))) for name in ("there", "here"))
    columns = [name for name in mine.schema.names if not name.endswith("latency")]
    assert kept.select(columns).to_pydict() == mine.select(columns).to_pydict()
    assert open_run("there").manifest.models["calls"] == ROWS


@pytest.mark.parametrize(
    ("limits", "calls"), [({"max_calls": 30}, 30), ({"budget": 0.01, "price": (1.0, 1.0)}, None), ({"rpm": 500}, ROWS)]
)
def test_four_workers_keep_to_one_cap(rows, store, limits, calls):
    with FakeServer(latency=0.05, price=(1.0, 1.0)) as server:
        governor = Governor(store=store, run="run", **limits)
        result = score(rows, server, governor)
        usage = script_usage(server)
    assert server.calls == governor.totals.calls == store.spent("run")[0]
    assert calls in (None, server.calls)
    if "budget" in limits:
        assert 0 < usage <= limits["budget"]
        assert store.spent("run")[1] == pytest.approx(usage)
    value = result.values[JUDGE.spec]
    assert (value.n, value.scored) == (ROWS, server.calls)


def script_usage(server):
    """USD of all requests, at 1 USD per million tokens."""
    read, cost = script_reader(None), 0
    for body in server.requests:
        schema = body["response_format"]["json_schema"]["schema"]
        texts = [sum(len(message["content"]) for message in body["messages"]), len(read(body["messages"], schema).text)]
        cost += sum(-(-size // 4) for size in texts) / 1e6
    return cost


def workers():
    """The processes of this cluster that carry out a task."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::karat") and grandparent(folder) == os.getpid():
                yield int(folder.name)
        except OSError:  # it has ended
            pass


def grandparent(folder):
    def parent(path):
        return Path("/proc", (path / "stat").read_text().rpartition(")")[2].split()[1])

    return int(parent(parent(folder)).name)


def test_the_permits_of_a_killed_worker_come_back(rows, store, monkeypatch):
    monkeypatch.setattr(judges, "LEASE", 2.0)
    killed = []

    def answer(_):
        if len(server.requests) == 25:
            killed.extend(workers())  # one of them waits for this very reply
            for process in killed:
                os.kill(process, signal.SIGKILL)
        return {"explanation": "short", "label": "concise"}

    with FakeServer(answer, latency=0.3) as server:
        result = score(rows, server, governor := Governor(store=store, run="run", concurrency=8))
    assert killed
    assert result.values[JUDGE.spec].scored == ROWS
    assert ROWS < server.calls <= ROWS + 8
    assert governor.totals.calls == store.spent("run")[0] >= server.calls


def test_a_run_that_is_stopped_and_resumed_keeps_its_caps(rows, store):
    def answer(_):
        if len(server.requests) == 12:
            threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start()
        return {"explanation": "short", "label": "concise"}

    with FakeServer(answer, latency=0.1) as server:
        first = Governor(store=store, run="run", max_calls=20, rpm=12)
        with pytest.raises(KeyboardInterrupt):
            score(rows, server, first, run="first")
        assert server.calls == first.totals.calls == 12
        second = Governor(store=store, run="run", max_calls=20)
        result = score(rows, server, second, run="first", resume=True)
    assert server.calls == store.spent("run")[0] == 20
    assert second.totals.calls == 8
    assert result.values[JUDGE.spec].scored == 20
    assert result.reasons[JUDGE.spec] == {"not asked: the cap of 20 calls is reached": 60}


def test_answers_in_lists_are_judged_as_on_one_machine(tmp_path, rows, store):
    table = pq.read_table(rows)
    answers = [[answer, f"{answer}, or so"] for answer in table["answer"].to_pylist()]
    pq.write_table(table.set_column(1, "answer", [answers]), tmp_path / "lists.parquet", row_group_size=EACH)
    metrics = [parse("mean_of(judge:conciseness(model='fake'))"), parse("pass_at(judge:conciseness(model='fake'))@1")]
    with FakeServer() as server:
        with use_governor(Governor(store=store), base_url=server.url):
            there = karat.score(tmp_path / "lists.parquet", metrics, engine=Ray(judges=True), run="there")
        assert server.calls == 2 * ROWS
        with use_governor(Governor(store=store), base_url=server.url):
            here = karat.score(tmp_path / "lists.parquet", metrics)
    assert there.as_dict() == here.as_dict()
    assert open_run("there").manifest.models["calls"] == 2 * ROWS


@pytest.mark.parametrize(
    ("judge", "governor", "message"),
    [
        (Judge("conciseness", model=lambda *_: None), None, "is defined in this process"),
        (Judge("own", instructions="Is it?", inputs=["answer"], outputs=["yes"], model="fake"), None, "TOML file"),
        (JUDGE, lambda _: Governor(store=ReplyCache(":memory:")), "cache of replies is in memory"),
        (JUDGE, CountingGovernor, "requests in files, and dry runs"),
    ],
)
def test_what_other_machines_cannot_do_says_why(rows, store, judge, governor, message):
    with (
        use_governor((governor or (lambda _: Governor()))(store), base_url="http://localhost:1/v1"),
        pytest.raises(karat.errors.SpecError, match=message),
    ):
        karat.score(rows, judge, engine=Ray(judges=True))


def test_without_the_flag_the_message_names_it(rows):
    with pytest.raises(karat.errors.SpecError, match=r"leave the engine out, or let .*Ray\(judges=True\)"):
        karat.score(rows, JUDGE, engine=Ray())
