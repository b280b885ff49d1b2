"""Agreement of published judges and annotators equal to published figures and to those of scikit-learn and scipy."""

import csv
import gzip
import json

import numpy as np
import pytest

import karat
from karat.runs.judge.raters import PEOPLE

CLOSE = {"abs": 1e-9}
DROPPED = str.maketrans("", "", '" ')


@pytest.fixture(scope="module")
def tsv():
    def read(path, quoting=csv.QUOTE_NONE):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t", quoting=quoting))

    return read


def load(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture
def pandalm(real_data):
    folder = real_data("judge_pairwise_pandalm")
    rows = [{f"annotator{k}": row[f"annotator{k}"] for k in (1, 2, 3)} for row in load(folder / "testset-v1.json.gz")]
    spelled = {"Tie": 0, "garbage": -1}
    for name, field in (("gpt-3.5-turbo", "gpt_result"), ("pandalm-7b", "pandalm_result")):
        for row, verdict in zip(rows, load(folder / f"{name}-testset-v1.json.gz"), strict=True):
            said = verdict[field]
            row[name] = spelled.get(said) if said in spelled else int(said)
    return rows


def test_pandalm(pandalm, expected):
    figures = expected("judge_pairwise_pandalm")
    names = ("annotator1", "annotator2", "annotator3")
    judges = ("gpt-3.5-turbo", "pandalm-7b")
    found = karat.examine(pandalm, columns=judges, human=names, scale="nominal")
    for pair, kappa in figures["kappa"].items():
        first, second = (names[int(number) - 1] for number in pair.split("v"))
        assert found.pair(first, second).figures["cohen_kappa"].value == pytest.approx(kappa, **CLOSE)
    for judge in judges:
        with_majority = found.pair(judge).figures
        assert with_majority["accuracy"].n == figures["rows"] - figures["no_majority"]
        assert with_majority["accuracy"].value == pytest.approx(figures[judge]["accuracy"], **CLOSE)
        assert with_majority["cohen_kappa"].value == pytest.approx(figures[judge]["cohen_kappa_vs_majority"], **CLOSE)
        sentence = found.judge(judge).sentences[1]
        assert sentence.startswith(f"{judge} agrees with a person less than people agree with each other: the same lab")
        assert ", alpha 0.4" in sentence
    people = found.pair(PEOPLE).figures["krippendorff_alpha"]
    assert people.low < sum(figures["kappa"].values()) / 3 < people.high


@pytest.fixture
def openqa(real_data, tsv):
    """The judged answers with every judge's verdict, in the order of all files; a file may have another answer."""

    def same(one, other):
        return one["Model answer"].translate(DROPPED) == other["Model answer"].translate(DROPPED)

    folder = real_data("qa_human_openqa_eval")
    files = {name: tsv(folder / f"NQ301_{name}.tsv.gz") for name in ("human", "BEM", "gpt-4", "text-davinci-003")}
    rows = []
    for human, bem, gpt, davinci in zip(*files.values(), strict=True):
        row = {name: human[name].capitalize() or None for name in ("Acceptable?", "annotator1", "annotator2")}
        row["BEM"] = bem["Acceptable?"] if same(human, bem) else None
        row["gpt-4"] = (gpt["Acceptable?"] or None) if same(human, gpt) else None
        row["text-davinci-003"] = davinci["Model answer"]  # this file lost the tab between question and answer
        row["prediction"] = human["Model answer"]
        row["reference"] = bem["Gold answers"].strip('"').replace('""', '"').split(" | ") if same(human, bem) else None
        rows.append(row)
    return rows


def test_openqa(openqa, expected):
    figures = expected("qa_human_openqa_eval")
    labels = {"label_map": "Yes=1,No=0"}
    judged = figures["judge_vs_human"]
    for judge in ("BEM", "gpt-4", "text-davinci-003"):
        found = karat.examine(openqa, columns=[judge], human="Acceptable?", **labels).pair(judge).figures
        theirs = judged[f"NQ301_{judge}.tsv"]
        assert found["accuracy"].n == theirs["n"]
        assert found["accuracy"].value == pytest.approx(theirs["accuracy"], **CLOSE)
        assert found["cohen_kappa"].value == pytest.approx(theirs["cohen_kappa"], **CLOSE)
    scored = karat.score(openqa, "exact_match(normalize=squad)", keep=True)
    found = karat.examine(scored, human="Acceptable?", **labels).pair(scored.metrics[0].spec).figures
    theirs = judged["exact_match_as_judge"]
    assert found["accuracy"].n == theirs["n"]
    assert found["accuracy"].value == pytest.approx(theirs["accuracy"], **CLOSE)
    assert found["cohen_kappa"].value == pytest.approx(theirs["cohen_kappa"], **CLOSE)
    both = karat.examine(openqa, human=["annotator1", "annotator2"], **labels).pair("annotator1", "annotator2").figures
    assert both["accuracy"].n == figures["annotator_agreement"]["n"]
    assert both["accuracy"].value == pytest.approx(figures["annotator_agreement"]["raw"], **CLOSE)
    assert both["cohen_kappa"].value == pytest.approx(figures["annotator_agreement"]["cohen_kappa_1_vs_2"], **CLOSE)


@pytest.mark.parametrize("name", ["wow", "tc", "cmu"])
def test_begin(name, tsv, real_data, expected):
    rows = tsv(real_data("faithfulness_begin") / f"begin_{name}_dev.tsv.gz", csv.QUOTE_MINIMAL)
    yes = "Fully attributable"
    table = {
        "prediction": [row["response"] for row in rows],
        "reference": [row["knowledge"] for row in rows],
        "attributable": [float(row["begin_label"] == yes) for row in rows],
    }
    specs = ["token_precision", "token_recall", "rouge_l(score='precision')", "rouge_l(score='recall')"]
    scored = karat.score(table, specs, keep=True)
    precision, *others = (scored.table[spec].to_numpy() for spec in specs)
    # scores that are equal but for rounding are not tied in the figures, so F1 is computed as it was for them
    with np.errstate(invalid="ignore"):
        token_f1, rouge = (np.nan_to_num(2 * p * r / (p + r)) for p, r in ((precision, others[0]), others[1:]))
    table |= {"token_precision": precision, "token_f1": token_f1, "rouge_l": rouge}
    found = karat.examine(table, human="attributable")
    figures = expected("faithfulness_begin")[f"{name}_dev"]
    for metric, title in (("token_f1", "token_f1"), ("token_precision", "token_precision"), ("rouge_l", "rougeL_f")):
        values, theirs = found.pair(metric).figures, figures[title]
        assert np.mean(table[metric]) == pytest.approx(theirs["mean"], **CLOSE)
        assert values["auroc"].value == pytest.approx(theirs["auc_fully_attributable"], **CLOSE)
        assert values["spearman"].value == pytest.approx(theirs["spearman"], **CLOSE)
        cut = found.judge(metric).people.cut
        assert cut.low <= cut.value <= cut.high
        assert cut.youden.corrected.value <= cut.youden.apparent.value
