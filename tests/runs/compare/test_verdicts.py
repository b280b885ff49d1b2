"""`karat.rank_verdicts`: which columns and words are read, how real verdicts rank, and what bad ones get."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import karat
from karat.core.errors import ColumnError, DataError, SpecError

PANDALM = Path(__file__).parents[3] / "../shared/data/judge_pairwise_pandalm/testset-v1.json.gz"
WINNERS = ["x", "y", "tie", "x", "x", "y"]
ROWS = [
    {"a": one, "b": other, "winner": {"x": one, "y": other}.get(winner, winner)}
    for one, other in (("m", "n"), ("n", "m"), ("n", "o"), ("o", "m"))
    for winner in WINNERS
]


def strengths(ranked):
    return {each.system: each.value for each in ranked.rankings[0].systems}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("a", "b", "winner"), ("a", "b", "tie")),
        (("model_a", "model_b", "winner"), ("model_a", "model_b", "tie (bothbad)")),
        (("System A", "System B", "Verdict"), ("First", "second", "Draw")),
        (("a", "b", "judge:pairwise(model='m').label"), ("first", "second", "tie")),
        (("first", "second", "preference"), (1, 2, 0)),
    ],
)
def test_columns_and_words_that_tools_use_mean_the_same(names, words):
    rows = []
    for row in ROWS:
        word = words[2] if row["winner"] == "tie" else words[0] if row["winner"] == row["a"] else words[1]
        rows.append(dict(zip(names, (row["a"], row["b"], word), strict=True)))
    assert strengths(karat.rank_verdicts(rows)) == strengths(karat.rank_verdicts(ROWS))


def test_labels_of_ones_own_and_paths_into_objects():
    labels = {"x": "win", "y": "loss"}
    rows = [
        {"models": {"one": row["a"], "other": row["b"]}, "label": labels.get("x" if row["winner"] == row["a"] else "y")}
        if row["winner"] != "tie"
        else {"models": {"one": row["a"], "other": row["b"]}, "label": "0"}
        for row in ROWS
    ]
    columns = {"a": "models.one", "b": "models.other"}
    found = karat.rank_verdicts(rows, map=columns, label_map="win=1,loss=0,0=0.5")
    assert strengths(found) == strengths(karat.rank_verdicts(ROWS))


def test_rows_without_a_winner_do_not_count():
    ranked = karat.rank_verdicts([*ROWS, {"a": "m", "b": "o", "winner": None}, {"a": "m", "b": "o", "winner": " "}])
    assert strengths(ranked) == strengths(karat.rank_verdicts(ROWS))
    assert "2 of 26 rows do not count: they have no winner" in ranked.notes
    assert {each.system: each.missing for each in ranked.rankings[0].systems} == {"m": 2, "n": 0, "o": 2}


@pytest.mark.skipif(not PANDALM.exists(), reason="the verdicts are not beside the project")
def test_verdicts_of_people_on_five_models():
    """PandaLM's test set: all annotators have LLaMA first and Cerebras-GPT last, with no effect of the order."""
    rows = json.loads(gzip.decompress(PANDALM.read_bytes()))
    for row in rows:
        row["a"], row["b"] = row["cmp_key"].split("_", 1)
    for annotator in ("annotator1", "annotator2", "annotator3"):
        ranked = karat.rank_verdicts(rows, map={"winner": annotator})
        order = [each.system for each in ranked.rankings[0].systems]
        assert (order[0], order[-1]) == ("llama-7b", "cerebras-gpt-6.7B")
        assert ranked.estimates["order"].low < 0 < ranked.estimates["order"].high
        assert (ranked.rankings[0].scored, ranked.family) == (999, 10)


def test_the_effect_of_the_order_is_left_out_on_request_and_where_it_is_unknown():
    assert "order" in karat.rank_verdicts(ROWS).estimates
    without = karat.rank_verdicts(ROWS, order_effect=False)
    assert ("order" in without.estimates, without.notes) == (False, ())
    fixed = karat.rank_verdicts(ROWS[:6])
    assert "order" not in fixed.estimates
    assert any("in both places" in note for note in fixed.notes)


def test_verdicts_on_one_question_are_taken_together():
    rows = [{**row, "question": n // 4} for n, row in enumerate(ROWS)]
    plain, together = karat.rank_verdicts(rows), karat.rank_verdicts(rows, cluster="question")
    assert strengths(plain) == strengths(together)
    assert plain.rankings[0].pairs[0].p != together.rankings[0].pairs[0].p
    assert "verdicts that share question are taken together" in together.notes


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"winner": "z"}, DataError, r"row 25.*winner expected \(m, n, first, second or tie\), found 'z'"),
        ({"winner": "0"}, DataError, "found '0'; --label-map"),  # without a 2, 0 may be the second
        ({"b": "m"}, DataError, "row 25: two systems expected, found m twice"),
        ({"a": None}, DataError, "row 25, column 'a': the name of a system is expected"),
        ({"b": "new", "winner": "new"}, DataError, "new never lost to another system, nor tied with it"),
    ],
)
def test_bad_verdicts_are_named_with_their_row(tmp_path, change, error, message):
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*ROWS, {"a": "m", "b": "n", "winner": "m", **change}]))
    with pytest.raises(error, match=message):
        karat.rank_verdicts(path)


def test_columns_that_are_missing_or_several_are_named():
    with pytest.raises(ColumnError, match=r"of left_model, b, winner, none fits 'a': say which, --map a=COLUMN"):
        karat.rank_verdicts([{"left_model": "m", "b": "n", "winner": "m"}])
    with pytest.raises(ColumnError, match="winner and verdict fit 'winner'"):
        karat.rank_verdicts([{**ROWS[0], "verdict": "m"}])
    with pytest.raises(ColumnError, match="no column 'wins' for winner; did you mean 'winner'"):
        karat.rank_verdicts(ROWS, map={"winner": "wins"})
    with pytest.raises(SpecError, match="no column 'c'"):
        karat.rank_verdicts(ROWS, map={"c": "winner"})
    with pytest.raises(DataError, match="no row has a winner"):
        karat.rank_verdicts([{**ROWS[0], "winner": None}])


def test_strengths_at_equal_length():
    random = np.random.default_rng(0)
    rows = []
    for _ in range(400):  # equally strong, but m writes more, and the longer answer wins
        texts = {"m": "x" * int(random.integers(20, 60)), "n": "x" * int(random.integers(10, 40))}
        a, b = random.permutation(["m", "n"]).tolist()
        longer = (len(texts[a]) - len(texts[b])) / (len(texts[a]) + len(texts[b]))
        first = random.random() < 1 / (1 + np.exp(-3 * longer))
        rows.append({"a": a, "b": b, "winner": a if first else b, "answer_a": texts[a], "answer_b": texts[b]})
    plain, equal = karat.rank_verdicts(rows), karat.rank_verdicts(rows, length_effect=True)
    assert plain.rankings[0].pairs[0].separated
    assert not equal.rankings[0].pairs[0].separated
    effect = equal.estimates["length"]
    assert effect.low < 3 < effect.high
    assert any("twice as long wins 7" in note and "at equal length" in note for note in equal.notes)
    sizes = [{"left": len(row["answer_a"]), "right": len(row["answer_b"])} for row in rows]
    kept = ("a", "b", "winner")
    counted = [{**{name: row[name] for name in kept}, **size} for row, size in zip(rows, sizes, strict=True)]
    named = {"length_a": "left", "length_b": "right"}
    assert strengths(karat.rank_verdicts(counted, map=named, length_effect=True)) == strengths(equal)
    with pytest.raises(DataError, match="row 1, column 'left': expected an answer, or its length, found none"):
        karat.rank_verdicts([{**counted[0], "left": None}, *counted[1:]], map=named, length_effect=True)
    with pytest.raises(ColumnError, match=r"none fits 'length_a': say which, --map length_a=COLUMN"):
        karat.rank_verdicts(counted, length_effect=True)
