"""A judge inside a metric of several answers, or of a confidence, with scripted models."""

import json

import pyarrow as pa
import pytest

import karat
from karat import Judge
from karat.core.context import change_context
from karat.core.metric.spec import parse
from karat.core.progress import report_progress_to
from karat.judges.judge import collect_model_errors
from karat.models.governor.faults import ModelError, RequestError
from karat.models.testing.fake import FakeModel

ROWS = {"question": ["q1", "q2"], "prediction": [["a", "b", "c"], ["d", None]], "reference": ["a", "d"]}


class Labels:
    """A model that gives each answer a label, another one by default; an error is raised. It stops at a call."""

    def __init__(self, name="scripted", default="incorrect", **labels):
        self.name, self.default, self.labels, self.asked, self.stop = name, default, labels, [], None

    async def __call__(self, messages, _schema=None, _settings=None):
        asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
        row = json.loads(asked.partition("\n")[2].rpartition("\n")[0])
        self.asked.append((row["prediction"], tuple(row.get("reference", ()))))
        if len(self.asked) == self.stop:
            raise ModelError("a bad key")
        label = self.labels.get(row["prediction"], self.default)
        if isinstance(label, Exception):
            raise label
        return json.dumps({"explanation": f"about {row['prediction']}", "label": label})


@pytest.fixture
def score(governor):
    def score(name, model, rows=ROWS, judge="correctness", settings=None, **about):
        judge = Judge(judge, model=model, governor=governor, **about)
        metric = parse(name).using(metric=judge, **(settings or {}))
        result = karat.score(rows, metric)
        table = result.table.to_pylist()
        return [
            {k.removeprefix(f"{metric.spec}."): v for k, v in row.items()} | {"score": row[metric.spec]}
            for row in table
        ]

    return score


def test_an_answer_that_is_null_is_left_out_and_one_without_a_verdict_is_not(score):
    first, second = score("mean_of", Labels(a="correct", d="correct"))
    assert (first["score"], second["score"]) == (pytest.approx(1 / 3), 1)
    assert (first["incomplete"], second["incomplete"]) == (False, True)
    first, second = score("mean_of", Labels(a="correct", c=RequestError("no reply"), d="correct"))
    assert (first["score"], first["incomplete"], second["score"]) == (None, None, 1)
    assert first["reason"] == "answer 3 of 3: no reply"
    assert first["error"] == "answer 3: no reply"
    assert json.loads(first["statements"])[2] == {"answer": 3, "reason": "no reply", "error": "no reply"}
    assert first["labels"] == ["correct", "incorrect", None]


@pytest.mark.parametrize("name", ["pass_at", "pass_all", "majority", "best_of", "worst_of", "mean_of", "flips"])
def test_every_metric_of_repeats_leaves_such_a_question_unscored(score, name):
    settings = {"k": 1} if "k" in parse(name).settings else {}
    first, second = score(name, Labels(b=RequestError("no reply")), settings=settings)
    assert (first["score"], first["reason"]) == (None, "answer 2 of 3: no reply")
    assert second["score"] is not None or name == "flips"


def test_a_judge_that_finds_nothing_to_score_leaves_the_answer_out(score):
    reply = [{"statement": "s", "reason": "r", "verdict": "supported"}]
    idle = [{"statement": "s", "reason": "r", "verdict": "no_claim"}]
    model = FakeModel(lambda messages: {"1": idle if '"idle"' in str(messages[-1]) else reply})
    rows = {"question": ["q", "q"], "prediction": [["a", "idle"], ["idle"]], "contexts": [["c"], ["c"]]}
    first, second = score("best_of", model, rows, "faithfulness")
    assert (first["score"], first["incomplete"]) == (1, True)
    assert (
        second["reason"] == "1 scored answer is needed, found 0 of 1: no sentence of prediction has anything to judge"
    )
    assert json.loads(first["statements"])[0]["statements"] == [{"sentence": 1, **reply[0]}]


def test_a_tie_of_a_panel_is_neither_right_nor_wrong(governor):
    panel = [Labels("x", a="correct"), Labels("y", b="correct"), Labels("z", c=RequestError("no reply"))]
    rows = {"question": ["q"], "prediction": [["c", "a"]], "reference": ["a"]}
    panel[0].labels["c"] = "correct"
    metric = parse("pass_at").using(metric=Judge("correctness", model=panel, governor=governor))
    (row,) = karat.score(rows, metric).table.to_pylist()
    assert row["reason"] == "answer 1 of 2: a score of 0.5 is neither right (1) nor wrong (0): set at="
    assert karat.score(rows, metric.using(at=0.5)).values[metric.using(at=0.5).spec].value == 1


def test_the_criteria_that_answers_fail_are_counted_by_answer(governor):
    criteria = [{"criterion": "one", "points": 2}, {"criterion": "two", "points": 1}]
    reply = {"1": {"reason": "r", "verdict": "met"}, "2": {"reason": "r", "verdict": "unmet"}}
    judge = Judge("rubric", model=FakeModel(reply), governor=governor)
    rows = [{"question": "q", "prediction": ["a", "b"], "criteria": criteria}]
    metric = parse("mean_of").using(metric=judge)
    result = karat.score(rows, metric)
    assert result.values[metric.spec].value == pytest.approx(2 / 3)
    assert result.counts[metric.spec]["failed"] == {"two": 2}
    assert result.counts[metric.spec]["passed"] == {"one": 2}


def test_a_majority_compares_only_texts_that_differ_and_none_of_a_failed_question(score):
    model = Labels(default="different", b="equivalent", c=RequestError("no reply"))
    rows = {"prediction": [["a", "b", "a", "b"], ["a", "c", "d"]], "reference": ["x", "x"]}
    first, second = score("majority", model, rows, "equivalence")
    assert [each for each in model.asked if each[1] != ("x",)] == [("b", ("a",))]
    assert first["score"] == 0.5
    assert second["reason"] == "answer 2 of 3: no reply"


def test_a_rehearsal_compares_all_pairs(score):
    model = Labels(**dict.fromkeys("abcd", RequestError("not asked")))
    rows = {"prediction": [["a", "b", "c", "d", None, "a"]], "reference": ["x"]}
    with change_context(rehearses=True):
        score("majority", model, rows, "equivalence")
    assert len([each for each in model.asked if each[1] != ("x",)]) == 6
    model.asked.clear()
    score("majority", model, rows, "equivalence")
    assert not [each for each in model.asked if each[1] != ("x",)]


def test_progress_is_in_rows_however_many_answers_a_row_has(governor):
    judge, advanced = Judge("correctness", model=Labels(), governor=governor), []
    metrics = [parse(name).using(metric=judge) for name in ("mean_of", "majority")]
    with report_progress_to(advanced.append):
        for metric in metrics:
            assert metric(ROWS["question"], ROWS["prediction"], ROWS["reference"]).to_pylist() == [0, 0]
            assert (sum(advanced), min(advanced)) == (2, 1)
            advanced.clear()


def test_a_model_that_cannot_be_reached_is_told_from_a_row_that_failed(governor):
    judge = Judge("correctness", model=Labels(d=ModelError("a bad key")), governor=governor)
    metric = parse("mean_of").using(metric=judge)
    with pytest.raises(ModelError):
        karat.score(ROWS, metric)
    with collect_model_errors() as errors:
        reasons = karat.score(ROWS, metric).table["reason"].to_pylist()
    assert len(errors) == 1
    assert reasons[1] == "answer 1 of 2: a bad key"


def test_a_run_that_was_stopped_keeps_what_was_said_of_its_first_batches(governor, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    table = pa.table({name: cells * 10 for name, cells in ROWS.items()})
    model = Labels(a="correct", d="correct")
    metric = parse("mean_of").using(metric=Judge("correctness", model=model, governor=governor))
    whole = karat.score(table.to_reader(max_chunksize=4), metric, run="whole", keep=True).table
    asked, model.asked[:] = len(model.asked), []
    model.stop = 25
    with pytest.raises(ModelError):
        karat.score(table.to_reader(max_chunksize=4), metric, run="a")
    before = len(model.asked)
    again = karat.score(table.to_reader(max_chunksize=4), metric, run="a", resume=True, keep=True)
    assert before == 25
    assert asked < len(model.asked) <= asked + 8  # those of the batch in which it stopped
    said = [name for name in whole.column_names if not name.endswith("latency")]
    assert again.table.select(said).to_pylist() == whole.select(said).to_pylist()
    assert again.run.manifest.models["calls"] == len(model.asked)  # since the run began
