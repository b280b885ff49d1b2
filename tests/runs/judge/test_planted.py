"""A judge with a known bias: the report finds it within its interval, and finds none in a fair judge."""

import random

import pytest

import karat
from karat import Governor, Judge
from karat.models.testing.fake import FakeModel


def rows(n=200, seed=1):
    """Answers that are right or wrong, half of each, two to a question, with lengths from 15 to 1023."""
    draw = random.Random(seed)  # noqa: S311
    made = []
    for number in range(n):
        right = draw.random() < 0.5
        text = f"{'right' if right else 'wrong'} {number} ".ljust(round(2 ** draw.uniform(4, 10)) - 1, "x")
        made.append({"id": number, "question": f"q{number // 2}", "prediction": text, "reference": ["right"],
                     "label": "correct" if right else "incorrect", "topic": "ab"[number % 3 == 0],
                     "author": ("small", "other")[number % 2]})  # fmt: skip
    return made


@pytest.fixture
def examine(material):
    """The report on a judge: `fair` is the label of a right verdict, and `bias` may change it."""

    def run(bias, data=None, name="correctness", **options):
        draw = random.Random(2)  # noqa: S311

        def reply(messages):
            shown = material(messages)
            return {"explanation": "…", "label": bias(shown, draw, messages[0]["content"])}

        judge = Judge(name, model=FakeModel(reply, name="small"), governor=Governor())
        (found,) = karat.examine(data or rows(), judge, **{"ask": 3, **options}).judges
        return found

    return run


def fair(shown, *_):
    return "correct" if shown["prediction"].startswith("right") else "incorrect"


def other(label):
    return "incorrect" if label == "correct" else "correct"


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high and estimate.low < estimate.high


def test_noise_is_found(examine):
    found = examine(lambda shown, draw, _: other(fair(shown)) if draw.random() < 0.15 else fair(shown))
    assert covers(found.noise.flips, 2 * 0.15 * 0.85)
    assert covers(found.noise.flipping_rows, 1 - 0.15**3 - 0.85**3)
    assert covers(found.noise.share, 0.15 * 0.85 / 0.25)
    assert any("asked again, it gives another verdict" in each for each in found.sentences)


def test_a_fair_judge_has_no_fault(examine):
    found = examine(fair, human="label", by="topic", author="author", rewordings=["all"], cluster="none")
    assert found.noise.flips.value == found.noise.share.value == found.rewordings.flips.value == 0
    assert found.noise.flips.high < 0.03
    assert all(each.value == 0 for each in found.rewordings.shifts.values())
    assert found.replies.unreadable.value == found.people.bias.value == found.people.calibration.brier.value == 0
    assert found.people.value.value == 1
    for bias in (*found.length.values(), found.own_answers):  # a judge without errors has no slope that looks sure
        assert bias.slope.reason == "the score or its error differs on fewer than 5 rows (0)"
    assert not any(each.fails for each in found.people.slices.values())
    level, _, errors = found.sentences
    assert "gives the label of people in 100.0 %" in level
    assert errors.startswith("false praise: 0.0 % [0.0, 3.7] of the 100 rows that people label incorrect; false blame")


def longer_is_better(shown, draw, _):
    """A wrong answer is praised more often the longer it is: by 0.1 for each doubling."""
    doublings = len(shown["prediction"]).bit_length() - 4
    return "correct" if draw.random() < 0.1 * doublings else fair(shown)


def test_a_bias_for_length_is_found_in_the_errors(examine):
    bias = examine(longer_is_better, human="label").length["doubling"]
    assert bias.of == "error"
    assert covers(bias.slope, 0.05)  # half of the answers are wrong
    assert bias.slope.low > 0


def test_without_labels_lengths_are_compared_between_answers_to_one_question(examine):
    found = examine(lambda shown, draw, _: longer_is_better({"prediction": "?" + shown["prediction"]}, draw, _))
    assert found.length["doubling"].of == "score"
    assert covers(found.length["doubling"].slope, 0.1)
    assert any("may be merit" in each for each in found.sentences)
    alone = [{**row, "question": f"q{row['id']}"} for row in rows(20)]
    slope = examine(longer_is_better, alone).length["doubling"].slope
    assert slope.reason == "without labels, answers to one task are compared: fewer than 10 clusters (0)"


@pytest.mark.parametrize("human", [None, "label"])
def test_a_preference_for_its_own_answers_is_found(examine, human):
    def bias(shown, draw, _):
        own = int(shown["prediction"].split()[1]) % 2 == 0
        return "correct" if own and draw.random() < 0.6 else fair(shown)

    data = rows()
    found = examine(bias, data, human=human, author="author")
    assert found.own_answers.of == ("score" if human is None else "error")
    assert covers(found.own_answers.slope, 0.3)
    named = examine(bias, data, human=human, author="author", own="other")
    assert covers(named.own_answers.slope, -0.3)
    absent = examine(bias, data, human=human, author="author", own="third").own_answers.slope
    assert absent.reason.startswith("no answer is by third; authors: other, small")


def test_what_depends_on_the_wording_is_found(examine):
    def bias(shown, draw, prompt):
        return other(fair(shown)) if draw.random() < (0.4 if "# Task" in prompt else 0.1) else fair(shown)

    found = examine(bias, rows(400), rewordings=["layout", "role"])
    assert list(found.rewordings.shifts) == ["layout", "role"]
    noise, layout = 2 * 0.1 * 0.9, 0.1 * 0.6 + 0.9 * 0.4
    assert covers(found.rewordings.flips, (noise + layout) / 2)
    assert covers(found.rewordings.beyond_noise, (layout - noise) / 2)
    assert any("depend on the prompt's wording" in each for each in found.sentences)


def test_verdicts_that_cannot_be_read_are_counted(examine):
    found = examine(lambda shown, _, __: "perhaps" if len(shown["prediction"]) < 32 else fair(shown))
    short = sum(len(row["prediction"]) < 32 for row in rows())
    assert found.replies.unreadable.value == pytest.approx(short / 200)
    assert found.noise.flips.n == 200 - short
    assert found.replies.asked == 600
    assert not found.replies.errors


def test_false_praise_false_blame_and_the_slice_that_fails_are_found(examine):
    def bias(shown, draw, _):
        in_b = int(shown["prediction"].split()[1]) % 3 == 0
        return other(fair(shown)) if in_b and draw.random() < 0.5 else fair(shown)

    found = examine(bias, rows(400), human="label", by="topic").people
    assert covers(found.false_praise, 0.5 / 3)
    assert covers(found.false_blame, 0.5 / 3)
    assert covers(found.value, 1 - 0.5 / 3)
    assert covers(found.slices["b"].difference, -0.5)
    assert [name for name, each in found.slices.items() if each.fails] == ["b"]


def pairs(n=150):
    draw = random.Random(4)  # noqa: S311
    made = []
    for number in range(n):
        own = {"prediction": "good" * draw.randint(1, 9), "by": "small"}
        other = {"prediction": "bad"[: draw.randint(1, 3)], "by": "other"}
        first, second = (own, other) if number % 2 else (other, own)
        against = {"other_prediction": second["prediction"], "against": second["by"]}
        made.append({"question": f"q{number}", **first, **against})
    return made


def better(shown, *_):
    return "first" if shown["prediction"].startswith("good") else "second"


def test_a_preference_for_the_first_place_is_found(examine):
    def bias(shown, draw, _):
        return "first" if draw.random() < 0.3 else better(shown)

    found = examine(bias, pairs(), "pairwise")
    assert covers(found.position.first_place, 0.3)
    assert covers(found.position.order_matters, 0.3)
    assert any("prefers the first place" in each for each in found.sentences)


def test_a_fair_judge_of_pairs_has_no_preference_for_a_place(examine):
    found = examine(better, pairs(), "pairwise", author=("by", "against"))
    assert found.position.first_place.value == found.position.order_matters.value == 0
    assert found.position.first_place.low < 0 < found.position.first_place.high
    assert found.own_answers.slope.value == pytest.approx(0.5)  # of two: it is the better model, as labels would tell
    noisy = examine(lambda shown, draw, _: draw.choice(["first", "second", "tie"]), pairs(), "pairwise")
    assert covers(noisy.position.first_place, 0.0)
    assert covers(noisy.position.order_matters, 2 / 3)


def test_a_judge_of_one_answer_has_no_place(examine):
    found = examine(fair)
    assert found.position is None
    assert "position" not in found.missing


def test_stored_verdicts_on_pairs_say_how_often_the_order_decides(material):
    def reply(messages):
        return {"explanation": "…", "label": better(material(messages)) if len(calls) % 2 else "first"}

    calls = []
    judge = Judge("pairwise", model=FakeModel(lambda m: calls.append(1) or reply(m)), governor=Governor(concurrency=1))
    rows = [{**row, "label": "first"} for row in pairs(40)]
    scored = karat.score(rows, judge, keep=True)
    asked, position = len(calls), karat.examine(scored, human="label").judges[0].position
    consistent = scored.table[f"{judge.spec}.consistent"].to_pylist()
    assert position.order_matters.value == pytest.approx(consistent.count(False) / 40)
    assert "--ask 1" in position.first_place.reason
    assert len(calls) == asked
