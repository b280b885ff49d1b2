"""Evaluators over a frame, beside Phoenix's own, and by columns."""

import asyncio
import gc

import pytest

pytest.importorskip("phoenix.evals")

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import create_model

from karat import Governor, Judge
from karat.adapters.phoenix import (
    Evaluator,
    MatchesRegex,
    Score,
    as_evaluator,
    async_evaluate_dataframe,
    bind_evaluator,
    create_evaluator,
    evaluate_dataframe,
    exact_match,
    to_annotation_dataframe,
)
from karat.adapters.phoenix.column import Column
from karat.core.errors import SpecError
from karat.models.governor.faults import ModelError
from karat.models.testing.fake import FakeModel

FRAME = pd.DataFrame(
    {
        "output": ["a", "b", "c d", "e"],
        "expected": ["a", "x", "c d", "y"],
        "n": [1, 2, 3, 4],
        7: [0.5, 1.5, np.nan, 2.0],
    },
    index=[5, 5, 7, 9],
)


def without_seconds(frame):
    """All cells, with the details but for their seconds."""
    for name in frame.columns:
        if str(name).endswith("_execution_details"):
            assert all(cell["execution_seconds"] >= 0 for cell in frame[name])
            frame[name] = [{**cell, "execution_seconds": 0} for cell in frame[name]]
    return frame


def unlabelled(score):
    """exact_match has no label in Phoenix."""
    return score and {name: value for name, value in score.items() if name != "label"}


def given_back(output, n):
    """Every form that an evaluator may return."""
    return [1.5, True, "two words", "a text of more words", {"score": n, "label": "x"}, (output, 0.25)]


class Two(Evaluator):
    """Two scores a record, and none in a way of its own."""

    def __init__(self, names=("left", "right"), name="two"):
        super().__init__(name=name, kind="code", input_schema=create_model("Output", output=(str, ...)))
        self.names = names

    def _evaluate(self, eval_input):
        return [Score(name=name, score=float(len(eval_input["output"]))) for name in self.names]


@pytest.fixture
def evals():
    return pytest.importorskip("phoenix.evals")


class TestBesidePhoenix:
    """The same frame from Phoenix's own package."""

    def test_exact_match_has_the_same_columns_index_and_dicts(self, evals):
        from phoenix.evals.metrics import exact_match as theirs

        expected = without_seconds(evals.evaluate_dataframe(dataframe=FRAME, evaluators=[theirs], hide_tqdm_bar=True))
        found = without_seconds(evaluate_dataframe(FRAME, [exact_match]))
        pd.testing.assert_frame_equal(found, expected)
        assert list(found["exact_match_score"].iloc[0]) == list(expected["exact_match_score"].iloc[0])

    @pytest.mark.parametrize("form", range(6))
    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_a_function_of_ones_own_gives_the_same(self, evals, form, asynchronous):
        def judge(output: str, n: int):
            return given_back(output, n)[form]

        made = [
            create(name="judge", kind="human", direction="minimize")(judge)
            for create in (create_evaluator, evals.create_evaluator)
        ]
        expected = evals.evaluate_dataframe(dataframe=FRAME, evaluators=[made[1]], hide_tqdm_bar=True)
        if asynchronous:
            found = asyncio.run(async_evaluate_dataframe(FRAME, [made[0]]))
        else:
            found = evaluate_dataframe(FRAME, [made[0]])
        pd.testing.assert_frame_equal(without_seconds(found), without_seconds(expected))

    def test_several_evaluators_and_mappings_give_the_same(self, evals):
        from phoenix.evals.metrics import exact_match as theirs

        def length(output: str, least: float = 0.0):
            return len(output) > least

        def make(create, bind, exact):
            return [
                create(name="length", kind="code")(length),
                bind(exact, {"output": "expected", "expected": lambda output: output}),
            ]

        ours = make(create_evaluator, bind_evaluator, exact_match)
        both = make(
            evals.create_evaluator,
            lambda each, how: evals.bind_evaluator(evaluator=each, input_mapping=how),
            theirs,
        )
        expected = without_seconds(evals.evaluate_dataframe(dataframe=FRAME, evaluators=both, hide_tqdm_bar=True))
        found = without_seconds(evaluate_dataframe(FRAME, ours))
        found["exact_match_score"] = found["exact_match_score"].map(unlabelled)
        pd.testing.assert_frame_equal(found, expected)

    def test_rows_that_fail_are_none_in_both_and_the_others_go_on(self, evals):
        def picky(n: int):
            return 1 / (n - 2)

        made = [create(name="picky", kind="code")(picky) for create in (create_evaluator, evals.create_evaluator)]
        expected = evals.evaluate_dataframe(
            dataframe=FRAME, evaluators=[made[1]], hide_tqdm_bar=True, exit_on_error=False, max_retries=0
        )
        with pytest.warns(UserWarning, match=r"picky: 1 of 4 rows failed .* row 2 \(index 5\): ZeroDivisionError"):
            found = evaluate_dataframe(FRAME, [made[0]])
        pd.testing.assert_frame_equal(without_seconds(found), without_seconds(expected))


class TestColumns:
    def test_scores_by_columns_are_those_of_each_record(self):
        evaluators = [exact_match, MatchesRegex("a|c"), as_evaluator("token_f1", name="f1")]
        found = evaluate_dataframe(FRAME, evaluators)
        for evaluator in evaluators:
            each = [
                evaluator.evaluate(record)[0].to_dict() for record in FRAME[["output", "expected"]].to_dict("records")
            ]
            assert found[f"{evaluator.name}_score"].tolist() == each

    @pytest.mark.parametrize("dtype", ["str", "object", "category", "string[python]", pd.ArrowDtype(pa.string())])
    def test_text_of_any_dtype_is_read(self, dtype):
        found = evaluate_dataframe(FRAME[["output", "expected"]].astype(dtype), [exact_match])
        assert [score["score"] for score in found["exact_match_score"]] == [1, 0, 1, 0]
        assert list(found.dtypes[:2]) == list(FRAME[["output", "expected"]].astype(dtype).dtypes)

    def test_each_row_has_a_score_of_its_own(self):
        found = evaluate_dataframe(pd.concat([FRAME] * 3000), [exact_match])["exact_match_score"]
        assert len(set(map(id, found))) == len({id(score["metadata"]) for score in found}) == len(found)

    def test_a_row_without_text_fails_as_it_does_alone(self):
        frame = FRAME.assign(output=["a", None, "c d", "e"])
        with pytest.warns(UserWarning, match="1 of 4"):
            found = evaluate_dataframe(frame, [exact_match])
        assert [score and score["score"] for score in found["exact_match_score"]] == [1.0, None, 1.0, 0.0]
        details = found["exact_match_execution_details"].iloc[1]
        with pytest.raises(ValueError, match="valid string") as alone:
            exact_match.evaluate({"output": None, "expected": "x"})
        assert (details["status"], details["exceptions"]) == ("FAILED", [f"DataError({str(alone.value)!r})"])

    def test_a_column_of_mixed_values_is_taken_row_by_row(self):
        frame = FRAME.assign(output=np.array(["a", 3, "c d", "e"], object))
        with pytest.warns(UserWarning, match="valid string"):
            found = evaluate_dataframe(frame, [exact_match])
        assert [score and score["score"] for score in found["exact_match_score"]] == [1.0, None, 1.0, 0.0]

    def test_what_differs_by_row_is_told_by_row(self):
        class ByColumn(Two):
            def score_columns(self, _read):
                return [
                    Column(
                        name="left",
                        score=pa.array([0.5, np.nan, None, 0.5]),
                        label=["x", True, None, "y"],
                        explanation=pa.array([None, None, "no idea", None]),
                        metadata={"by": "me"},
                        row_metadata={"cost": [0.1, None, 0.2, 0.3]},
                        reason=[None, None, None, "lost"],
                        direction="neutral",
                    )
                ]

        with pytest.warns(UserWarning, match="lost"):
            found = evaluate_dataframe(FRAME, [ByColumn()])
        rest = {"kind": "code", "direction": "neutral"}
        assert found["left_score"].tolist() == [
            {"name": "left", "score": 0.5, "label": "x", "metadata": {"by": "me", "cost": 0.1}, **rest},
            {"name": "left", "label": True, "metadata": {"by": "me"}, **rest},
            {"name": "left", "explanation": "no idea", "metadata": {"by": "me", "cost": 0.2}, **rest},
            None,
        ]
        assert "right_score" not in found

    def test_an_evaluator_that_cannot_score_at_all_fails_in_every_row_without_being_asked_again(self):
        class Broken(Two):
            def score_columns(self, _read):
                raise SpecError("no such model")

        with pytest.warns(UserWarning, match="4 of 4 .*no such model"):
            found = evaluate_dataframe(FRAME, [Broken(), exact_match])
        assert {cell["status"] for cell in found["two_execution_details"]} == {"FAILED"}
        assert found["two_score"].tolist() == [None] * 4
        assert found["exact_match_score"].notna().all()

    def test_a_column_is_one_span_and_a_record_one_each(self, monkeypatch):
        trace = pytest.importorskip("opentelemetry.trace")
        sdk = pytest.importorskip("opentelemetry.sdk.trace")
        memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
        provider = sdk.TracerProvider()
        provider.add_span_processor(sdk.export.SimpleSpanProcessor(memory))
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        found = evaluate_dataframe(FRAME, [exact_match, Two()])
        names = [span.name for span in memory.get_finished_spans()]
        assert names == ["exact_match.evaluate", *["two.evaluate"] * 4]
        traces = [f"{span.context.trace_id:032x}" for span in memory.get_finished_spans()]
        assert [score["metadata"]["trace_id"] for score in found["exact_match_score"]] == traces[:1] * 4
        assert [score["metadata"]["trace_id"] for score in found["left_score"]] == traces[1:]

    @pytest.mark.parametrize("enabled", [True, False])
    def test_garbage_collection_is_as_it_was(self, enabled):
        before = gc.isenabled()
        try:
            (gc.enable if enabled else gc.disable)()
            evaluate_dataframe(FRAME, [exact_match])
            assert gc.isenabled() is enabled
        finally:
            (gc.enable if before else gc.disable)()


def test_rows_that_were_judged_before_the_model_could_no_longer_be_asked_keep_their_scores():
    asked = []

    async def model(messages, schema, settings):
        asked.append(1)
        if len(asked) > 2:
            raise ModelError("no such model")
        return {"explanation": "no such model", "label": "correct"}  # a row is not known by the words of the error

    frame = pd.DataFrame({"input": list("abcd"), "output": ["x"] * 4, "expected": ["x", "x", "x", None]})
    judge = as_evaluator(Judge("correctness", model=model, governor=Governor(concurrency=1)), name="j")
    with pytest.warns(UserWarning, match=r"j: 1 of 4 rows failed .*no such model"):
        found = evaluate_dataframe(frame, [judge])
    assert [score and score.get("score") for score in found["j_score"]] == [1.0, 1.0, None, None]
    assert found["j_score"][3]["explanation"] == "reference is null"
    assert [cell["status"] for cell in found["j_execution_details"]] == ["COMPLETED"] * 2 + ["FAILED", "COMPLETED"]
    assert len(asked) == 3


@pytest.mark.parametrize("by_rows", [False, True])
def test_rows_whose_judge_gives_no_verdict_fail_with_its_error_and_leave_no_annotation(by_rows):
    def reply(messages):
        return {
            "explanation": "e",
            "label": "maybe" if any("BAD" in each["content"] for each in messages) else "correct",
        }

    frame = pd.DataFrame({"input": list("abc"), "output": ["x", "BAD", "y"], "expected": ["x", "x", None]})
    judge = as_evaluator(Judge("correctness", model=FakeModel(reply), governor=Governor()), name="j")
    if by_rows:
        judge.bind({"prediction": lambda row: row["output"]})
    with pytest.warns(UserWarning, match=r"j: 1 of 3 rows failed .*which is not one of"):
        found = evaluate_dataframe(frame.assign(span_id=list("pqr")), [judge])
    details = found["j_execution_details"].tolist()
    assert [cell["status"] for cell in details] == ["COMPLETED", "FAILED", "COMPLETED"]
    assert "which is not one of" in details[1]["exceptions"][0]
    assert [score and score.get("label") for score in found["j_score"]] == ["correct", None, None]
    with pytest.warns(UserWarning, match="2 rows without a score are left out"):
        assert to_annotation_dataframe(found)["span_id"].tolist() == ["p"]
