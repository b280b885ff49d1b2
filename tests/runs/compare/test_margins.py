"""`karat.compare(…, margin=)`: what is no worse, and what is equivalent."""

import numpy as np
import pytest
from scipy.stats import norm

import karat
from karat.errors import SpecError
from karat.testing import assert_no_worse

N = 500
random = np.random.default_rng(5)
A = random.random(N) < 0.7
LIKE = np.where(random.random(N) < 0.04, ~A, A)
ROWS = {"id": [f"q{at}" for at in range(N)], "topic": ["xy"[at % 2] for at in range(N)], "gold": ["x"] * N}


def scored(right, metrics=("em",)):
    return karat.score({**ROWS, "prediction": np.where(right, "x", "y").tolist()}, list(metrics))


FIRST, SAME, LIKELY = scored(A, ("em", "f1")), scored(A), scored(LIKE, ("em", "f1"))


def test_the_verdict_is_the_strongest_that_is_shown():
    verdicts = {margin: karat.compare(FIRST, LIKELY, metrics="em", margin=margin).findings[0] for margin in (0.01, 0.2)}
    assert [each.verdict for each in verdicts.values()] == ["unclear", "equivalent"]
    assert "; that B is no worse than A by 1.0 points or more could not be shown (90 % interval of" in (
        verdicts[0.01].sentence
    )
    assert verdicts[0.2].sentence.startswith("B and A are equivalent within 20.0 points (90 % interval of the diff")
    (finding,) = karat.compare(FIRST, scored(A | (np.arange(N) < 40)), metrics="em", margin=0.01).findings
    assert (finding.verdict, finding.margin.verdict) == ("better", "no worse")
    assert "no worse" not in finding.sentence  # better says more
    (finding,) = karat.compare(scored(A | (np.arange(N) < 40)), FIRST, metrics="em", margin=0.1).findings
    assert (finding.verdict, finding.margin.verdict) == ("worse", "equivalent")
    assert "; B and A are equivalent within 10.0 points" in finding.sentence


def test_no_worse_and_equivalent_are_families_of_holm():
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    compared = karat.compare(FIRST, LIKELY, by="topic", margin={"": 0.03, "f1": 0.05})
    tests = [each.comparison.margin for each in compared.findings]
    assert [each.margin for each in tests] == [0.03] * 3 + [0.05] * 3
    for single, held in (("p_no_worse", "no_worse"), ("p_equivalent", "equivalent")):
        adjusted = multipletests([getattr(each, single) for each in tests], method="holm")[1]
        assert [getattr(each, held).adjusted for each in tests] == pytest.approx(adjusted.tolist())
        assert {getattr(each, held).family for each in tests} == {6}
    assert {each.verdict for each in compared.findings} >= {"unclear", "equivalent"}


def test_tables_name_the_margin_and_its_interval(tmp_path):
    compared = karat.compare(FIRST, LIKELY, metrics="em", margin=0.2)
    compared.save(tmp_path / "a.md", percent=True)
    text = (tmp_path / "a.md").read_text()
    assert text.startswith("### ◆ B against A: equivalent in 1 of 1 test")
    assert "| margin | 90 % interval | verdict |" in text
    assert "| ±20.0 |" in text
    assert "| ◆ equivalent |" in text
    assert compared.as_dict()["findings"][0]["margin"]["verdict"] == "equivalent"
    assert "margin" not in karat.compare(FIRST, LIKELY, metrics="em").as_dict()["findings"][0]


def test_a_metric_of_which_less_is_better():
    rows = {"id": range(200), "errors": random.random(200).tolist()}
    more = {**rows, "errors": [each + 0.5 for each in rows["errors"]]}
    metric = "column(errors, direction=minimize)"
    one, other = (karat.score(each, metric) for each in (rows, more))
    assert karat.compare(one, other, margin=0.6).findings[0].margin.verdict == "equivalent"
    assert karat.compare(one, other, margin=0.4).findings[0].margin.verdict == "unclear"
    assert karat.compare(other, one, margin=0.4).findings[0].margin.verdict == "no worse"


def test_labels_by_people_decide():
    labels = [{"id": f"q{at}", "system": name, "label": str(int(A[at]))} for at in range(0, N, 2) for name in "AB"]
    (finding,) = karat.compare(FIRST, LIKELY, metrics="em", human=labels, label_map="0=0,1=1", margin=0.05).findings
    assert finding.margin is finding.corrected.margin
    assert finding.verdict_by_people == finding.decision == finding.margin.verdict == "equivalent"
    assert "corrected by people, B and A are equivalent within 5.0 points" in finding.corrected_sentence


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (2, "margin: 2 is no less than the range of em, 0 to 1; 2 points are 0.02"),
        (0, "margin: expected a number above 0, in the unit of em, found 0"),
        ({"f1": 0.1}, "f1 was not scored"),
    ],
)
def test_what_is_no_margin(margin, message):
    with pytest.raises(SpecError, match=message):
        karat.compare(SAME, SAME, margin=margin)


def test_few_rows_do_not_show_it_and_the_sentence_says_how_many_would():
    (finding,) = karat.compare(FIRST, LIKELY, metrics="em", margin=0.01).not_shown
    discordant = (finding.comparison.wins + finding.comparison.losses) / N
    closed = (norm.isf(0.05) + norm.isf(0.2)) ** 2 * discordant / 0.01**2
    assert finding.rows_for_margin == pytest.approx(closed, rel=0.05)
    assert f"; {finding.rows_for_margin:,} rows would show it with a chance of 80 % if the two do" in finding.sentence
    assert karat.compare(FIRST, LIKELY, metrics="em", margin=0.2).not_shown == ()
    assert_no_worse(LIKELY, than=FIRST, margin=0.2)
    with pytest.raises(AssertionError, match="no worse than A by 1"):
        assert_no_worse(LIKELY, than=FIRST, margin=0.01, metrics="em")
