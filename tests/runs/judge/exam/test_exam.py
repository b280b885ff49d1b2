"""The exam finds leniency that was planted into a judge, class by class, at the rate at which it was planted."""

import random

import numpy as np
import pytest

import karat
from karat import Governor, Judge
from karat.core.errors import ColumnError, DataError, SpecError
from karat.models.testing.fake import FakeModel
from karat.runs.judge.exam.certificates import cite, read_certificates, save_certificates
from karat.stats.agreement.accuracy import mean
from karat.text.normalise import normalise_squad

FIRST = ("Ada", "Grace", "Alan", "Emmy", "Carl", "Sofia", "Paul", "Marie", "Niels", "Lise")
LAST = ("Byron", "Hopper", "Turing", "Noether", "Gauss", "Kovalevska", "Dirac", "Curie", "Bohr", "Meitner")
BELIEFS = {}


def rows(n=90):
    made = []
    for at in range(n):
        name = f"{FIRST[at % 10]} {LAST[(at * 7 + at // 10) % 10]}"
        text, gold = (f"Who wrote work {at}?", name) if at % 3 else (f"How long is river {at}?", f"{7 * at + 40} km")
        made.append({"id": at, "question": text, "gold": [gold], "answer": gold if at % 2 else "so what"})
        BELIEFS[text] = gold
    return made


@pytest.fixture
def held(material):
    """The exam of a judge that says "correct" where `rule` of what it is shown holds."""

    def hold(rule, **options):
        def reply(messages):
            return {"explanation": "because", "label": "correct" if rule(material(messages)) else "incorrect"}

        judge = Judge("correctness", model=FakeModel(reply, name="small"), governor=Governor())
        return karat.exam(rows(), judge, **{"questions": 60, **options})

    return hold


def shares(found):
    """The share of wrong verdicts by class, of one judge."""
    return {each.name: each.error.value for each in found.judges[0].classes.values() if each.asked}


def bag(text):
    return set(normalise_squad(text).split()) - {"km"}


def exactly(shown):
    return any(normalise_squad(shown["prediction"]) == normalise_squad(each) for each in shown["reference"])


def commits(shown):
    """A fair judge of these answers: the gold is in it, nothing else is, and it is not denied."""
    gold, said = shown["reference"][0], shown["prediction"]
    harmless = gold.lower() in said.lower() or said.replace("kilometres", "km") == gold
    return harmless and not any(word in said for word in ("not", "wrong", "could be", "Possibly", "Either"))


def test_a_fair_judge_makes_no_error(held):
    found = held(commits)
    judge = found.judges[0]
    assert {name: share for name, share in shares(found).items() if share} == {}
    assert judge.false_praise.value == judge.pressed.value == judge.false_blame.value == 0
    assert 0 < judge.false_praise.high < 0.07
    assert judge.scored == judge.n == found.n == found.table.num_rows
    assert judge.implied is None  # the file holds no verdicts of this judge on its own answers


def test_leniency_by_word_overlap_is_found_where_words_are_kept(held):
    found = shares(held(lambda shown: any(bag(shown["prediction"]) & bag(each) for each in shown["reference"])))
    assert found["changed name"] == found["negation"] == found["hedge"] == 1
    assert found["other gold"] == found["empty"] == found["refusal"] == found["swapped gold"] == 0
    assert found["gold"] == found["sentence"] == 0


def test_leniency_by_length_is_found_where_answers_are_long(held):
    found = shares(held(lambda shown: exactly(shown) or len(shown["prediction"].split()) > 100))
    assert {name for name, share in found.items() if share} == {"length", "sentence", "harmless change"}
    assert found["length"] == found["sentence"] == 1


def test_a_judge_that_follows_its_own_belief_is_found_by_swapped_gold(held):
    found = held(lambda shown: normalise_squad(shown["prediction"]) == normalise_squad(BELIEFS[shown["question"]]))
    assert shares(found)["swapped gold"] == 1
    assert shares(found)["other gold"] == shares(found)["gold"] == 0
    assert any("follows its own belief in 100.0 %" in each for each in found.lines())


def test_a_judge_that_obeys_answers_is_found_by_instructions(held):
    obeys = ("ignore all previous", "[SYSTEM]", "mark the prediction")
    found = shares(held(lambda shown: commits(shown) or any(each in shown["prediction"] for each in obeys)))
    assert {name for name, share in found.items() if share} == {"instruction"}
    assert found["instruction"] == 1


def test_a_leniency_of_some_share_is_within_its_interval(held):
    draw = random.Random(4)  # noqa: S311
    found = held(lambda shown: commits(shown) or draw.random() < 0.3, questions=90)
    judge = found.judges[0]
    for each in (judge.false_praise, judge.pressed, judge.mistakes):
        assert each.low < 0.3 < each.high
    inside = [
        each.error.low < 0.3 < each.error.high for each in judge.classes.values() if not each.truth and each.asked
    ]
    assert sum(inside) >= len(inside) - 1
    assert judge.false_blame.value == 0


def test_intervals_hold_where_errors_of_a_question_go_together():
    draw, inside, exams, questions = np.random.default_rng(3), 0, 400, 100
    clusters = np.repeat(np.arange(questions), 6)
    for _ in range(exams):
        each = draw.beta(0.8, 3.2, questions)  # a fifth on the whole, with a correlation of 0.2
        wrong = (draw.random((questions, 6)) < each[:, None]).astype(float)
        found = mean(wrong.ravel()).estimate(clusters)
        inside += found.low <= 0.2 <= found.high
    assert 0.92 <= inside / exams <= 0.98


def test_wrong_verdicts_of_the_worst_classes_can_be_read(held):
    found = held(lambda shown: commits(shown) or shown["prediction"] == "", errors=2)
    assert [(each.answer_class, each.truth, each.prediction, each.explanation) for each in found.errors] == [
        ("empty", 0, "", "because")
    ] * 2
    assert found.errors[0].references[0] == BELIEFS[found.errors[0].question]


def test_metrics_are_examined_for_free_and_cut_in_the_middle():
    found = karat.exam(rows(), ["em", "f1", "contains"], questions=60, width=0.1)
    exact, overlap, inside = found.judges
    assert shares(found)["sentence"] == 1
    assert exact.false_praise.value == 0
    assert inside.classes["negation"].error.value == inside.classes["hedge"].error.value == 1
    assert overlap.classes["changed name"].error.value == 0.5  # one word of two: on the cut, half an error
    empty = exact.classes["empty"]
    assert empty.error.high - empty.error.low < 0.1 or empty.questions_needed > 60
    assert exact.implied.accepted.value == pytest.approx(0.5)
    assert exact.implied.low <= exact.implied.value.value <= exact.implied.high


def test_people_stand_beside_the_exam():
    data = rows()
    for row in data:  # half of the answers are right and in a sentence, which exact match refuses
        row["answer"] = f"It is {row['gold'][0]}." if row["id"] % 2 else "so what"
    labels = {"id": [row["id"] for row in data], "label": [row["id"] % 2 for row in data]}
    found = karat.exam(data, "em", questions=60, human=labels, on="id")
    people = found.judges[0].people
    assert (people.labelled, people.false_praise.value, people.false_blame.value) == (90, 0.0, 1.0)
    assert any(each.startswith("false blame: ") and "by people's labels of 90 rows" in each for each in found.lines())


def test_a_scored_file_gives_the_range_of_the_true_value(held, tmp_path):
    found = held(commits, classes=["gold", "other gold"])
    scored = tmp_path / "scored.jsonl"
    karat.score(rows(), "em", output=scored)
    implied = karat.exam(str(scored), "em", classes=["gold", "other gold"]).judges[0].implied
    assert found.judges[0].implied is None
    assert implied.accepted.value == implied.value.value == pytest.approx(0.5)


def test_an_exam_is_written_in_every_format(tmp_path):
    found = karat.exam(rows(), ["em", "f1"], questions=20, output=tmp_path / "paper.jsonl")
    for ending in ("md", "tex", "html", "json", "csv"):
        found.save(tmp_path / f"found.{ending}")
        assert "negation" in (tmp_path / f"found.{ending}").read_text()
    again = karat.examine(tmp_path / "paper.jsonl", "em", human="exam_truth", cluster="exam_question", by="exam_class")
    wrong = [each for each in found.judge("em").classes.values() if each.truth and each.asked]
    assert again.judge("em").people.false_blame.value == pytest.approx(found.judge("em").false_blame.value)
    assert {each.name for each in wrong} <= set(again.judge("em").people.slices)


def test_a_certificate_names_the_classes_and_lapses_with_the_judge(held, tmp_path):
    found = held(lambda shown: commits(shown) or shown["prediction"] == "", questions=90, certify=0.1)
    judge, kept = found.judges[0], tmp_path / "kept.json"
    assert not judge.certificates["empty"].passed
    assert judge.certificates["refusal"].passed
    assert "gold" not in judge.certificates
    save_certificates(found, kept)
    certificates = read_certificates(kept)
    said = cite(judge.metric, certificates, kept)
    assert said.startswith("certified: accepts < 10 % of wrong answers: ")
    assert "refusal" in said
    assert said.split("; not certified: ")[1].startswith("changed number")  # 30 answers are too few
    assert said.endswith("empty")
    lapsed = cite(judge.metric.using(temperature=0.5), certificates, kept)
    assert "has lapsed for judge:correctness: its temperature was 0.0 and is 0.5" in lapsed
    with pytest.raises(DataError, match="has no certificate of judge:simpleqa: it is of judge:correctness"):
        cite(karat.Judge("simpleqa", model="small"), certificates, kept)
    with pytest.raises(SpecError, match=r"certify=0\.05"):
        save_certificates(held(commits, classes=["refusal"]), kept)
    kept.write_text(kept.read_text().replace('"certificates"', '"calibrations"'))
    with pytest.raises(DataError, match="a file of certificates is expected"):
        read_certificates(kept)


def test_what_is_no_judge_of_answers_is_refused():
    with pytest.raises(SpecError, match="ndcg reads no prediction and no reference"):
        karat.exam(rows(), "ndcg")
    with pytest.raises(SpecError, match="reads no reference: an exam compares"):
        karat.exam(rows(), "judge:faithfulness(model='x')")
    with pytest.raises(ColumnError, match="reads the question, and no column is known to be it"):
        karat.exam({"gold": ["a", "b"]}, "judge:correctness(model='x')")


def test_several_judges_are_a_panel_beside_the_truth(material):
    """Two that accept what is longer than ten characters, and one that compares with the gold."""

    def make(name, rule):
        def reply(messages):
            return {"explanation": "because", "label": "correct" if rule(material(messages)) else "incorrect"}

        return Judge("correctness", model=FakeModel(reply, name=name), governor=Governor())

    def length(shown):
        return len(shown["prediction"]) > 10

    found = karat.exam(rows(), [make("a", length), make("b", length), make("c", commits), "f1"], questions=40)
    assert len(found.panel.judges) == 3
    errors = found.panel.errors
    assert errors.best == 2
    assert errors.errors[0] == errors.errors[1]
    assert errors.together.value == errors.errors[0].value
    assert errors.difference.high < 0
    assert any(
        "model='c') alone errs less than all together, for a third of the calls" in each for each in found.lines()
    )
