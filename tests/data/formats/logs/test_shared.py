"""Logs that the tools themselves wrote, each by one command, to the figure that the tool states."""

from __future__ import annotations

from pathlib import Path

import pytest

import karat
from karat.core.errors import KaratError

LOGS = Path(__file__).parents[5] / "shared" / "logs"
pytestmark = [
    pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not here"),
    pytest.mark.filterwarnings("ignore:.*looks like JSON lists"),  # one of the 24 answers is the text of a list
]
EXACT = 13 / 24


@pytest.mark.parametrize(
    ("file", "metric", "figure", "settings"),
    [
        ("deepeval_4.3.1_goldens.csv", "exact_match", EXACT, {}),
        ("deepeval_4.3.1_latest_run_full.json", "exact_match", 13 / 25, {}),
        ("deepeval_4.3.1_latest_run_full.json", "column('metricsData[name=Exact Match].score')", EXACT, {}),
        ("haystack_3.4.0_detailed.csv", "exact_match", EXACT, {}),
        ("haystack_3.4.0_df.json", "column(exact_match)", EXACT, {}),
        ("inspect_0.3.285_epochs3_error.eval", "em(normalize=squad)", 0.7917, {}),
        ("inspect_0.3.285_epochs3_error.eval", "column('value.exact')", 0.7917, {}),
        ("inspect_0.3.285_epochs3_error.eval", "f1", 0.8083, {}),
        ("inspect_0.3.285_epochs3_error.eval", "column('value.includes')", 0.75, {}),
        ("lighteval_0.13.0_details_mymc.parquet", "exact_match", 1 / 3, {}),
        ("lighteval_0.13.0_details_myqa.parquet", "exact_match", EXACT, {}),
        ("lighteval_0.13.0_details_myqa.parquet", "column('metric.em')", 14 / 24, {}),
        ("lm_eval_0.4.13_choices_dummy.jsonl", "exact_match", 0.2, {}),
        ("lm_eval_0.4.13_choices_dummy.jsonl", "column(acc)", 0.2, {}),
        ("lm_eval_0.4.13_myqa_repeats2_filters2.jsonl", "exact_match", 1 / 24, {"where": "filter = 'strict'"}),
        ("lm_eval_0.4.13_myqa_repeats2_filters2.jsonl", "exact_match", EXACT, {"where": "filter = 'stripped'"}),
        ("mlflow_3_classic_evaluate.csv", "exact_match", EXACT, {}),
        ("mlflow_3_genai_dict_res2.parquet", "exact_match", EXACT, {}),
        ("mlflow_3_genai_dict_res2.parquet", "column('em2/value')", EXACT, {}),
        ("mlflow_3_search_tr.jsonl", "exact_match", EXACT, {}),
        ("mlflow_3_search_traces.jsonl", "exact_match", EXACT, {}),
        ("mlflow_3_search_traces.jsonl", "column('em/value')", EXACT, {}),
        ("promptfoo_0.121.20_simple.json", "exact_match", EXACT, {}),
        (
            "promptfoo_0.121.20_2prompts_2providers_repeat2_errors.csv",
            "column(success)",
            30 / 50,
            {"where": "promptIdx = 0"},
        ),
        (
            "promptfoo_0.121.20_2prompts_2providers_repeat2_errors.csv",
            "exact_match",
            22 / 48,
            {"where": "promptIdx = 3"},
        ),
        ("ragas_0.4.3_dataset.jsonl", "exact_match", EXACT, {}),
        ("ragas_0.4.3_result.json", "exact_match", EXACT, {}),
        ("ragas_0.4.3_result.json", "column(non_llm_string_similarity)", 0.7337, {}),
    ],
)
def test_the_figure_of_the_tool_is_reproduced(file, metric, figure, settings):
    [value] = karat.score(LOGS / file, metric, **settings).values.values()
    assert value.value == pytest.approx(figure, abs=5e-5)


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("lm_eval_0.4.13_results.json", r"score the samples, samples_TASK_TIME\.jsonl"),
        ("evalscope_1.14.1_predictions.jsonl", r"score the reviews of the same run, reviews/MODEL/DATASET\.jsonl"),
        ("lm_eval_0.4.13_myqa_repeats2_filters2.jsonl", r"Score one, --where \"filter = 'strict'\""),
        (
            "promptfoo_0.121.20_2prompts_2providers_repeat2_errors.csv",
            r"Score one, --where .*scripted-a.*, or each, --by",
        ),
    ],
)
def test_a_file_that_cannot_be_scored_as_it_is_says_what_to_score(file, remedy):
    with pytest.raises(KaratError, match=remedy):
        karat.score(LOGS / file, "exact_match")


def test_samples_of_inspect_that_failed_are_unscored():
    value = karat.score(LOGS / "inspect_0.3.285_errored.eval", "exact_match").values["exact_match"]
    assert (value.n, value.scored, value.value) == (2, 0, None)
