"""Values corrected by people's labels, beside those of the scores: `karat.score(…, human=)`."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.errors import ColumnError, DataError, JoinError, SpecError
from karat.models.testing.fake import FakeModel
from karat.runs.columns.groups import cluster_keys
from karat.stats.agreement.threshold import fit_threshold
from karat.stats.corrected.cross_prediction import cross_predict
from karat.stats.corrected.estimate import corrected_mean
from karat.stats.corrected.judged import Judged
from karat.stats.inference import Inference

N = 400
random = np.random.default_rng(3)
RIGHT = random.random(N) < 0.7
SEEN = np.where(random.random(N) < 0.85, RIGHT, ~RIGHT)
DOCUMENT = np.arange(N) // 8
ROWS = {
    "id": [f"q{at}" for at in range(N)],
    "topic": ["ab"[at % 2] if at else "alone" for at in range(N)],
    "document": DOCUMENT,
    "prediction": np.where(SEEN, "x", "y").tolist(),
    "gold": ["x"] * N,
}
AT = random.permutation(np.arange(1, N))[:120]
LABELS = {"id": [f"q{at}" for at in AT], "label": ["good" if RIGHT[at] else "bad" for at in AT]}
MAP = "good=1,bad=0"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache"))


def scored(rows=ROWS, metrics="exact_match", human=LABELS, on="id", label_map=MAP, **more):
    return karat.score(rows, metrics, human=human, on=on, label_map=label_map, **more)


def by_hand(at=AT, scores=SEEN, **more):
    labels = np.full(N, np.nan)
    labels[at] = RIGHT[at]
    return Judged(scores.astype(float), labels, **more)


def test_all_rows_and_each_slice_are_corrected_by_their_labels():
    result = scored(by="topic")
    assert result.corrected["exact_match"] == corrected_mean(by_hand())
    topics = np.array(ROWS["topic"])
    judged = by_hand()
    for topic in "ab":
        part = Judged(judged.scores[topics == topic], judged.labels[topics == topic])
        assert result.corrected_groups["exact_match"][topic] == corrected_mean(part)
    assert "at least 2 labels expected, found 0" in result.corrected_groups["exact_match"]["alone"].reason


def test_what_is_not_labelled_is_never_wrong():
    assert scored().corrected["exact_match"].value == pytest.approx(RIGHT.mean(), abs=0.06)
    assert scored().values["exact_match"] == karat.score(ROWS, "exact_match").values["exact_match"]


def test_labels_cluster_like_scores():
    found = scored(cluster="document", confidence=0.9, seed=4).corrected["exact_match"]
    keys = cluster_keys(karat.score(ROWS, "exact_match").table["document"].combine_chunks())
    assert found == corrected_mean(by_hand(clusters=keys), inference=Inference(0.9, 4))


def test_rows_that_were_proposed_weigh_by_their_probability():
    chances = np.where(AT % 2, 0.25, 0.5)
    found = scored(human={**LABELS, "probability": chances}).corrected["exact_match"]
    probabilities = np.ones(N)
    probabilities[AT] = chances
    assert found == corrected_mean(by_hand(probabilities=probabilities))


def test_strata_are_corrected_by_their_own_labels_and_are_found_where_probabilities_are_by_slice():
    topics = np.array([each if each != "alone" else "b" for each in ROWS["topic"]])
    rows, found = {**ROWS, "topic": topics.tolist()}, []
    chances = np.where(topics[AT] == "a", 0.25, 0.5)
    weighted = {**LABELS, "probability": chances}
    probabilities = np.ones(N)
    probabilities[AT] = chances
    expected = corrected_mean(by_hand(probabilities=probabilities, strata=(topics == "b").astype(np.int64)))
    for human, by in ((karat.Labels(weighted, MAP, strata="topic"), None), (weighted, "topic")):
        found.append(scored(rows, human=human, by=by).corrected["exact_match"])
    for each in found:
        assert (each.value, each.low, each.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert scored(rows, human=weighted).corrected["exact_match"].value != pytest.approx(expected.value)
    alone = karat.Labels(LABELS, MAP, strata="topic")
    assert (
        "2 labels expected in each of 3 strata, found 0 in one" in scored(human=alone).corrected["exact_match"].reason
    )


def test_the_value_of_exactly_these_rows():
    found = scored(human=karat.Labels(LABELS, MAP, finite=True))
    assert found.corrected["exact_match"] == corrected_mean(by_hand(), finite=True)
    assert "exactly these rows" in found.human["notes"][0]


def test_a_threshold_that_is_fitted_to_the_labels_is_cross_predicted():
    costs = np.where(RIGHT, 5.0, 3.0) + random.normal(size=N)
    rows = {**ROWS, "cost": costs}
    fitted = scored(rows, "column(cost)", human=karat.Labels(LABELS, MAP, threshold="fit"))
    expected = by_hand(scores=cross_predict(by_hand(scores=costs), fit_threshold))
    assert next(iter(fitted.corrected.values())) == corrected_mean(expected)
    assert "fitted to the labels" in fitted.human["notes"][0]
    fixed = scored(rows, "column(cost)", human=karat.Labels(LABELS, MAP, threshold=4))
    assert next(iter(fixed.corrected.values())) == corrected_mean(by_hand(scores=costs >= 4))
    with pytest.raises(SpecError, match=r"labels of yes and no \(1 and 0\) expected for a threshold, found 0.5"):
        scored(human=karat.Labels({"id": ["q1", "q2"], "label": [1, 0.5]}, threshold="fit"), label_map=None)


def test_labels_may_be_a_column_of_the_rows_and_of_several_people():
    column = [None] * N
    for at in AT:
        column[at] = int(RIGHT[at])
    for human in ("human", ["human", "twin"]):
        result = scored({**ROWS, "human": column, "twin": column}, human=human, on=None, label_map=None)
        assert result.corrected["exact_match"] == corrected_mean(by_hand())


def test_labels_that_were_read_before_are_taken_as_they_are():
    labels = karat.Labels(LABELS, MAP).read("id")
    assert scored(human=labels, label_map=None).corrected == scored().corrected


def test_gold_and_labels_are_joined_by_one_id():
    predictions = {"qid": ROWS["id"], "prediction": ROWS["prediction"]}
    gold = {"id": ROWS["id"], "gold": ROWS["gold"]}
    assert scored(predictions, gold=gold, on="qid=id").corrected == scored().corrected
    named = {"name": LABELS["id"], "label": LABELS["label"]}
    assert scored(human=named, on="id=name").corrected == scored().corrected


@pytest.mark.parametrize("selected", [{"where": "topic = 'a'"}, {"limit": 100}])
def test_labels_of_rows_that_are_left_out_do_not_count(selected):
    result = scored(**selected)
    assert result.human["labelled"] + result.human["left_out"] == len(AT)
    assert result.corrected["exact_match"].n == result.n < N


def test_a_judges_own_labels_need_no_map():
    model = FakeModel({"explanation": "", "label": "correct"})
    rows = {"question": ["?"] * 40, **{name: cells[:40] for name, cells in ROWS.items()}}
    judge = karat.Judge("correctness", model=model, governor=karat.Governor())
    labels = {"id": ROWS["id"][:20], "label": ["correct" if right else "incorrect" for right in RIGHT[:20]]}
    result = scored(rows, [judge, "exact_match"], human=labels, label_map=None)
    assert {found.reason for found in result.corrected.values()} == {None}
    assert result.human["choices"] == {"correct": 1, "incorrect": 0}


def test_labels_of_one_judge_do_not_correct_another():
    judges = [karat.Judge(name, model=FakeModel("-"), governor=karat.Governor()) for name in ("correctness", "refusal")]
    rows = {"question": ["?"] * 4, **{name: cells[:4] for name, cells in ROWS.items()}}
    result = scored(rows, [*judges, "bleu", "wer"], label_map=None,
                    human={"id": ["q0", "q1"], "label": ["correct", "incorrect"]})  # fmt: skip
    reasons = {spec.partition("(")[0]: found.reason for spec, found in result.corrected.items()}
    assert reasons == {
        "judge:correctness": "none of the 2 labelled rows has a score",
        "judge:refusal": "its labels are refused, answered, people's correct, incorrect",
        "bleu": "its value is not the mean of its rows' scores",
        "wer": "its value is not the mean of its rows' scores",
    }


def test_a_run_keeps_and_shows_its_corrected_values():
    result = scored(run="first", by="topic")
    kept = json.loads(Path("karat-runs/first/values.json").read_text())
    assert kept == json.loads(json.dumps(result.as_dict()))
    assert kept["human"]["labelled"] == 120
    assert kept["metrics"][0]["groups"]["a"]["corrected"]["labelled"] < 120
    assert "human" not in json.loads(Path("karat-runs/first/manifest.json").read_text())["settings"]
    shown = CliRunner().invoke(main, ["runs", "show", "first"]).stdout
    assert f"120 labels with the scores are worth {result.corrected['exact_match'].effective:.0f} labels alone" in shown
    plain = karat.score(ROWS, "exact_match", by="topic").as_dict()
    assert "human" not in plain
    assert "corrected" not in plain["metrics"][0] | plain["metrics"][0]["groups"]["a"]


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"human": "humn", "on": None}, ColumnError, "'humn' is neither a column nor a file of labels"),
        ({"human": "labels.csv"}, DataError, "labels.csv: no such file"),
        ({"on": "ids"}, ColumnError, "labels: there is no column 'ids'; did you mean 'id'"),
        ({"on": "idd=id"}, ColumnError, "there is no column 'idd'; did you mean 'id'"),
        ({"human": {"id": ["q1", "zz"], "label": ["good"] * 2}}, JoinError, r"'zz' \(labels, row 2\)"),
        ({"human": {"id": ["zz"], "label": ["good"]}, "limit": 3}, JoinError, r"'zz' \(labels, row 1\)"),
        ({"human": {"id": ["q1", "q2"], "label": [1, 5]}, "label_map": None}, DataError,
         "labels, row 2: the label 5 is not on the scale of exact_match, 0.0 to 1.0: .*'1<2<3'"),
        ({"metrics": ["exact_match", "judge:refusal(model='m')"], "rows": {**ROWS, "question": ["?"] * N}}, SpecError,
         "for some of these metrics more is better, for others less"),
    ],
)  # fmt: skip
def test_bad_labels_are_refused_before_any_row_is_scored(more, error, message):
    with pytest.raises(error, match=message):
        scored(**more, output="out.jsonl")
    assert not Path("out.jsonl").exists()


def test_the_command_prints_the_corrected_value_and_what_it_is_worth():
    Path("rows.jsonl").write_text(
        "".join(f"{json.dumps({name: str(cells[at]) for name, cells in ROWS.items()})}\n" for at in range(N))
    )
    lines = (f"{row},{label},1\n" for row, label in zip(*LABELS.values(), strict=True))
    Path("labels.csv").write_text("".join(["id,label,sure\n", *lines]))
    words = ["score", "rows.jsonl", "-m", "exact_match", "--human", "labels.csv", "--on", "id", "--by", "topic"]
    words += ["--label-map", MAP]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    corrected = scored(by="topic").corrected["exact_match"]
    assert f"{corrected.value:.4f}   {corrected.low:.4f} to {corrected.high:.4f}" in done.stdout
    assert f"120 labels with the scores are worth {corrected.effective:.0f} labels alone; prediction-" in done.stdout
    assert "labels by people: labels.csv, 120 of 400 rows, one annotator" in done.stdout
    assert "exact_match, alone: no estimate: at least 2 labels expected, found 0 for 1 rows" in done.stdout
    more = ["--strata", "gold", "--these-rows", "--human-threshold", "fit"]
    noted = CliRunner().invoke(main, [*words, *more]).stdout
    assert "labels were drawn separately from each gold" in noted
    assert "(cross-prediction)" in noted
    wrong = CliRunner().invoke(main, [*words, "--human-threshold", "best"])
    assert "--human-threshold 'best': a number or fit expected" in wrong.output
    printed = json.loads(CliRunner().invoke(main, [*words, "--label-column", "label", "--json"]).stdout)
    assert printed["metrics"][0]["corrected"] == json.loads(json.dumps(corrected.as_dict()))
