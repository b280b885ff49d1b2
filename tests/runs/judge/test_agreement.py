"""Agreement over the rows of runs, files and frames: what is read, what is said, and what is refused."""

import json

import numpy as np
import pytest

import karat
from karat.errors import ColumnError, DataError, JoinError, SpecError

pd = pytest.importorskip("pandas")

MAP = "good=1,bad=0"
random = np.random.default_rng(4)
N = 400
HIDDEN = random.random(N) < 0.6
EASY = np.arange(N) % 4 != 0


def see(right, seed):
    """A rater who is right about the hidden truth with this probability, one for all rows or one for each."""
    return np.where(np.random.default_rng(seed).random(N) < right, HIDDEN, ~HIDDEN) * 1.0


ADA, BOB = see(0.95, 1), see(0.95, 2)
JUDGE = see(np.where(EASY, 0.95, 0.55), 3)
SCORE = np.round(JUDGE * 0.3 + np.random.default_rng(5).random(N) * 0.7, 3)
ROWS = {
    "id": [f"r{row}" for row in range(N)],
    "question": [f"why {row}?" for row in range(N)],
    "prediction": [f"because {row}" for row in range(N)],
    "topic": np.where(EASY, "easy", "hard"),
    "author": np.arange(N) // 2,
    "judge": JUDGE,
    "score": SCORE,
}


def names(labels):
    return np.where(labels == 1, "good", "bad").tolist()


LONG = pd.DataFrame({
    "id": ROWS["id"] * 2,
    "annotator": ["ada"] * N + ["bob"] * N,
    "label": names(ADA) + names(BOB),
})  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return karat.examine(
        pd.DataFrame(ROWS), columns=["judge", "score"], human=LONG, on="id", label_map=MAP, by="topic", errors=2
    )


def verdict(found, score):
    return found.judge(score).people


def test_every_pair_of_raters_is_there(found):
    pairs = [(each.first, each.second) for each in found.pairs if each.slice is None]
    assert pairs == [
        ("judge", "people"), ("score", "people"), ("people", "people"), ("ada", "bob"), ("judge", "score"),
    ]  # fmt: skip
    assert {each.slice for each in found.pairs} == {None, "easy", "hard"}
    assert len(found.pairs) == 15
    with pytest.raises(KeyError, match="no pair judge with nobody"):
        found.pair("judge", "nobody")


def test_people_are_the_label_of_most_of_them_and_ties_are_left_out(found):
    same = ADA == BOB
    figures = found.pair("judge").figures
    assert figures["accuracy"].n == same.sum()
    assert figures["accuracy"].value == pytest.approx((JUDGE == ADA)[same].mean())
    expected = f"of {same.sum()} rows on which most people agree; {(~same).sum()} rows are tied; corrected for chance"
    assert expected in found.judge("judge").sentences[0]
    assert f"rows on which most people agree); {(~same).sum()} rows are tied" in found.judge("score").sentences[0]
    assert f"on {(~same).sum()} of {N} rows no label has a majority of people" in found.notes[0]


def test_the_confusion_matrix_counts_the_first_rater_down(found):
    confusion = found.pair("ada", "bob").confusion
    assert [list(row) for row in confusion.counts] == [
        [int(((one == ADA) & (other == BOB)).sum()) for other in (0, 1)] for one in (0, 1)
    ]
    assert found.pair("score").confusion is None


def test_a_weak_judge_is_told_from_people_and_its_weak_slice_is_named(found):
    gap = verdict(found, "judge").with_people
    assert gap.difference.high < 0
    assert gap.other.low < gap.other.value < gap.other.high
    slices = verdict(found, "judge").slices
    assert {name: each.fails for name, each in slices.items()} == {"easy": False, "hard": True}
    _, people, errors, weak = found.judge("judge").sentences
    same, alone = verdict(found, "judge").same_label, np.column_stack([JUDGE, ADA, BOB])
    assert same.value.value == pytest.approx(np.mean(alone[:, :1] == alone[:, 1:]))
    assert same.other.value == pytest.approx(np.mean(ADA == BOB))
    shown = "the same label in 81.4 % [77.6, 84.6] against 89.8 % [86.4, 92.4], alpha 0.626"
    assert people.startswith(f"judge agrees with a person less than people agree with each other: {shown}")
    assert errors.startswith("false praise: ")
    assert weak.startswith("judge is worse in hard: agreement with a person 0.540")


def test_a_third_person_is_not_told_from_the_others():
    rows = pd.DataFrame({**ROWS, "judge": see(0.95, 9)})
    verdict_ = karat.examine(rows, columns=["judge"], human=LONG, on="id", label_map=MAP, by="topic").judges[0].people
    assert verdict_.with_people.difference.low < 0 < verdict_.with_people.difference.high
    assert not any(each.fails for each in verdict_.slices.values())


def test_the_rates_of_false_praise_and_blame(found):
    same = ADA == BOB
    praise, blame = verdict(found, "judge").false_praise, verdict(found, "judge").false_blame
    assert praise.value == pytest.approx(JUDGE[same & (ADA == 0)].mean())
    assert blame.value == pytest.approx(1 - JUDGE[same & (ADA == 1)].mean())
    assert (praise.n, blame.n) == ((same & (ADA == 0)).sum(), (same & (ADA == 1)).sum())
    assert verdict(found, "judge").bias.value == pytest.approx((JUDGE - (ADA + BOB) / 2).mean())


def test_errors_are_listed_with_texts_and_labels(found):
    kinds = [(each.score, each.kind) for each in found.errors]
    assert kinds == [
        (score, kind) for score in ("judge", "score") for kind in ("false praise", "false blame") for _ in "12"
    ]
    first = found.errors[0]
    row = int(first.id[1:])
    assert (first.question, first.prediction) == (f"why {row}?", f"because {row}")
    assert (first.call, first.label, first.labels) == (1, 0, {"ada": 0, "bob": 0})
    worst = max(score for score, ada, bob in zip(SCORE, ADA, BOB, strict=True) if ada == bob == 0)
    assert found.errors[4].value == pytest.approx(worst)


def test_a_score_against_yes_and_no_gets_a_threshold(found):
    figures, cut = found.pair("score").figures, verdict(found, "score").cut
    assert figures["accuracy"].reason.endswith("different values are scores, not labels")
    assert figures["auroc"].value > 0.6
    assert cut.low <= cut.value <= cut.high
    assert verdict(found, "score").figure == "auroc"
    assert verdict(found, "judge").cut is None
    assert any("tells yes from no best: accuracy" in sentence for sentence in found.judge("score").sentences)


def test_json_holds_everything(found):
    shown = json.loads(json.dumps(found.as_dict()))
    assert list(shown) == [
        "annotators", "labels", "n", "pairs", "judges", "panel", "errors", "notes", "confidence",
    ]  # fmt: skip
    assert shown["pairs"][0]["figures"]["cohen_kappa"]["n"] == (ADA == BOB).sum()
    assert shown["judges"][1]["people"]["cut"]["accuracy"]["corrected"]["value"] > 0.5
    assert "judge gives the label of people in" in repr(found)


def test_clusters_widen_intervals():
    twice = {name: np.repeat(np.asarray(column), 2) for name, column in ROWS.items()}
    twice |= {"id": np.arange(2 * N), "ada": np.repeat(ADA, 2)}
    alone, together = (
        karat.examine(twice, columns=["judge"], human="ada", cluster=cluster).pair("judge").figures["cohen_kappa"]
        for cluster in ("none", "question")
    )
    assert together.high - together.low > 1.3 * (alone.high - alone.low)


def test_a_run_a_file_and_a_result_are_read_alike(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    table = {"id": ["a", "b", "c", "d"], "prediction": ["x", "y", "x", "y"], "reference": ["x", "x", "x", "y"]}
    result = karat.score(table, "exact_match", keep=True, run="first", output=str(tmp_path / "scored.csv"))
    labels = {"id": ["d", "c", "b", "a"], "label": [1, 0, 0, 1]}
    values = {
        karat.examine(each, human=labels, on="id").pair("exact_match").figures["cohen_kappa"].value
        for each in (result, "first", tmp_path / "scored.csv")
    }
    assert values == {0.5}


def test_only_labelled_rows_count_and_a_row_without_a_score_is_not_wrong():
    rows = {"id": range(6), "judge": [1, 0, None, 1, 1, 1]}
    labels = {"id": [0, 1, 2, 3], "label": [1, 0, 1, 1]}
    found = karat.examine(rows, columns=["judge"], human=labels, on="id")
    assert (found.n, found.pair("judge").figures["accuracy"].n) == (4, 3)
    assert found.pair("judge").figures["accuracy"].value == 1
    assert found.notes == ("judge has no score on 1 of 4 rows: left out, not taken for wrong",)


def test_rows_that_were_proposed_seldom_count_more():
    rows = {"id": range(8), "judge": [1, 1, 1, 1, 0, 0, 0, 0]}
    labels = {"id": range(8), "label": [1, 1, 1, 0, 0, 0, 1, 1], "probability": [0.5] * 4 + [0.25] * 4}
    found = karat.examine(rows, columns=["judge"], human=labels, on="id")
    assert found.pair("judge").figures["accuracy"].value == pytest.approx((2 * 3 + 4 * 2) / (4 * 2 + 4 * 4))
    assert "proposed for labelling" in found.notes[0]


def test_grades_have_weighted_coefficients_and_names_have_no_order():
    rows = {"judge": [1, 2, 3, 4, 5, 5, 4, 3, 2, 1], "person": [1, 2, 3, 4, 5, 4, 5, 3, 1, 2]}
    found = karat.examine(rows, columns=["judge"], human="person")
    assert found.pair("judge").figures["cohen_kappa_quadratic"].value > found.pair("judge").figures["cohen_kappa"].value
    assert found.judges[0].people.false_praise.n == 8
    nominal = karat.examine(rows, columns=["judge"], human="person", scale="nominal", errors=9)
    assert nominal.judges[0].people.false_praise is None
    assert {each.kind for each in nominal.errors} == {"different"}
    assert len(nominal.errors) == 4


def test_scores_are_compared_without_people():
    found = karat.examine(pd.DataFrame(ROWS), columns=["judge", "score"])
    assert ([each.people for each in found.judges], found.annotators, len(found.pairs)) == ([None, None], (), 1)
    assert "judge with score: " in repr(found)


def test_labels_on_another_scale_are_no_labels_of_the_judge():
    rows = {"judge": [0.25, 0.75, 0.25, 0.75], "person": [1, 5, 5, 5]}
    figures = karat.examine(rows, columns=["judge"], human="person").pair("judge").figures
    expected = "they share no label: 0.25, 0.75 and 1, 5; a label map puts them on one scale"
    assert figures["accuracy"].reason == expected
    assert figures["auroc"].value == pytest.approx(5 / 6)


def test_a_score_between_the_two_labels_is_no_label():
    rows = {"judge": [0, 0.5, 1, 1] * 5, "person": [0, 0, 1, 1] * 5}
    found = karat.examine(rows, columns=["judge"], human="person")
    assert found.pair("judge").figures["accuracy"].reason.startswith("one rater gives values between the two labels")
    assert (found.judges[0].people.figure, found.judges[0].people.cut.value) == ("auroc", 0.75)


@pytest.mark.parametrize("by", [None, "slice"])
def test_grades_and_two_labels_are_not_the_same_categories(by):
    grades = [1, 2, 3, 4, 5] * 8
    rows = {"judge": grades, "person": [int(grade > 2) for grade in grades], "slice": ["a", "b"] * 20}
    found = karat.examine(rows, columns=["judge"], human="person", by=by)
    expected = "the score is 1, 2, 3, 4, 5, people's labels are 0, 1; a label map puts them on one scale"
    assert {pair.figures["accuracy"].reason for pair in found.pairs} == {expected}
    assert found.judges[0].people.figure == "auroc"
    assert found.judges[0].people.cut.value == 2.5
    assert found.judges[0].people.false_praise.value == 0


def test_a_grade_that_people_happen_not_to_give_is_one_of_their_categories():
    rows = {"judge": [1, 2, 3, 4, 5, 5], "person": [1, 2, 3, 5, 5, 5], "one": [1, 1, 1, 1, 1, 1], "rare": [1, 0] * 3}
    found = karat.examine(rows, columns=["judge"], human="person")
    assert found.pair("judge").figures["accuracy"].value == pytest.approx(5 / 6)
    assert karat.examine(rows, columns=["rare"], human="one").pair("rare").figures["accuracy"].value == 0.5


ACCUSED = {"id": range(100), "judge:hallucination": [1] * 30 + [0] * 70}


def test_a_judge_that_finds_what_is_bad_too_often_is_too_hard():
    labels = {"id": range(100), "label": ["hallucinated"] * 20 + ["grounded"] * 80}
    found = karat.examine(ACCUSED, metrics="judge:hallucination", human=labels, on="id", errors=1)
    verdict_ = found.judges[0].people
    assert verdict_.labels == ("hallucinated", "grounded")
    assert (verdict_.false_praise.value, verdict_.false_praise.n) == (0, 20)
    assert (verdict_.false_blame.value, verdict_.false_blame.n) == (pytest.approx(1 / 8), 80)
    assert verdict_.bias.value == pytest.approx(-0.1)
    assert "on the whole it is too hard (-0.100" in found.judge("judge:hallucination").sentences[2]
    assert [(each.kind, each.call, each.label) for each in found.errors] == [("false blame", 1, 0)]


def test_a_panel_on_the_scale_of_its_judge_is_cut_upwards():
    votes = [1.0] * 20 + [0.75] * 10 + [0.25] * 70
    rows = {"id": range(100), "judge:hallucination": votes}
    labels = {"id": range(100), "label": ["hallucinated"] * 20 + ["grounded"] * 80}
    found = karat.examine(rows, human=labels, on="id")
    verdict_ = found.judges[0].people
    assert (verdict_.figure, verdict_.turned) == ("auroc", False)
    assert verdict_.value.value == pytest.approx(1)
    assert (
        found.judge("judge:hallucination").sentences[0].startswith("judge:hallucination is lower for the better one of")
    )
    assert any(each.startswith("judge:hallucination ≥ 0.875 [") for each in found.judges[0].sentences)


def test_an_error_rate_beside_labels_of_what_is_good_is_cut_downwards():
    rates = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 20)
    good = np.where(rates < 0.35, 1, 0)
    good[[59, 119]] = 0, 1
    rows = {"id": range(120), "wer": rates}
    found = karat.examine(rows, human={"id": range(120), "label": good}, on="id", errors=1)
    verdict_, figures = found.judges[0].people, found.pair("wer").figures
    assert (verdict_.direction, verdict_.turned) == ("minimize", True)
    assert verdict_.value.value == pytest.approx(1 - figures["auroc"].value)
    assert verdict_.cut.value == pytest.approx(0.35)
    assert verdict_.cut.low <= verdict_.cut.value <= verdict_.cut.high
    assert (verdict_.false_praise.value, verdict_.false_praise.n) == (pytest.approx(1 / 60), 60)
    assert [(each.kind, each.id) for each in found.errors] == [("false praise", "59"), ("false blame", "119")]
    level, *_, cut = found.judge("wer").sentences
    assert level.startswith("wer is lower for the better one of")
    assert "labels rise" not in level
    assert cut.startswith("wer ≤ 0.35 [0.3, 0.4] tells yes from no best: accuracy 98.3 %")
    turned = karat.examine(rows, human={"id": range(120), "label": 1 - good}, on="id")
    assert turned.judge("wer").sentences[1].startswith("wer rises where people's labels rise (correlation 0.")


def test_of_equal_errors_the_one_with_the_most_wrong_rate_comes_first():
    rates = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 20)
    good = np.where(rates < 0.35, 1, 0)
    good[[0, 59, 60, 119]] = 0, 0, 1, 1
    labels = {"id": range(120), "label": good}
    found = karat.examine({"id": range(120), "wer": rates}, human=labels, on="id", errors=2)
    assert [each.id for each in found.errors] == ["0", "59", "119", "60"]


def test_no_estimate_where_there_is_too_little():
    rows = {"judge": [1, 1, 0], "person": [1, None, None], "slice": ["a", "b", "b"]}
    found = karat.examine(rows, columns=["judge"], human="person", by="slice", errors=3)
    assert all(each.value is None and each.reason for pair in found.pairs for each in pair.figures.values())
    assert found.judge("judge").sentences == (
        "judge: nothing can be said: 1 row, and an interval needs 2",
        *found.judge("judge").sentences[1:],
    )


@pytest.mark.parametrize("label", ["good", "bad"])
def test_labels_of_one_kind_say_that_they_are(label):
    rows = {"judge": [1, 0] * 20, "person": [label] * 40}
    found = karat.examine(rows, columns=["judge"], human="person", label_map="good=1,bad=0")
    assert found.pair("judge").figures["cohen_kappa"].reason or found.pair("judge").figures["cohen_kappa"].value == 0
    assert found.judge("judge").sentences


def test_people_who_never_agree_are_no_rater_together():
    rows = {"judge": [1, 0, 1, 0], "ada": [1, 1, 0, 0], "bob": [0, 0, 1, 1]}
    found = karat.examine(rows, columns=["judge"], human=["ada", "bob"], errors=1)
    assert found.pair("judge").figures["accuracy"].reason == "no row has a label of both"
    assert found.pair("people").figures["krippendorff_alpha"].value < 0
    assert found.errors == ()


def test_a_score_that_falls_as_labels_rise_is_named():
    rows = {"errors": (1 - HIDDEN) * 0.3 + SCORE * 0.1, "ada": ADA}
    sentence = karat.examine(rows, columns=["errors"], human="ada").judge("errors").sentences[1]
    assert sentence.startswith("errors falls where people's labels rise (correlation -0.")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"columns": ["judge"]}, SpecError, "agreement is of two raters, found no second score"),
        ({"columns": ["jugde"], "human": "score"}, ColumnError, "there is no column 'jugde'; did you mean 'judge'?"),
        ({"columns": ["judge"], "human": "scoer"}, ColumnError, "neither a column nor a file of labels; did you mean"),
        ({"columns": ["judge"], "human": "score", "by": "topics"}, ColumnError, "did you mean 'topic'?"),
        ({"columns": ["judge"], "human": "topic"}, DataError, "the label 'hard' has no score"),
        ({"columns": ["judge"], "human": "score", "scale": "ratio"}, SpecError, "scale='ratio': expected one of"),
        ({"metrics": "exact_match", "human": "score"}, ColumnError, "no column fits 'reference'"),
        (
            {"metrics": "judge:correctness", "human": "score"},
            SpecError,
            "holds no scores of judge:correctness: --ask 3",
        ),
        (
            {"columns": ["judge"], "human": {"id": ["r1", "nobody"], "label": [1, 0]}, "on": "id"},
            JoinError,
            "1 of 2 labelled rows are not in .*'nobody'",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        karat.examine(pd.DataFrame(ROWS), **arguments)


def test_an_examination_is_written_as_tables(tmp_path):
    people = {"id": ROWS["id"], "annotator1": ADA, "annotator2": BOB}
    found = karat.examine(ROWS, columns=["judge"], human=people, on="id", by="topic")
    for ending in ("md", "tex", "html", "csv", "json"):
        found.save(tmp_path / f"found.{ending}")
    kappa = found.pair("judge").figures["cohen_kappa"]
    shown = (tmp_path / "found.md").read_text()
    assert f"Cohen's kappa | {kappa.value:.4f} | {kappa.low:.4f} to {kappa.high:.4f} | {kappa.n} |" in shown
    assert "judge (down) by people (across)" in shown
    assert found.judges[0].sentences[0].split(" [")[0] in shown
    assert f"s kappa & {kappa.value:.4f} & {kappa.low:.4f} to" in (tmp_path / "found.tex").read_text()
    rows = pd.read_csv(tmp_path / "found.csv")
    own = rows[(rows["figure"] == "cohen_kappa") & (rows["first"] == "judge") & rows["slice"].isna()]
    assert own["low"].tolist() == [kappa.low]
    assert json.loads((tmp_path / "found.json").read_text()) == json.loads(json.dumps(found.as_dict()))
    assert (tmp_path / "found.html").read_text().count("<table") == len(found.tables())
