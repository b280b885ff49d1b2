"""Whether rows that are matched are the same: what is said of other questions, other gold and other code."""

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.errors import DataError
from karat.runs.match import alignment, keys
from karat.runs.store.run import open_run

N = 20
QUESTIONS = [f"What is {row}?" for row in range(N)]
ROWS = {"id": [f"q{row}" for row in range(N)], "question": QUESTIONS, "prediction": [f"{row}" for row in range(N)]}
GOLD = {"gold": [f"{row}" for row in range(N)]}
ORDER = np.random.default_rng(3).permutation(N).tolist()


@pytest.fixture(autouse=True)
def _runs_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)


def reworded(rows, share):
    """Rows of which some have another question: of the first, the third and so on, as many."""
    changed = [f"{each} Really?" if row % 2 == 0 and row < 2 * share else each for row, each in enumerate(QUESTIONS)]
    return {**rows, "question": changed}


def shuffled(rows):
    return {name: [cells[row] for row in ORDER] for name, cells in rows.items()}


def system(name, rows, kind, metric):
    if kind == "memory":
        return karat.score(rows, metric, keep=True)
    if kind == "run":
        return karat.score(rows, metric, run=name).run
    karat.score(rows, metric, output=(path := Path(f"{name}.{kind}")))
    return path


@pytest.mark.parametrize("kinds", [("memory", "memory"), ("run", "run"), ("run", "jsonl"), ("csv", "parquet")])
@pytest.mark.parametrize("other", [dict, shuffled], ids=["same order", "other order"])
def test_rows_of_one_id_with_other_questions_are_counted(kinds, other):
    rows = ROWS | GOLD
    a, b = system("a", rows, kinds[0], "exact_match"), system("b", other(reworded(rows, 3)), kinds[1], "exact_match")
    same = system("c", other(rows), kinds[1], "exact_match")
    for compare in (karat.compare, karat.rank):
        (note,) = [each for each in compare(a, b).notes if "question" in each]
        assert (
            "have another question in 3 of 20 rows, first in the row with id q0; if these are other questions" in note
        )
        assert not [each for each in compare(a, same).notes if "question" in each]


def test_rows_are_counted_where_they_are_read_from_the_files_as_they_come(monkeypatch):
    monkeypatch.setattr(alignment, "_MANY", 1)
    monkeypatch.setattr(alignment, "LIMIT", 1)
    pair = system("a", ROWS | GOLD, "run", "exact_match"), system("b", reworded(ROWS | GOLD, 2), "run", "exact_match")
    assert keys.align(pair).in_step
    assert "another question in 2 of 20 rows, first in the row with id q0" in karat.compare(*pair).notes[0]


def judged(rows, **options):
    return karat.score(rows | {"score": [1.0] * len(rows["id"])}, "column(score)", **options)


def test_without_gold_most_rows_need_the_same_question():
    whole = judged(ROWS)
    assert any(
        "another question in 9 of 20 rows" in note for note in karat.compare(whole, judged(reworded(ROWS, 9))).notes
    )
    other = judged({**ROWS, "question": [f"Who was {row}?" for row in range(N)]})
    for compare in (karat.compare, karat.rank):
        with pytest.raises(
            DataError,
            match=r"in 20 of 20 rows, first in the row with id q0, and no gold says .*id only counts the rows",
        ) as refused:
            compare(whole, other)
        assert "--allow-different" not in str(refused.value)
        named = [
            judged({**each.table.to_pydict(), "id": [f"{row * 7:x}" for row in range(N)]}) for each in (whole, other)
        ]
        with pytest.raises(DataError, match=r"no gold says .*\(--on\), or compare them anyway"):
            compare(*named)
        compared = compare(whole, other, allow_different=True)
        assert any("another question in 20 of 20 rows" in note for note in compared.notes)


def test_references_that_nothing_was_scored_with_are_compared_too():
    one, other = judged(ROWS | GOLD), judged(ROWS | {"gold": [*GOLD["gold"][:-1], "another"]})
    (note,) = karat.compare(one, other).notes
    assert "have another gold in 1 of 20 rows, first in the row with id q19" in note
    verdicts = [judged(ROWS | {"label": [each] * N}) for each in ("good", "bad")]
    assert not karat.compare(*verdicts).notes


def test_a_question_that_a_run_lacks_contradicts_nothing():
    rows = ROWS | GOLD
    lacking = {**rows, "question": [None, *QUESTIONS[1:]]}
    without = {name: rows[name] for name in rows if name != "question"}
    for other in (lacking, without):
        assert not karat.compare(karat.score(rows, "exact_match"), karat.score(other, "exact_match")).notes


def test_gold_of_every_role_is_compared():
    call = {"name": "find", "arguments": {"q": "x"}}
    rows = {"id": ["a", "b"], "tool_calls": [[call], [call]], "reference_tool_calls": [[call], [call]]}
    other = rows | {"reference_tool_calls": [[call], [call, call]]}
    pair = [karat.score(each, "tool_call_f1", run=name).run for name, each in (("a", rows), ("b", other))]
    with pytest.raises(DataError, match="different gold: it differs in 1 of 2 rows, first in the row with id b"):
        karat.compare(*pair)
    assert "different gold: it differs in 1 of 2 rows" in karat.compare(*pair, allow_different=True).notes[0]


cells = st.sampled_from([None, "", "a", "b", "a b", "\u00e9", "e\u0301"])


@settings(max_examples=50)
@given(st.lists(st.tuples(cells, cells, st.booleans()), max_size=40), st.integers(0, 2**32), st.data())
def test_counts_are_those_of_the_definition(rows, seed, data):
    """Rows with an id of two runs, of which some are left out, in any order and as any type of text."""
    kinds = st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
    random = np.random.default_rng(seed)
    rows = [*rows, ("same", "same", True), ("same", "same", True)]  # so that no question tells rows apart
    kept = [row for row, (*_, both) in enumerate(rows) if both]
    tables = []
    for side in (0, 1):
        order = random.permutation([*kept, *([len(rows)] if side else [])]).tolist()
        texts = [rows[row][side] if row < len(rows) else "only here" for row in order]
        column = pa.array(texts, pa.string()).cast(data.draw(kinds))
        tables.append(pa.table({"id": [f"{row}" for row in order], "question": column, "gold": ["x"] * len(order),
                                "prediction": ["x"] * len(order)}))  # fmt: skip
    different = [row for row in kept if None not in rows[row][:2] and rows[row][0] != rows[row][1]]
    if not kept:
        return
    compared = karat.compare(*(karat.score(table, "exact_match", keep=True) for table in tables), common=True)
    notes = [note for note in compared.notes if "another question" in note]
    assert [note.partition(" rows")[0] for note in notes] == (
        [f"A and B have another question in {len(different)} of {len(kept)}"] if different else []
    )
    first = next((row for row in map(int, tables[0]["id"].to_pylist()) if row in different), None)
    assert all(f"in the row with id {first};" in note for note in notes)


def test_an_id_that_is_there_twice_is_said_where_the_question_is_taken_instead():
    rows = ROWS | GOLD | {"id": ["q0", *(f"q{row // 2}" for row in range(1, N))]}
    for compare in (karat.compare, karat.rank):
        compared = compare(karat.score(rows, "exact_match"), karat.score(shuffled(rows), "exact_match"))
        assert compared.by == "question"
        assert compared.notes[0] == (
            "rows are matched by question, as A: column 'id' has 'q0' more than once; 10 of 20 rows repeat an earlier "
            "one; name another column of ids with on (--on)"
        )
    alike = {**rows, "question": ["?"] * N}
    notes = karat.compare(karat.score(alike, "exact_match"), karat.score(alike, "exact_match")).notes
    assert [note.partition(" as ")[0] for note in notes[:2]] == ["rows are matched in their order,"] * 2
    assert "column 'question' has '?' more than once; 19 of 20 rows" in notes[1]
    assert notes[2].startswith("no id or question tells the rows apart")


def test_a_topic_that_repeats_is_a_group_and_not_a_damaged_id():
    rows = {name: cells for name, cells in (ROWS | GOLD).items() if name != "id"} | {"topic": ["x", "y"] * (N // 2)}
    compared = karat.compare(karat.score(rows, "exact_match"), karat.score(shuffled(rows), "exact_match"))
    assert (compared.by, compared.notes) == ("question", ())


OWN = """
import karat
@karat.metric(source="ours", register=False)
def constant(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "The same for each row."
    return [{share}] * len(prediction)
"""


def own_metric(share):
    (path := Path("our_constant.py")).write_text(OWN.format(share=share), "utf-8")
    spec = spec_from_file_location("our_constant", path)
    sys.modules["our_constant"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.constant


@pytest.mark.parametrize("inner", [False, True])
def test_runs_of_other_code_of_an_own_metric_are_not_compared_without_a_word(monkeypatch, inner):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else the second code may be that of the first
    for name, share in (("a", 1.0), ("b", 0.5), ("c", 1.0)):
        metric = own_metric(share)
        chosen = karat.metrics.best_of.using(metric=metric) if inner else metric
        rows = ROWS | {"prediction": [[each] for each in ROWS["prediction"]]} if inner else ROWS
        karat.score(rows, [chosen], run=name)
    assert not karat.compare("a", "c").notes
    problem = "was scored differently in a and b: the code of constant has changed"
    for compare in (karat.compare, karat.rank):
        with pytest.raises(DataError, match=rf"{problem}. Score both with the same code, or compare them anyway"):
            compare("a", "b")
        assert any(problem in note for note in compare("a", "b", allow_different=True).notes)
    run = open_run("b")
    old = replace(run, manifest=replace(run.manifest, settings={}))
    assert "a and b do not both know the code of constant" in karat.compare("a", old).notes[0]
