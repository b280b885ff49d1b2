"""Presets give what the scripts of their benchmarks give, to 1e-9."""

import json
import re
import string
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.core.metric.registry import find_preset
from karat.core.metric.spec import parse_all
from karat.metrics import claim_check

EXACT = {"abs": 1e-9, "rel": 0}
CASES = [json.loads(line) for line in Path(__file__).with_name("benchmarks.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("preset", sorted({case["preset"] for case in CASES}))
def test_each_answer_scores_as_in_lm_eval(preset):
    cases = [case for case in CASES if case["preset"] == preset]
    rows = (
        case["prediction"] if case["reference"] is None else (case["prediction"], case["reference"]) for case in cases
    )
    columns = list(map(list, zip(*rows, strict=True)))
    for at, metric in enumerate(parse_all(f"preset:{preset}")):
        expected = [case["scores"][at] for case in cases]
        assert metric(*columns).to_numpy(zero_copy_only=False) == pytest.approx(
            np.array(expected, float), nan_ok=True, **EXACT
        )


def official_triviaqa(answer):
    """The official script's steps, stated again."""
    lower = answer.replace("_", " ").lower()
    kept = "".join(" " if char in {*string.punctuation, *"‘’´`"} else char for char in lower)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split()).strip()


@given(
    st.lists(st.tuples(st.text("aAthe _-.’´Σ") | st.text(), st.lists(st.text("aAthe _-.’´Σ"), min_size=1)), min_size=1)
)
def test_triviaqa_is_the_official_script(rows):
    exact, f1 = parse_all("preset:triviaqa")
    predictions, references = zip(*rows, strict=True)
    best = [[max(each(p, r) for r in rs) for p, rs in rows] for each in (match, overlap)]
    assert exact(list(predictions), list(references)).to_pylist() == best[0]
    assert f1(list(predictions), list(references)).to_pylist() == pytest.approx(best[1], **EXACT)


def match(prediction, reference):
    return float(official_triviaqa(prediction) == official_triviaqa(reference))


def overlap(prediction, reference):
    predicted, expected = official_triviaqa(prediction).split(), official_triviaqa(reference).split()
    common = sum((Counter(predicted) & Counter(expected)).values())
    return 2 * common / (len(predicted) + len(expected)) if common else 0.0


def official_squad(answer):
    kept = "".join(char for char in answer.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def alce(output, answers):
    """Its script's steps, stated again: the share of the questions' short answers, by any of their names."""
    line = output.strip().split("\n")[0].replace("<|im_end|>", "")
    plain = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", line)).replace(" |", "").replace("]", "")
    return [any(official_squad(name) in official_squad(plain) for name in names) for names in answers]


NAMES = st.text("abcé [1]", min_size=1, max_size=4).filter(official_squad)
OUTPUTS = st.lists(NAMES | st.sampled_from(["[1]", " [2]", "\n", ". ", " |", "]", "The "]), min_size=1).map("".join)


@given(st.lists(st.tuples(OUTPUTS, st.lists(st.lists(NAMES, min_size=1), min_size=1)), min_size=1, max_size=5))
def test_alce_is_the_official_script(rows):
    share, hit = parse_all("preset:alce")
    columns = list(map(list, zip(*rows, strict=True)))
    found = [alce(*row) for row in rows]
    assert share(*columns).to_pylist() == pytest.approx([np.mean(each) for each in found], **EXACT)
    assert hit(*columns).to_pylist() == [float(all(each)) for each in found]


@pytest.mark.parametrize("system", ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"])
def test_gsm8k_of_the_published_solutions(system, real_data):
    """The solutions mark the answer with "A:" where today's marks it with "####"."""
    from karat.data.open import open_source

    source = open_source(real_data("math") / "gsm8k_example_model_solutions.jsonl.gz")
    rows = pa.table(source).to_pylist()
    solutions, references = (
        [text.replace("\nA: ", "\n#### ") for text in texts]
        for texts in ([row[system]["solution"] for row in rows], [row["ground_truth"] for row in rows])
    )
    strict, _ = parse_all("preset:gsm8k")
    assert strict(solutions, references).to_pylist() == [float(row[system]["is_correct"]) for row in rows]


def test_math_of_its_authors_pairs(real_data):
    pairs = map(json.loads, (real_data("math") / "hendrycks_is_equiv_cases.jsonl").read_text("utf-8").splitlines())
    predictions, references, expected = zip(*((p["pred"], p["gold"], float(p["expected"])) for p in pairs), strict=True)
    (metric,) = parse_all("preset:math")
    assert metric(list(predictions), list(references)).to_pylist() == list(expected)


def test_ragchecker_of_its_published_example(real_data, expected):
    folder = real_data("rag_claims_ragchecker_example")
    result = karat.score(
        json.loads((folder / "checking_outputs.json").read_text("utf-8"))["results"], "preset:ragchecker"
    )
    for each in parse_all("preset:ragchecker"):
        figures = [row[each.settings["figure"]] for row in expected("rag_claims_ragchecker_example")["per_result"]]
        assert result.table[each.spec].to_pylist() == pytest.approx(figures, **EXACT)


def test_claims_that_do_not_fit_are_unscored():
    rows = {"answer2response": [["Entailment"], []], "response2answer": [["Neutral"], []]}
    rows |= {"retrieved2answer": [[["Entailment", "Neutral"]], []], "retrieved2response": [[["Entailment"]], []]}
    assert claim_check(**rows).to_pylist() == [None, 0]


def test_hotpotqa_of_a_published_run(real_data, expected):
    file = real_data("qa_hotpotqa_reflexion") / "cot_nocontext_base.jsonl"
    result = karat.score(file, "preset:hotpotqa", map={"prediction": "prediction", "reference": "gold"})
    figures = expected("qa_hotpotqa_reflexion")["cot_nocontext_base"]["official_hotpot_functions"]
    for spec, name in zip(find_preset("preset:hotpotqa").specs, ("em", "f1", "prec", "recall"), strict=True):
        assert result.values[spec].value == pytest.approx(figures[name], **EXACT)


@pytest.mark.parametrize(
    "reference",
    ["14", 14, ["15 yards", "14"], [["14"]], [["15 yards"], ["14"]], [["a", "b"], "14"], [None, ["14", None]]],
)
def test_answers_of_drop_in_json_lines(reference, tmp_path):
    file = tmp_path / "answers.jsonl"
    rows = [{"prediction": "14", "reference": reference}, {"prediction": "14", "reference": None}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source in (file, rows):
        assert karat.score(source, "drop_f1").table["drop_f1"].to_pylist() == [1, None]


def test_answers_of_drop_that_are_no_texts_are_an_error(tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text('{"prediction": "14", "reference": [["14"]]}\n{"prediction": "14", "reference": [[1.5]]}\n')
    with pytest.raises(karat.errors.RowError, match=r"row 2, column 'reference': answers are texts.*found 1.5"):
        karat.score(file, "drop_f1")
