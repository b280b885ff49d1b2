"""People decide about doubtful gold: what they see, what is kept, and the patch that follows."""

import json
from pathlib import Path

import pytest

import karat
from karat.core.errors import ColumnError, DataError, JoinError, SpecError
from karat.runs.gold.people import GoldSession, open_doubtful_rows

DOUBTS = [
    {
        "id": str(at), "question": f"q{at}", "reference": ["Lyon"], "doubt": 0.9, "reasons": ["many agree"],
        "answers": [{"system": f"gpt-{name}", "answer": text, "score": 0.0}
                    for name, text in enumerate(("Paris", "Paris ", "Nice", "Lyon", None))],
    } for at in range(4)
]  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("doubts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DOUBTS), "utf-8")


def begin(annotator="ada", seed=0):
    return GoldSession(open_doubtful_rows("doubts.jsonl", seed), "patch.jsonl", annotator, seed)


def patch():
    return [json.loads(line) for line in Path("patch.jsonl").read_text("utf-8").splitlines()]


def test_nothing_says_whose_an_answer_is_or_how_doubtful_the_gold():
    orders = set()
    for seed in range(9):
        rows = open_doubtful_rows("doubts.jsonl", seed)
        for at in range(4):
            shown = rows.read(at)
            assert {name: cell for name, cell in shown.items() if name != "answers"} == {
                "question": f"q{at}", "gold": ["Lyon"],
            }  # fmt: skip
            assert sorted(shown["answers"]) == ["Nice", "Paris"]
            orders.add(tuple(shown["answers"]))
    assert len(orders) == 2
    assert open_doubtful_rows("doubts.jsonl", 1).items == open_doubtful_rows("doubts.jsonl", 1).items


def test_every_verdict_is_in_the_patch_at_once_also_after_a_pause():
    session = begin()
    session.label("wrong", 0, "typo", new=["Paris"])
    assert [(line["id"], line["old"], line["new"], line["verdict"], line["who"], line["why"]) for line in patch()] == [
        ("0", "Lyon", "Paris", "wrong", "ada", "typo")
    ]
    session.label("ambiguous", 1)
    session.skip(2)
    Path("patch.jsonl").unlink()  # as if it was killed between the journal and the patch
    later = begin()
    assert later.finished == 3
    assert [line["verdict"] for line in patch()] == ["wrong", "ambiguous"]
    later.label("also right", 3, new=["Nice"])
    later.undo(1)
    assert [line["verdict"] for line in patch()] == ["wrong", "also right"]
    scored = karat.score(
        {"id": range(4), "gold": ["Lyon"] * 4, "answer": ["Paris", "Paris", "Lyon", "Nice"]},
        "em",
        gold_patch="patch.jsonl",
    )
    assert scored.table["em"].to_pylist() == [
        1,
        0,
        1,
        1,
    ]


def test_a_row_on_which_people_disagree_is_not_in_the_patch():
    ada, bob = begin(), begin("bob")
    ada.label("wrong", 0, "a slip", new=["Paris"])
    bob.label("wrong", 0, "it is Paris", new=["Paris"])
    ada.label("right", 1)
    bob.label("also right", 1, new=["Nice"])
    assert bob.disputed == ["1"]
    assert [(line["who"], line["why"]) for line in patch()] == [("ada, bob", "a slip; it is Paris")]


def test_new_gold_belongs_to_a_verdict():
    session = begin()
    with pytest.raises(SpecError, match="the answer that is right beside the gold"):
        session.label("also right", 0)
    with pytest.raises(SpecError, match="gold that is ambiguous has no new one"):
        session.label("ambiguous", 0, new=["Paris"])
    assert not Path("patch.jsonl").exists()


def test_what_is_not_a_file_of_doubtful_gold_is_refused():
    with pytest.raises(ColumnError, match=r"as karat gold -o FILE.jsonl writes it, but there is no column 'reference'"):
        open_doubtful_rows([{"id": 1, "gold": "x"}])
    with pytest.raises(JoinError, match=r"row 2: column 'id': .* '1' is there before"):
        open_doubtful_rows([{"id": 1, "reference": "x"}] * 2)
    Path("patch.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"not the journal patch.journal.jsonl"):
        begin()
