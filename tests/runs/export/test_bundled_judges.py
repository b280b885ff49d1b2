"""What judges replied is in a bundle: scores are derived from the replies again, and no model is ever asked."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.judges import rubric, use_governor
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.testing.fake import FakeModel
from karat.runs.export.bundle.archive import read_archive, write_archive

N = 12
TABLE = {
    "id": list(range(N)),
    "question": [f"What is {row}?" for row in range(N)],
    "prediction": [None if row == 4 else f"it is {row % 5}" for row in range(N)],
    "gold": [f"it is {row % 3}" for row in range(N)],
}
OWN = """
name = "brief"
summary = "Is the answer brief?"
source = "none"
inputs = ["prediction"]
[prompt]
task = "Say whether the answer is brief."
[reply]
kind = "label"
choices = { brief = 1, long = 0 }
"""
REPLIES = "runs/judged/replies.parquet"


def answer(messages):
    """A label that follows from the last prompt; where it holds a 2, no label at first."""
    text = messages[-1]["content"]
    if "it is 2" in text and len(messages) < 4:
        return {"verdict": "hm"}
    brief = "brief" in messages[0]["content"]
    chosen = ("brief", "long") if brief else ("correct", "incorrect")
    return {"explanation": f"about {len(text)}", "label": chosen["it is 1" in text]}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A folder with a run by three judges, a cache of their replies, and a bundle."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        patch.setenv("KARAT_CACHE", str(folder / "replies.sqlite"))
        patch.chdir(folder)
        Path("own.toml").write_text(OWN)
        judge(["judge:correctness(model='one')", "judge:own.toml(model=['one', 'two', 'three'])", "em"], "judged")
        judge(["judge:correctness(model='one')"], "ruled", until=karat.Until(width=0.9))
        judge(["judge:correctness(model='one')"], "paid", until=karat.Until(width=0.9, cost=5))
        judge(["judge:correctness(model='one')"], "spent", until=karat.Until(cost=1e-3))
        for name in ("judged", "ruled", "paid", "spent"):
            written = karat.bundle(name, output=f"{name}.zip")
            assert written.notes == ()
        Path("own.toml").unlink()
    return folder


def judge(metrics, run, **options):
    with ReplyCache() as cache, use_governor(Governor(store=cache, price=(1.0, 1.0)), connect=connect):
        return karat.score(TABLE, metrics, run=run, **options)


def connect(name):
    return FakeModel(answer, name=name, endpoint="http://models.test/v1")


@pytest.fixture
def place(judged, tmp_path, monkeypatch):
    """A place where nobody knows the replies, and no model can be asked."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "none.sqlite"))
    monkeypatch.setenv("KARAT_RUNS", str(judged / "runs"))
    monkeypatch.chdir(tmp_path)

    async def refuse(*_):
        raise AssertionError("a model was asked")

    monkeypatch.setattr(FakeModel, "__call__", refuse)
    monkeypatch.setattr(rubric, "own_judges", dict)  # a later release may have other prompts
    with use_governor(Governor(), connect=connect):
        yield judged


def wrong(verified):
    return [(each.of.partition("(")[0], each.kind, each.state) for each in verified.checks if each.state != "equal"]


def change_replies(path, change):
    """The bundle with other replies: `change` gets the rows; all digests are made anew."""
    read = read_archive(path)
    members = {each.name: read.read(each.name) for each in read.index.members}
    rows = pq.read_table(pa.BufferReader(members[REPLIES])).to_pylist()
    rows = change(rows) or rows
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    write_archive("changed.zip", read.index.about, {**members, REPLIES: bytes(sink.getvalue())})
    return karat.verify("changed.zip")


def about(rows, text):
    """The requests of the judge of correctness about an answer."""
    messages = [json.loads(each["request"])["messages"] for each in rows]
    return [
        each
        for each, (first, *_, last) in zip(rows, messages, strict=True)
        if text in last["content"] and "brief" not in first["content"]
    ]


def test_what_judges_said_is_derived_from_their_replies(place):
    verified = karat.verify(place / "judged.zip")
    assert wrong(verified) == []
    kinds = {(each.of.partition("(")[0], each.kind): each.compared for each in verified.checks}
    assert kinds["judge:correctness", "score"] == kinds["judge:own.toml", "score"] == N
    assert any(kind == "detail" and of == "judge:own.toml" for of, kind in kinds)
    assert kinds["replies.parquet", "reply"] > 2 * N
    assert karat.bundle("judged", output="without.zip").notes != ()


def test_a_changed_reply_prompt_or_key_is_found(place):
    def flip(rows):
        row = next(each for each in about(rows, "it is 0") if '\\"correct' in each["reply"])
        reply = json.loads(row["reply"])
        row["reply"] = json.dumps({**reply, "text": reply["text"].replace('"correct"', '"incorrect"')})

    assert ("judge:correctness", "score", "differs") in wrong(change_replies(place / "judged.zip", flip))

    def reword(rows):
        row = about(rows, "it is 0")[0]
        row["request"] = row["request"].replace("it is 0", "it was 0")

    verified = change_replies(place / "judged.zip", reword)
    assert wrong(verified) == [("replies.parquet", "reply", "differs")]
    assert "other request" in next(each.note for each in verified.checks if each.state == "differs")

    def damage(rows):
        rows[1]["request"] = rows[1]["request"].replace("messages", "message", 1)

    (check,) = (each for each in change_replies(place / "judged.zip", damage).checks if each.state != "equal")
    where = "changed.zip: runs/judged/replies.parquet, row 2: request: messages is missing"
    assert (check.run, check.state, check.note) == ("judged", "differs", where)

    def add(rows):
        return [*rows, {**rows[0], "key": "0" * 64}]

    assert wrong(change_replies(place / "judged.zip", add)) == [("replies.parquet", "reply", "differs")]


def test_a_missing_reply_is_said_and_never_asked_for(place):
    def remove(rows):
        gone = about(rows, "it is 0")
        return [each for each in rows if each not in gone]

    verified = change_replies(place / "judged.zip", remove)
    assert wrong(verified) == [("replies", "reply", "differs"), ("judge:correctness", "score", "not recomputed")]
    notes = [each.note for each in verified.checks if each.state != "equal"]
    assert notes == [
        "scores that lack a reply: 0 in the bundle, 6 recomputed",
        "6 of 12 rows lack a reply",
    ]
    assert [each.kind for each in verified.checks if each.note == "from the stored scores"] == ["value", "interval"]


def test_replies_that_are_not_in_the_cache_are_missed_when_the_bundle_is_written(place):
    done = CliRunner().invoke(main, ["runs", "bundle", "ruled", "-o", "lacks.zip"])
    assert done.exit_code == 0, done.output
    assert "scores of ruled cannot be derived again: the cache of replies" in done.stderr
    assert karat.verify("lacks.zip").state == "not recomputed"


def test_a_judge_that_a_rule_stopped(place):
    verified = karat.verify(place / "ruled.zip")
    assert wrong(verified) == []
    assert json.loads((place / "runs/ruled/values.json").read_text())["metrics"][0]["not_asked"] > 0
    assert wrong(karat.verify(place / "paid.zip")) == []
    assert wrong(karat.verify(place / "spent.zip")) == [("judge:correctness", "value", "not recomputed")]
