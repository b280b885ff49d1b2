"""A gold patch: scoring with it is scoring a table in which somebody changed the gold by hand."""

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv

import karat
from karat.cli.main import main
from karat.core.errors import ColumnError, DataError, JoinError
from karat.data.json.texts import list_golds
from karat.runs.columns.gold_patch import read_patch, write_patch
from karat.runs.scoring.tasks.local import InTurn

ROWS = [
    {"id": "1", "question": "a", "answer": "Paris", "gold": "Lyon"},
    {"id": "2", "question": "b", "answer": "Rome", "gold": "Rome"},
    {"id": "3", "question": "c", "answer": "Bonn", "gold": "Berlin"},
    {"id": "4", "question": "d", "answer": "Oslo", "gold": "Bergen"},
    {"id": "5", "question": "e", "answer": "Bern", "gold": "Basel"},
]
PATCH = [
    {"id": "1", "old": "Lyon", "new": "Paris", "verdict": "wrong", "who": "ada", "why": "the capital"},
    {"id": "2", "old": "Rome", "verdict": "right"},
    {"id": "3", "old": "Berlin", "new": "Bonn", "verdict": "also right"},
    {"id": "4", "old": "Bergen", "verdict": "ambiguous"},
    {"id": "5", "old": "Basel", "verdict": "wrong"},
]
REASONS = {"gold is ambiguous (gold patch)": 1, "gold is wrong, and no other is known (gold patch)": 1}
BY_HAND = [
    row | {"gold": gold} for row, gold in zip(ROWS, ["Paris", "Rome", ["Berlin", "Bonn"], None, None], strict=True)
]
SPECS = ["em", "f1"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return name


def values(result):
    return {spec: (each.value, each.low, each.high, each.scored) for spec, each in result.values.items()}


def test_a_patched_table_is_scored_as_one_that_was_changed_by_hand():
    patched = karat.score(ROWS, SPECS, gold_patch=PATCH)
    assert values(patched) == values(karat.score(BY_HAND, SPECS))
    assert patched.reasons["em"] == REASONS
    assert patched.table["gold"].to_pylist() == [["Paris"], ["Rome"], ["Berlin", "Bonn"], None, None]
    assert str(patched.gold_patch).endswith("1 given other gold, 1 given further gold, 2 left unscored, 1 found right")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_of_answers_and_of_gold(ending):
    table = pa.Table.from_pylist(ROWS)
    answers, gold = f"answers.{ending}", f"gold.{ending}"
    for name, columns in ((answers, ["id", "answer"]), (gold, ["id", "question", "gold"])):
        source = table.select(columns)
        if ending == "parquet":
            pq.write_table(source, name)
        elif ending == "csv":
            csv.write_csv(source, name)
        else:
            write(name, source.to_pylist())
    patch = write("patch.jsonl", PATCH)
    found = karat.score(answers, SPECS, gold=gold, on="id", gold_patch=patch)
    assert values(found) == values(karat.score(BY_HAND, SPECS))


@pytest.mark.parametrize(
    ("golds", "old", "new", "expected"),
    [
        ([["a", "b"], ["c"]], ["a", "b"], "x", [["x"], ["c"]]),
        (['["a", "b"]', "['c']"], ["a", "b"], ["x", "y"], [["x", "y"], ["c"]]),  # lists in one text
        ([7, 8], 7, 9, [["9"], ["8"]]),
        ([1.5, 2.25], 1.5, "1.75", [["1.75"], ["2.25"]]),
        (["a", ["b"]], "a", ["x", "y"], [["x", "y"], ["b"]]),
        ([None, "b"], None, "x", [["x"], ["b"]]),
    ],
)
def test_gold_of_every_kind(golds, old, new, expected):
    rows = [{"id": at, "answer": "x", "gold": gold} for at, gold in enumerate(golds)]
    write("rows.jsonl", rows)
    found = karat.score("rows.jsonl", "em", gold_patch=[{"id": 0, "old": old, "new": new, "verdict": "wrong"}])
    assert [list_golds(cell) for cell in found.table[found.mapping["reference"]].to_pylist()] == expected
    assert found.values["em"].value == (0.0 if golds[0] in (7, 1.5) else 0.5)


class Elsewhere(InTurn):
    """What processes and clusters do: they get the recipe as bytes."""

    def run(self, recipe, tasks, advance):
        return super().run(pickle.loads(pickle.dumps(recipe)), tasks, advance)  # noqa: S301


def test_in_tasks():
    rows = [{"id": at, "answer": f"a{at}", "gold": f"a{at}" if at % 2 else "b"} for at in range(8)]
    pq.write_table(pa.Table.from_pylist(rows), "rows.parquet", row_group_size=2)
    patch = [
        {"id": 6, "old": "b", "new": "a6", "verdict": "also right"},
        {"id": 1, "old": "a1", "verdict": "ambiguous"},
    ]
    found = karat.score("rows.parquet", "em", gold_patch=patch, engine=Elsewhere())
    assert values(found) == values(karat.score("rows.parquet", "em", gold_patch=patch))
    assert (found.values["em"].scored, found.values["em"].value) == (7, 4 / 7)


@pytest.mark.parametrize("repetitions", [1, 2])
def test_an_experiment(repetitions):
    asked = []

    def answer(id):  # noqa: A002  (a column)
        asked.append(id)
        return "Paris"

    rows = {"id": [7, 8], "reference": ["Lyon", "Oslo"]}
    patch = [
        {"id": 7, "old": "Lyon", "new": "Paris", "verdict": "wrong"},
        {"id": 8, "old": "Oslo", "verdict": "ambiguous"},
    ]
    result = karat.experiment(rows, answer, "em", gold_patch=patch, repetitions=repetitions)
    assert result.table["em"].to_pylist() == [1.0] * repetitions + [None] * repetitions
    assert str(result.gold_patch) == "gold patched by list: 1 given other gold, 1 left unscored"
    with pytest.raises(karat.errors.DataError, match="the gold of '7' was 'Nice', but is 'Lyon'"):
        karat.experiment(rows, answer, "em", gold_patch=[{"id": 7, "old": "Nice", "verdict": "right"}])
    assert len(asked) == 2 * repetitions


def test_a_patched_run_says_so_and_is_compared_with_its_like_alone():
    patch = write("fixes.jsonl", PATCH)
    reworded = [{**line, "why": "said again"} for line in PATCH[::-1]]
    one = karat.score(ROWS, SPECS, gold_patch=patch, run="one")
    karat.score(ROWS, SPECS, gold_patch=reworded, run="like")
    karat.score(ROWS, SPECS, run="plain")
    karat.score(ROWS, SPECS, gold_patch=PATCH[:1], run="other")
    kept = one.run.manifest.settings["gold_patch"]
    assert (kept["name"], kept["replaced"], kept["unscored"]) == ("fixes.jsonl", 1, 2)
    assert str(one.gold_patch) in karat.compare("one", "like").notes
    with pytest.raises(
        DataError, match=r"one was scored with the gold patch fixes.jsonl, plain without it\. Score plain"
    ):
        karat.compare("one", "plain")
    with pytest.raises(DataError, match=r"--gold-patch fixes.jsonl \(in Python, gold_patch='fixes.jsonl'\)"):
        karat.rank("plain", "one")
    with pytest.raises(
        DataError, match=r"one was scored with the gold patch fixes.jsonl and other with .* decides othe"
    ):
        karat.compare("one", "other")
    notes = karat.compare("one", "plain", allow_different=True).notes
    assert any("without it" in note for note in notes)
    found = CliRunner().invoke(main, ["runs", "show", "one"])
    assert "gold patched by fixes.jsonl: 1 given other gold" in found.output


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        ([{"id": "1", "old": "Paris", "verdict": "ambiguous"}], DataError,
         r"list, row 1, column 'old': the gold of '1' was 'Paris', but is 'Lyon' in list, row 1, column 'gold'"),
        ([{"id": "12", "old": "", "verdict": "ambiguous"}], JoinError, r"list, row 1: no row of list has the id '12'"),
        ([{"id": "1", "old": "Lyon", "verdict": "wrongg"}], DataError, r"row 1: column 'verdict': .* mean 'wrong'"),
        ([{"id": "1", "old": "Lyon", "new": "x", "verdict": "right"}], DataError, r"'new': gold that is right"),
        ([{"id": "1", "old": "Lyon", "verdict": "also right"}], DataError, r"expected what is right beside 'Lyon'"),
        ([{"id": "1", "old": "Lyon", "verdict": "right"}] * 2, JoinError, r"row 2: column 'id': .*'1' is in row 1 too"),
        ([{"id": "1", "odl": "Lyon", "verdict": "right"}], ColumnError, r"there is no 'old'; did you mean 'odl'"),
        ([{"id": "1", "old": "Lyon", "verdict": "right", "whyy": ""}], ColumnError, r"'whyy' is none .*mean 'why'"),
    ],
)  # fmt: skip
def test_a_patch_that_does_not_fit_is_refused(lines, error, message):
    with pytest.raises(error, match=message):
        karat.score(ROWS, "em", gold_patch=lines)


def test_ids_are_found_where_on_says():
    rows = [{"uid": row["id"], "id": "0", **{k: row[k] for k in ("answer", "gold")}} for row in ROWS]
    assert karat.score(rows, "em", gold_patch=PATCH, on="uid").values["em"].scored == 3
    with pytest.raises(ColumnError, match="no column 'uuid'; did you mean 'uid'"):
        karat.score(rows, "em", gold_patch=PATCH, on="uuid")
    without = [{"answer": row["answer"], "gold": row["gold"]} for row in ROWS]
    with pytest.raises(JoinError, match="no column of list has the name of one"):
        karat.score(without, "em", gold_patch=PATCH)


def test_a_patch_of_a_spreadsheet():
    lines = [f"{each['id']},{each['old']},{each.get('new', '')},{each['verdict']},," for each in PATCH]
    Path("patch.csv").write_text("\n".join(["id,old,new,verdict,who,why", *lines]) + "\n", "utf-8")
    assert values(karat.score(ROWS, SPECS, gold_patch="patch.csv")) == values(karat.score(BY_HAND, SPECS))


def test_what_is_written_is_read_again():
    patch = read_patch(PATCH)
    write_patch(patch.changes.values(), "written.jsonl")
    assert read_patch("written.jsonl").changes == patch.changes
