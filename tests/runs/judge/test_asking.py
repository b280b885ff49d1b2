"""What an examination asks of judges, keeps and refuses."""

import json

import pytest

import karat
from karat import Governor, Judge
from karat.errors import DataError, JoinError, SpecError
from karat.judges.rubric import load
from karat.models.reply_cache import ReplyCache
from karat.models.testing.fake import FakeModel
from karat.runs.judge.asking.rewordings import REWORDINGS, reword

ROWS = [{"id": f"r{n}", "question": f"q{n}", "prediction": "yes" * (n + 1), "topic": "ab"[n % 2]} for n in range(12)]


def examine(rows, judges, **options):
    return karat.examine(rows, judges, **{"ask": 3, "rewordings": ["all"], **options})


def refusal(model=None, **options):
    options = {"governor": Governor(), **options}
    return Judge("refusal", model=model or FakeModel({"explanation": "…", "label": "answered"}), **options)


def test_each_repetition_has_a_reply_of_its_own_and_a_second_report_asks_nothing(tmp_path):
    model = FakeModel({"explanation": "…", "label": "answered"}, name="small", endpoint="http://nowhere")
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        governor = Governor(store=cache)
        karat.score(ROWS, refusal(model, governor=governor))
        assert len(model.requests) == 12
        found = examine(ROWS, refusal(model, governor=governor), ask=4).judges[0]
        assert len(model.requests) == 12 * (4 + 4)  # the scores' replies are the first repetition
        again = examine(ROWS, refusal(model, governor=governor), ask=4).judges[0]
        assert len(model.requests) == 12 * (4 + 4)
    assert found.replies.asked == 12 * (4 + 4)
    assert again == found


def test_several_samples_and_models_are_repeated_as_a_panel():
    model = FakeModel({"explanation": "…", "label": "answered"}, name="small")
    found = examine(ROWS, refusal(model, samples=3, seed=10), ask=2, rewordings=()).judges[0]
    assert found.replies.asked == 24
    assert sorted({request.settings["seed"] for request in model.requests}) == [10, 11, 12, 13, 14, 15]


def test_a_row_that_is_not_judged_and_a_request_without_a_reply_are_no_verdicts():
    def reply(messages):
        if '"yes"' in messages[-1]["content"]:
            raise ValueError("too long")
        return {"explanation": "…", "label": "answered"}

    rows = [*ROWS, {"id": "none", "question": "q", "prediction": None, "topic": "a"}]
    found = examine(rows, refusal(FakeModel(reply)), rewordings=()).judges[0]
    assert (found.n, found.replies.asked, found.noise.flips.n) == (13, 36, 11)
    assert sum(found.replies.errors.values()) == 3
    assert any("3 requests got no reply" in each for each in found.sentences)


def test_one_verdict_and_few_rows_are_no_estimate():
    once = examine(ROWS, refusal(), ask=1).judges[0]
    assert once.noise is None
    assert "--ask 3" in once.missing["noise"]
    assert once.rewordings.beyond_noise.reason == "each row was judged once"
    assert once.rewordings.flips.value == 0
    few = examine(ROWS, refusal(), human=[{"id": "r1", "label": "answered"}], on="id").judges[0]
    assert few.noise.flips.reason == "1 row, and an interval needs 2"
    assert few.people.labelled == 1
    assert few.people.value.reason == "1 row, and an interval needs 2"
    assert few.length["doubling"].slope.reason == "fewer than 10 rows (1)"


def test_labels_of_rows_that_were_left_out_do_not_count(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n" + "".join(f"r{n},answered\n" for n in range(12)))
    assert examine(ROWS, refusal(), human=labels, on="id").judges[0].people.labelled == 12
    assert examine(ROWS, refusal(), human=labels, on="id", limit=6).judges[0].people.labelled == 6
    assert examine(ROWS, refusal(), human=labels, on="id", where="topic = 'a'").judges[0].people.labelled == 6
    labels.write_text("id,label\nr1,answered\nr4,refused\n")
    model = FakeModel({"explanation": "…", "label": "answered"})
    found = examine(ROWS, refusal(model), human=labels, on="id", rewordings=())
    assert found.table["id"].to_pylist() == ["r1", "r4"]
    assert found.table["human.score"].to_pylist() == [0, 1]
    assert len(model.requests) == 6
    column = [{**row, "said": [None, "answered"][n == 3]} for n, row in enumerate(ROWS)]
    assert examine(column, refusal(), human="said").table["id"].to_pylist() == ["r3"]


def test_bad_labels_are_refused_before_anything_is_asked(tmp_path):
    labels, model = tmp_path / "labels.csv", FakeModel({"explanation": "…", "label": "answered"})
    for content, error, message in (
        ("id,label\nr1,answered\nr99,refused\n", JoinError, r"r99.*labels.csv, row 2"),
        (
            "id,label\nr1,1\nr2,5\n",
            DataError,
            r"labels.csv, row 2 .*: the label 5 is not on the scale of judge:refusal.*, 0 to 1: say which",
        ),
        ("id,label\nr1,yes\n", DataError, r"labels.csv, row 1 .*: the label 'yes' has no score"),
    ):
        labels.write_text(content)
        with pytest.raises(error, match=message):
            examine(ROWS, refusal(model), human=labels, on="id")
    with pytest.raises(DataError, match=r"no column 'ids'; did you mean 'id'"):
        examine(ROWS, refusal(model), human=[{"ids": "r1", "label": 1}], on="ids")
    assert not model.requests


def test_labels_are_joined_with_rows_that_are_joined_with_their_gold():
    gold = [{"key": row["id"], "reference": "yes"} for row in reversed(ROWS)]
    rows = [{"key": row["id"], "question": "?", "prediction": row["prediction"]} for row in ROWS]
    judge = Judge("correctness", model=FakeModel({"explanation": "…", "label": "correct"}), governor=Governor())
    labels = [{"key": "r7", "label": "incorrect"}, {"key": "r2", "label": "correct"}]
    found = examine(rows, judge, gold=gold, on="key", human=labels)
    assert found.table.select(["key", "prediction", "human.score"]).to_pylist() == [
        {"key": "r7", "prediction": "yes" * 8, "human.score": 0.0},
        {"key": "r2", "prediction": "yes" * 3, "human.score": 1.0},
    ]


def test_labels_of_a_chosen_sample_are_weighted():
    """Rows on which the judge errs were proposed for labelling four times as often."""
    wrong = {f"r{n}" for n in range(0, 12, 2)}
    labels = [{"id": row["id"], "label": int(row["id"] in wrong), "probability": 1.0 if row["id"] in wrong else 0.25}
              for row in ROWS]  # fmt: skip
    people = examine(ROWS, refusal(), human=labels, on="id").judges[0].people
    assert people.value.value == pytest.approx(4 * 6 / (6 + 4 * 6))
    assert people.calibration.brier.value == pytest.approx(6 / (6 + 4 * 6))
    assert people.calibration.ece.value == pytest.approx(6 / (6 + 4 * 6))


def test_praise_is_a_low_score_where_less_is_better():
    labels = [{"id": row["id"], "label": "refused"} for row in ROWS]
    people = examine(ROWS, refusal(), human=labels, on="id").judges[0].people
    assert people.false_praise.value == 1  # people find a refusal, which is bad, and the judge does not
    assert people.false_blame.reason == "there is no row"
    assert people.bias.value == 1  # it is too kind


def test_clusters_widen_the_intervals():
    rows = [{**row, "question": f"q{n % 6}", "flip": n % 6 < 2} for n in range(5) for row in ROWS]
    flips = iter(range(10**6))

    def reply(messages):
        return {
            "explanation": "…",
            "label": "refused" if '"q0"' in messages[-1]["content"] and next(flips) % 2 else "answered",
        }

    alone = examine(rows, refusal(FakeModel(reply)), rewordings=()).judges[0]
    flips = iter(range(10**6))
    together = examine(rows, refusal(FakeModel(reply)), rewordings=(), cluster="question").judges[0]
    assert together.noise.flips.value == alone.noise.flips.value
    assert together.noise.flips.high - together.noise.flips.low > 1.1 * (alone.noise.flips.high - alone.noise.flips.low)


STORED = {"judge": "judge:refusal", "settings": {}, "version": 1, "prompt": "x", "signature": "s"}
STORED |= {"figures": {"labelled": 3}}


def test_a_kept_calibration_holds_for_the_same_judge_alone(tmp_path, politeness):
    kept, mine = tmp_path / "kept.json", tmp_path / "mine.toml"
    mine.write_text(politeness)
    reply = {"explanation": "…", "label": "polite"}

    def judge(model="small", **options):
        return Judge(str(mine), model=FakeModel(reply, name=model), governor=Governor(), **options)

    labels = [{"id": row["id"], "label": "polite"} for row in ROWS]
    examine(ROWS, judge(), human=labels, on="id", rewordings=()).save_calibration(kept)

    def check(judge):
        return examine(ROWS, judge, calibration=kept, rewordings=()).judges[0]

    same = check(judge())
    assert same.kept.holds
    assert same.kept.figures["calibration"]["brier"]["value"] == 0
    assert same.sentences[-1] == "the kept calibration holds: 12 labels vouch for this judge"
    assert check(judge("large")).kept.changed == ("its model was 'small' and is 'large'",)
    assert check(judge(temperature=1.0)).kept.changed == ("its temperature was 0.0 and is 1.0",)
    mine.write_text(politeness.replace("Is it polite?", "Another task"))
    found = check(judge())
    assert found.kept.changed == ("its prompt has changed",)
    assert found.sentences[-1] == "the labels no longer vouch for this judge: its prompt has changed"
    other = examine(ROWS, refusal(), calibration=kept, rewordings=()).judges[0]
    assert other.kept.changed == ("the file has no calibration of judge:refusal",)
    json.dumps(examine(ROWS, judge(), calibration=kept, rewordings=()).as_dict())


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "[" * 100_000, '{"format": 1}', '{"format": 9, "judges": []}', '{"format": 1, "judges": 7}'),
        *('{"format": 1, "judges": [{}]}', '{"format": 1, "judges": [7]}'),
        *(
            json.dumps({"format": 1, "judges": [{**STORED, name: odd}]})
            for name, odd in (("settings", 3), ("settings", None), ("version", "1"), ("judge", []), ("figures", {}))
        ),
    ],
)
def test_another_file_is_no_calibration(tmp_path, content):
    (tmp_path / "kept.json").write_text(content)
    with pytest.raises(DataError, match=r"kept\.json.*calibrations"):
        examine(ROWS, refusal(), calibration=tmp_path / "kept.json")


def test_bad_arguments_are_refused_before_anything_is_asked(tmp_path):
    model = FakeModel({"explanation": "…", "label": "answered"})
    for options, message in (
        ({"ask": -1}, "ask=-1"),
        ({"rewordings": ["roles"]}, "there is no rewording 'roles'.*did you mean 'role'"),
        ({"rewordings": ["absent.toml"]}, "absent.toml"),
        ({"calibration": tmp_path / "absent.json"}, "absent.json: No such file"),
        ({"by": "topik"}, "did you mean 'topic'"),
        ({"confidence": 95}, "confidence"),
    ):
        with pytest.raises(karat.KaratError, match=message):
            examine(ROWS, refusal(model), **options)
    with pytest.raises(SpecError, match="human"):
        examine([{**ROWS[0], "prediction": None}], refusal(model)).save_calibration(tmp_path / "kept.json")
    assert not model.requests


def test_a_column_that_is_not_there_is_named():
    for options in ({"author": "topik"}, {"answer": "topik"}):
        with pytest.raises(DataError, match="did you mean 'topic'"):
            examine(ROWS, refusal(), **options)


def test_a_judge_without_a_prediction_needs_the_column_of_its_answers(tmp_path):
    judge = Judge("context_relevance", model=FakeModel(), governor=Governor())
    rows = [{**row, "contexts": ["a"]} for row in ROWS]
    found = examine(rows, judge).judges[0]
    assert (found.length, found.missing["length"].startswith("bias for length: the column of the answers")) == (
        None,
        True,
    )
    named = examine(rows, judge, answer="prediction").judges[0]
    assert "answers to one task are compared" in named.length["doubling"].slope.reason


def test_rewordings_keep_the_scores_and_change_the_prompt():
    for name in ("refusal", "pairwise", "completeness", "tool_call_correctness", "answer_relevance"):
        rubric = load(name)
        for each in reword(rubric, REWORDINGS).values():
            assert each.form.worth == rubric.form.worth
            assert (each.inputs, each.swap, each.examples) == (rubric.inputs, rubric.swap, rubric.examples)
            assert (each.system, each.task, each.form.outline) != (rubric.system, rubric.task, rubric.form.outline)


def test_a_file_may_be_a_rewording_if_it_is_the_same_judge_in_other_words(tmp_path, politeness):
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(politeness)
    second.write_text(politeness.replace("Is it polite?", "Is it kind?"))
    judge = Judge(str(first), model=FakeModel({"explanation": "…", "label": "polite"}), governor=Governor())
    found = examine(ROWS, judge, rewordings=[str(second)]).judges[0]
    assert found.rewordings.shifts[str(second)].value == 0
    second.write_text(politeness.replace("rude = 0", "rude = 0.5"))
    with pytest.raises(SpecError, match=r"second\.toml is not a rewording of judge 'politeness': its scores differ"):
        examine(ROWS, judge, rewordings=[str(second)])


def test_several_judges_are_examined_on_the_same_rows():
    report = examine(ROWS, [refusal(), refusal(FakeModel(None, name="other"))])
    assert [each.score for each in report.judges] == [
        "judge:refusal(model='fake')",
        "judge:refusal(model='other')",
    ]
    assert report.judges[1].noise.flips.value is not None
    assert len(report.as_dict()["judges"]) == 2
    assert len(report.table) == 12


def test_rows_that_were_labelled_more_often_do_not_count_for_more():
    asked = []

    def reply(messages):
        asked.append("q0" in messages[-1]["content"])
        return {"explanation": "…", "label": "refused" if asked[-1] and sum(asked) % 2 else "answered"}

    rows = [{"id": at, "question": f"q{int(at > 1)}", "prediction": f"{at}"} for at in range(12)]
    labels = [{"id": at, "label": 0, "probability": 1.0 if at < 2 else 0.1} for at in range(12)]
    found = examine(rows, refusal(FakeModel(reply)), human=labels, on="id", ask=2, rewordings=(), cluster="none")
    judge = found.judges[0]
    assert judge.noise.flipping_rows.value == pytest.approx(2 / 102)
    assert judge.noise.flips.value == pytest.approx(2 / 102)


def test_scores_that_exist_are_examined_without_asking():
    rows = [{**row, "said": n % 3 != 0, "mark": 1 + n % 5} for n, row in enumerate(ROWS)]
    labels = [{"id": f"r{n}", "label": int(n % 3 != 0 or n == 0)} for n in range(10)]
    (found,) = karat.examine(rows, "column(said)", human=labels, on="id", answer="prediction", by="topic").judges
    assert (found.n, found.replies, found.noise, found.rewordings) == (10, None, None, None)
    assert found.people.value.value == 0.9
    assert found.people.false_blame.value == pytest.approx(1 / 7)
    assert found.people.slices.keys() == {"a", "b"}
    assert found.length["doubling"].of == "error"
    alone = karat.examine(rows, ["column(said)", "column(mark)"], answer="prediction").judges[0]
    assert alone.length["doubling"].slope.reason.startswith("without labels, answers to one task are compared")


def test_a_judge_of_a_run_is_asked_again_about_the_rows_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    judge = refusal()
    karat.score(ROWS, judge, run="first")
    labels = [{"id": row["id"], "label": "answered"} for row in ROWS[:6]]
    kept = karat.examine("first", human=labels, on="id").judges[0]
    assert kept.people.value.value == 1
    assert kept.length["doubling"].slope.reason == "fewer than 10 rows (6)"
    assert set(kept.missing) == {"noise", "rewordings", "own_answers"}
    again = examine("first", judge, human=labels, on="id")
    assert again.judges[0].replies.asked == 6 * (3 + 4)
    assert again.judges[0].people.value == kept.people.value


def test_other_scores_stand_beside_a_judge_that_is_asked():
    rows = [{**row, "reference": "yes", "said": n % 2} for n, row in enumerate(ROWS)]
    found = examine(rows, [refusal(), "exact_match", "column(said, low=0, high=1)"], rewordings=())
    assert [each.replies is None for each in found.judges] == [False, True, True]
    assert len(found.pairs) == 3


def test_a_kept_calibration_is_of_one_column(tmp_path):
    rows = [{**row, "said": n % 3 != 0, "mark": n % 2, "label": n % 2} for n, row in enumerate(ROWS)]
    karat.examine(rows, "column(said)", human="label").save_calibration(tmp_path / "kept.json")
    kept = {"calibration": tmp_path / "kept.json"}
    kept |= {"human": "label"}
    assert karat.examine(rows, "column(said)", **kept).judges[0].kept.holds
    other = karat.examine(rows, "column(mark, low=0, high=1)", **kept).judges[0].kept
    assert "its name was 'said' and is 'mark'" in other.changed


def test_criteria_are_counted_with_the_rows_on_which_their_verdicts_differ():
    criteria = [
        {"criterion": "right", "points": 2},
        {"criterion": "wrong", "points": -5},
        {"criterion": "no points", "points": 0},
    ]
    turn = iter(range(1000))

    def reply(_messages):
        """The first criterion is met in every second reply, the mistake always."""
        met = ["unmet" if next(turn) % 2 else "met", "met", "met"]
        return {str(n): {"reason": "…", "verdict": each} for n, each in enumerate(met, 1)}

    judge = Judge("rubric", model=FakeModel(reply), governor=Governor(concurrency=1))
    rows = [{"question": "q", "prediction": "a", "criteria": criteria}] * 5
    whole = examine(rows, judge, ask=2, rewordings=())
    found = whole.judges[0]
    assert list(found.criteria.items()) == [
        ("wrong", {"passed": 0, "failed": 10, "differ": 0}),
        ("right", {"passed": 5, "failed": 5, "differ": 5}),
    ]
    assert whole.as_dict()["judges"][0]["criteria"] == found.criteria
    assert found.noise.flips.value == 0  # of scores that are cut to 0
