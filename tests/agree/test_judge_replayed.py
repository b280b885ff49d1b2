"""GPT-4's verdicts on 1490 answers that people judged too, replayed: the examination gives the published counts."""

import csv
import gzip
import json

import numpy as np
import pytest

import karat
from karat import Governor, Judge
from karat.models.testing.fake import FakeModel

sm = pytest.importorskip("statsmodels.api")

LABELS = {"yes": "correct", "no": "incorrect"}
DROPPED = str.maketrans("", "", '" ')


@pytest.fixture
def rows(real_data):
    """The answers that stand in both files, with people's label and GPT-4's, which is None where it gave none."""
    folder = real_data("qa_human_openqa_eval")
    files = []
    for name in ("human", "gpt-4"):
        with gzip.open(folder / f"NQ301_{name}.tsv.gz", "rt", encoding="utf-8", newline="") as file:
            files.append(list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))
    return [
        {
            "question": f"{number} {human['Question']}",
            "prediction": human["Model answer"],
            "reference": "?",
            "human": LABELS.get(human["Acceptable?"].lower()),
            "verdict": LABELS.get(gpt["Acceptable?"].lower()),
        }
        for number, (human, gpt) in enumerate(zip(*files, strict=True))
        if human["Model answer"].translate(DROPPED) == gpt["Model answer"].translate(DROPPED)
    ]


@pytest.fixture
def found(rows):
    verdicts = {row["question"].split()[0]: row["verdict"] for row in rows}

    def reply(messages):
        shown = json.loads(messages[-1]["content"].split("\n", 1)[1].rsplit("\n", 1)[0])
        return {"explanation": "", "label": verdicts[shown["question"].split()[0]] or "unsure"}

    judge = Judge("correctness", model=FakeModel(reply), governor=Governor())
    columns = [{name: row[name] for name in ("question", "prediction", "reference", "human")} for row in rows]
    return karat.examine(columns, judge, ask=1, human="human").judges[0]


def test_the_counts_are_those_published(found, rows, real_data):
    expected = json.loads((real_data("qa_human_openqa_eval") / "expected.json").read_text())
    figures = expected["judge_vs_human"]["NQ301_gpt-4.tsv"]
    assert found.people.labelled == figures["n"]
    assert found.people.value.value == pytest.approx(figures["accuracy"], abs=1e-9)
    assert 1 - found.people.calibration.brier.value == pytest.approx(figures["accuracy"], abs=1e-9)
    pairs = [(row["human"], row["verdict"]) for row in rows if row["verdict"] and row["human"]]
    wrong, right = ([said for human, said in pairs if human == label] for label in ("incorrect", "correct"))
    assert found.people.false_praise.value == pytest.approx(wrong.count("correct") / len(wrong))
    assert found.people.false_blame.value == pytest.approx(right.count("incorrect") / len(right))
    assert found.replies.unreadable.value == pytest.approx(sum(not row["verdict"] for row in rows) / len(rows))


def test_the_slope_on_length_is_that_of_statsmodels(found, rows):
    both = [row for row in rows if row["verdict"] and row["human"]]
    error = [(row["verdict"] == "correct") - (row["human"] == "correct") for row in both]
    x = np.log2([1.0 + len(row["prediction"]) for row in both])
    fitted = sm.OLS(np.array(error, float), sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
    slope = found.length["doubling"].slope
    assert slope.value == pytest.approx(fitted.params[1], rel=1e-9)
    assert [slope.low, slope.high] == pytest.approx(fitted.conf_int()[1].tolist(), rel=1e-9)
