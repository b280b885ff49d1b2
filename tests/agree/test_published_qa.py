"""EM and F1 on real predictions equal to what the official scripts and publications give, to 1e-9."""

import pytest

import karat
from karat.core.metric.spec import parse

SQUAD_EM = "exact_match(normalize='squad')"
V1 = "token_f1(empty='v1')"
SYSTEMS = [
    "NQ301_text-davinci-003_fewshot-n64",
    "NQ301_text-davinci-003_zeroshot",
    "NQ_ANCE-plus_FiD",
    "NQ_Contriever_FiD",
    "NQ_DPR",
    "NQ_EMDR2",
    "NQ_EviGen",
    "NQ_FiD",
    "NQ_FiD-KD",
    "NQ_GAR-plus_FiD",
    "NQ_R2D2",
    "NQ_Rocketv2_FiD",
]
EXACT = {"abs": 1e-9, "rel": 0}


@pytest.mark.parametrize("system", SYSTEMS)
def test_open_qa_systems(system, real_data, expected):
    file = real_data("qa_human_openqa_eval") / "model_outputs" / f"{system}.jsonl.gz"
    figures = expected("qa_human_openqa_eval")["em_f1_official_script"][system]["full"]
    several = (
        {"samples": "first"} if "fewshot" in system else {}
    )  # 16 of its rows hold lists; the script takes the first
    em, f1 = (parse(spec).using(**several) for spec in (SQUAD_EM, V1))
    result = karat.score(file, [em, f1])
    assert result.mapping == {"prediction": "prediction", "reference": "answer"}
    assert result.n == figures["EM"]["n"]
    assert result.values[em.spec].value == pytest.approx(figures["EM"]["mean"], **EXACT)
    assert result.values[f1.spec].value == pytest.approx(figures["F1"]["mean"], **EXACT)


@pytest.mark.parametrize("system", ["bert_ensemble", "logistic_regression_baseline"])
def test_squad_1(system, real_data, expected):
    folder, figures = real_data("squad"), expected("squad")[f"1.1/{system}"]
    gold, predictions = folder / "gold_dev_1.1.json.gz", folder / f"pred_1.1_{system}.json.gz"
    result = karat.score(predictions, [SQUAD_EM, V1], gold=gold, on="id")
    assert result.n == figures["total"]
    assert result.joined["missing"] == result.values[V1].unscored == figures["missing_ids"]
    assert result.joined["unknown"] == figures["extra_ids"]
    # the official script gives a question without prediction 0, which is the worst it can have
    assert 100 * result.values[SQUAD_EM].worst == pytest.approx(figures["exact_match"], **EXACT)
    assert 100 * result.values[V1].worst == pytest.approx(figures["f1"], **EXACT)


def test_squad_2_with_and_without_answer(real_data, expected):
    folder, figures = real_data("squad"), expected("squad")["2.0/bidaf_selfattn_elmo_single"]
    gold, predictions = folder / "gold_dev_2.0.json.gz", folder / "pred_2.0_bidaf_selfattn_elmo_single.json.gz"
    result = karat.score(predictions, [SQUAD_EM, "token_f1"], gold=gold, on="id", by="is_impossible")
    for spec, name in ((SQUAD_EM, "exact"), ("token_f1", "f1")):
        whole, groups = result.values[spec], result.groups[spec]
        assert 100 * whole.value == pytest.approx(figures[name], **EXACT)
        assert 100 * groups["false"].value == pytest.approx(figures[f"HasAns_{name}"], **EXACT)
        assert 100 * groups["true"].value == pytest.approx(figures[f"NoAns_{name}"], **EXACT)
        assert [whole.n, groups["false"].n, groups["true"].n] == [
            figures["total"],
            figures["HasAns_total"],
            figures["NoAns_total"],
        ]


@pytest.mark.parametrize(
    ("version", "system"),
    [("1.1", "bert_ensemble"), ("1.1", "logistic_regression_baseline"), ("2.0", "bidaf_selfattn_elmo_single")],
)
def test_squad_question_by_question(version, system, real_data):
    folder = real_data("squad")
    f1 = V1 if version == "1.1" else "token_f1"
    result = karat.score(
        folder / f"pred_{version}_{system}.json.gz",
        [SQUAD_EM, f1],
        gold=folder / f"gold_dev_{version}.json.gz",
        on="id",
    )
    official = karat.score(  # read as text by karat itself; scored only to get the rows
        folder / f"per_question_{version}_{system}.csv.gz", "exact_match", map={"prediction": "em", "reference": "em"}
    )
    figures = {row["id"]: (float(row["em"]), float(row["f1"])) for row in official.table.to_pylist()}
    compared = 0
    for row in result.table.to_pylist():
        if row[f1] is not None and row["id"] in figures:
            assert (row[SQUAD_EM], row[f1]) == pytest.approx(figures[row["id"]], abs=1e-6), row["id"]
            compared += 1
    assert compared == result.values[f1].scored


def test_natural_questions_by_adaptive_rag(real_data, expected):
    folder, figures = real_data("qa_nq500_flan_t5_adaptive_rag"), expected("qa_nq500_flan_t5_adaptive_rag")
    result = karat.score(folder / "prediction.json", [SQUAD_EM, V1], gold=folder / "ground_truth.json", on="id")
    figures = figures["squad_v1.1_functions"]
    assert result.n == figures["count"]
    assert result.values[SQUAD_EM].value == pytest.approx(figures["em"], **EXACT)
    assert result.values[V1].value == pytest.approx(figures["f1"], **EXACT)


def test_hotpot_by_reflexion(real_data, expected):
    file = real_data("qa_hotpotqa_reflexion") / "cot_nocontext_base.jsonl"
    result = karat.score(file, SQUAD_EM)
    assert result.n == 100
    figures = expected("qa_hotpotqa_reflexion")["cot_nocontext_base"]["official_hotpot_functions"]
    assert result.values[SQUAD_EM].value == pytest.approx(figures["em"], **EXACT)
