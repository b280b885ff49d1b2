"""HotpotQA's F1, in which yes, no and noanswer are compared as a whole, equals its official script."""

import pytest

import karat
from karat.metrics import token_f1, token_precision, token_recall

RULE = {"empty": "v1", "yes_no": "exact"}


def test_published_figures(real_data, expected):
    file = real_data("qa_hotpotqa_reflexion") / "cot_nocontext_base.jsonl"
    metrics = {
        "f1": token_f1.using(**RULE),
        "prec": token_precision.using(**RULE),
        "recall": token_recall.using(**RULE),
    }
    result = karat.score(file, list(metrics.values()), map={"prediction": "prediction", "reference": "gold"})
    figures = expected("qa_hotpotqa_reflexion")["cot_nocontext_base"]["official_hotpot_functions"]
    for name, metric in metrics.items():
        assert result.values[metric.spec].value == pytest.approx(figures[name], abs=1e-9, rel=0), name


@pytest.mark.parametrize(
    ("prediction", "reference", "score"),
    [
        ("Yes.", "yes", 1.0),  # normalised first
        ("yes it is", "yes", 0.0),
        ("yes", "yes it is", 0.0),  # whichever side it is on
        ("no answer", "noanswer", 0.0),
        ("no way", "no chance", 0.5),  # it must stand alone
        ("noanswer", "no", 0.0),
        ("it is", "yes it is", 0.8),
    ],
)
@pytest.mark.parametrize("listed", [False, True])
def test_yes_no_and_noanswer_score_only_when_equal(prediction, reference, score, listed):
    found = token_f1([prediction], [[reference, reference] if listed else reference], **RULE)
    assert found.to_pylist() == pytest.approx([score])
