"""Evaluators over a frame, and its scores as annotations, beside Phoenix's own."""

import asyncio
import gc
import json
import threading
import warnings

import pytest

pytest.importorskip("pandas")

import numpy as np
import pandas as pd
import pyarrow as pa

from karat import Governor, Judge
from karat.adapters.phoenix import (
    ClassificationEvaluator,
    Score,
    as_evaluator,
    async_evaluate_dataframe,
    bind_evaluator,
    create_evaluator,
    evaluate_dataframe,
    exact_match,
    matches_regex,
    to_annotation_dataframe,
)
from karat.adapters.phoenix.evaluators.evaluator import Evaluator
from karat.adapters.phoenix.frame import columnwise
from karat.adapters.phoenix.frame.evaluate import EvaluationStopped
from karat.adapters.phoenix.schema import Schema
from karat.adapters.phoenix.score import Column
from karat.core.errors import ColumnError, SpecError
from karat.models.governor.faults import ModelError
from karat.models.governor.retry import RetryPolicy

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
        super().__init__(name=name, kind="code", input_schema=Schema({"output": str}))
        self.names = names

    def _evaluate(self, eval_input):
        return [Score(name=name, score=float(len(eval_input["output"]))) for name in self.names]


@pytest.fixture
def evals():
    return pytest.importorskip("phoenix.evals")


class TestBesidePhoenix:
    """The same frame from Phoenix's own package."""

    def test_exact_match_has_the_same_columns_index_and_dicts_but_for_the_label(self, evals):
        from phoenix.evals.metrics import exact_match as theirs

        expected = without_seconds(evals.evaluate_dataframe(dataframe=FRAME, evaluators=[theirs], hide_tqdm_bar=True))
        found = without_seconds(evaluate_dataframe(FRAME, [exact_match]))
        assert [score["label"] for score in found["exact_match_score"]] == [True, False, True, False]
        assert list(found["exact_match_score"].iloc[0]) == ["name", "score", "label", "metadata", "kind", "direction"]
        found["exact_match_score"] = found["exact_match_score"].map(unlabelled)
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

    @pytest.mark.usefixtures("evals")
    def test_annotations_are_the_same(self):
        from phoenix.evals.utils import to_annotation_dataframe as theirs

        scored = evaluate_dataframe(FRAME.drop(columns=7), [matches_regex("a|b"), Two()])
        scored["context.span_id"] = list("pqrs")
        by_index = scored.set_index("context.span_id")
        for found, expected in (
            (to_annotation_dataframe(scored), theirs(dataframe=scored)),
            (to_annotation_dataframe(by_index, ["right"]), theirs(dataframe=by_index, score_names=["right"])),
        ):
            assert list(found.columns) == list(expected.columns)
            nothing = expected.astype(object).where(expected.notna(), None)  # here None, there NaN
            assert found.to_dict("records") == nothing.to_dict("records")


class TestColumns:
    def test_scores_by_columns_are_those_of_each_record(self):
        evaluators = [exact_match, matches_regex("a|c"), as_evaluator("token_f1", name="f1")]
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

    def test_the_compiled_copies_are_those_of_the_definition(self):
        kernel = pytest.importorskip("karat.adapters.phoenix.frame.kernel")
        models = [{"a": 1, "in": {"x": 2}}, {"in": {"x": 2}}, {"in": {}, "c": None}]
        which = np.random.default_rng(0).integers(-1, 3, 20_000, dtype=np.int32)
        found, expected = np.empty(len(which), object), np.empty(len(which), object)
        kernel.copies(models, which, "in", found)
        columnwise.copies_one_by_one(models, which, "in", expected)
        assert found.tolist() == expected.tolist()
        assert found[0] is not found[1]
        with pytest.raises(IndexError, match="row 0: there is no model 1"):
            kernel.copies(models[:1], np.ones(20_000, np.int32), "in", found)

    def test_a_row_without_text_fails_as_it_does_alone(self):
        frame = FRAME.assign(output=["a", None, "c d", "e"])
        with pytest.warns(UserWarning, match="1 of 4"):
            found = evaluate_dataframe(frame, [exact_match])
        assert [score and score["score"] for score in found["exact_match_score"]] == [1.0, None, 1.0, 0.0]
        details = found["exact_match_execution_details"].iloc[1]
        with pytest.raises(ValueError, match="output: str") as alone:
            exact_match.evaluate({"output": None, "expected": "x"})
        assert (details["status"], details["exceptions"]) == ("FAILED", [repr(alone.value)])

    def test_a_column_of_mixed_values_is_taken_row_by_row(self):
        frame = FRAME.assign(output=np.array(["a", 3, "c d", "e"], object))
        with pytest.warns(UserWarning, match="str is expected, got 3"):
            found = evaluate_dataframe(frame, [exact_match])
        assert [score and score["label"] for score in found["exact_match_score"]] == [True, None, True, False]

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


class TestRows:
    def test_names_that_collide_raise_before_anything_runs(self):
        ran = []

        @create_evaluator(name="exact_match", kind="code")
        def spy(output: str):
            ran.append(output)
            return 1.0

        with pytest.raises(ColumnError, match=r"exact_match_execution_details.*bind_evaluator"):
            evaluate_dataframe(FRAME, [spy, exact_match])
        with pytest.raises(ColumnError, match="the frame has one"):
            evaluate_dataframe(FRAME.assign(exact_match_score=0.5), [spy])
        with pytest.raises(ColumnError, match="more than once"):
            evaluate_dataframe(FRAME.assign(**{"7": "x"}), [spy])
        assert ran == []
        both = evaluate_dataframe(FRAME, [bind_evaluator(spy, name="spy"), exact_match])
        assert [name for name in both if str(name).endswith("_score")] == ["spy_score", "exact_match_score"]

    @pytest.mark.parametrize(
        ("names", "problem"),
        [
            (("exact_match",), "already"),
            (("x", "x"), "two scores of the name 'x'"),
            ((None,), "without a name"),
        ],
    )
    def test_scores_without_a_column_of_their_own_fail_in_their_row(self, names, problem):
        with pytest.warns(UserWarning, match=problem):
            found = evaluate_dataframe(FRAME, [exact_match, Two(names)])
        assert found["exact_match_score"].notna().all()
        assert {cell["status"] for cell in found["two_execution_details"]} == {"FAILED"}

    def test_a_frame_without_rows_and_one_where_all_fail_have_all_columns(self):
        @create_evaluator(name="bad", kind="code")
        def bad(output: str):
            raise KeyError(output)

        names = [
            *FRAME.columns,
            "exact_match_execution_details",
            "bad_execution_details",
            "exact_match_score",
            "bad_score",
        ]
        empty = evaluate_dataframe(FRAME[:0], [exact_match, bad])
        assert (list(empty.columns), len(empty)) == (names, 0)
        assert list(map(str, empty.dtypes.iloc[-4:])) == ["object"] * 4
        with pytest.warns(UserWarning, match="bad: 4 of 4"):
            found = evaluate_dataframe(FRAME, [exact_match, bad])
        assert list(found.columns) == names
        assert found["bad_score"].tolist() == [None] * 4

    def test_exit_on_error_raises_with_what_was_done(self):
        @create_evaluator(name="picky", kind="code")
        def picky(n: int):
            return 1 / (n - 2)

        later = create_evaluator(name="later", kind="code")(lambda n: n)
        with pytest.raises(EvaluationStopped, match=r"picky failed in row 2 \(index 5\)") as stopped:
            evaluate_dataframe(FRAME, [exact_match, picky, later], exit_on_error=True)
        found = stopped.value.dataframe
        assert [cell["status"] for cell in found["picky_execution_details"]] == ["COMPLETED", "FAILED"] + [
            "DID NOT RUN"
        ] * 2
        assert {cell["status"] for cell in found["later_execution_details"]} == {"DID NOT RUN"}
        assert found["later_score"].tolist() == [None] * 4
        assert isinstance(stopped.value.__cause__, ZeroDivisionError)

    @pytest.mark.parametrize("wait", [False, True])
    def test_only_what_may_pass_is_tried_again(self, monkeypatch, wait):
        monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.0)
        calls = []

        def flaky(n: int):
            calls.append(n)
            if n == 1:
                raise ValueError("the same every time")
            if n == 2 and calls.count(2) < 3:
                raise TimeoutError("slow")
            if n == 3:
                raise ConnectionError("gone")
            return n

        async def flaky_async(n: int):
            return flaky(n)

        made = create_evaluator(name="flaky", kind="code")(flaky_async if wait else flaky)
        with pytest.warns(UserWarning, match="2 of 4"):
            found = evaluate_dataframe(FRAME, [made], max_retries=2)
        assert [calls.count(n) for n in (1, 2, 3, 4)] == [1, 3, 3, 1]
        details = found["flaky_execution_details"].tolist()
        assert [cell["status"] for cell in details] == ["FAILED", "COMPLETED WITH RETRIES", "FAILED", "COMPLETED"]
        assert details[1]["exceptions"] == ["TimeoutError('slow')"] * 2

    def test_async_evaluators_wait_together_also_inside_a_running_loop(self):
        most = now = 0

        @create_evaluator(name="slow", kind="code")
        async def slow(n: int):
            nonlocal most, now
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1
            return n

        async def inside(function, **given):
            found = function(FRAME, [slow, exact_match], **given)
            return await found if asyncio.iscoroutine(found) else found

        for function, given, expected in (
            (evaluate_dataframe, {}, 4),
            (async_evaluate_dataframe, {}, 4),
            (async_evaluate_dataframe, {"concurrency": 2}, 2),
        ):
            most = 0
            found = asyncio.run(inside(function, **given))
            assert [score["score"] for score in found["slow_score"]] == [1, 2, 3, 4]
            assert most == expected

    def test_sync_functions_run_one_after_another_in_the_callers_thread(self):
        threads = set()

        @create_evaluator(name="where", kind="code")
        def where(n: int):
            threads.add(threading.current_thread())
            return n

        evaluate_dataframe(FRAME, [where])
        assert threads == {threading.current_thread()}

    def test_what_is_no_frame_or_evaluator_or_number_is_told(self):
        with pytest.raises(TypeError, match="DataFrame is expected, got list"):
            evaluate_dataframe([], [exact_match])
        with pytest.raises(TypeError, match="a list of evaluators"):
            evaluate_dataframe(FRAME, ["exact_match"])
        with pytest.raises(SpecError, match="max_retries=-1"):
            evaluate_dataframe(FRAME, [exact_match], max_retries=-1)

    def test_the_frame_given_is_left_as_it_is(self):
        frame = FRAME.copy()
        found = evaluate_dataframe(frame, [exact_match])
        found.loc[9, "output"] = "changed"
        pd.testing.assert_frame_equal(frame, FRAME)

    def test_a_bar_counts_every_row_of_every_evaluator(self, capsys):
        pytest.importorskip("tqdm")
        where = create_evaluator(name="where", kind="code")(lambda n: n)
        evaluate_dataframe(FRAME, [exact_match, where], tqdm_bar_format="{n_fmt}/{total_fmt}")
        assert "8/8" in capsys.readouterr().err
        evaluate_dataframe(FRAME, [exact_match], tqdm_bar_format="{n_fmt}/{total_fmt}", hide_tqdm_bar=True)
        assert capsys.readouterr().err == ""


def scored(**columns):
    return pd.DataFrame({"context.span_id": ["a", "b", "c"], **columns})


FULL = {"name": "x", "score": 1.0, "label": True, "metadata": {"m": 1}, "kind": "code", "direction": "maximize"}


class TestAnnotations:
    def test_rows_that_say_nothing_are_left_out_and_counted(self):
        nothing = {"name": "x", "score": float("nan"), "metadata": {}, "kind": "llm", "direction": "neutral"}
        with pytest.warns(UserWarning, match="left out: 1 that failed, 1 with nothing to log"):
            found = to_annotation_dataframe(scored(x_score=[FULL, None, nothing]))
        assert found.to_dict("records") == [
            {
                "context.span_id": "a",
                "score": 1.0,
                "label": "True",
                "explanation": None,
                "metadata": {"m": 1, "direction": "maximize"},
                "annotation_name": "x",
                "annotator_kind": "CODE",
            }
        ]

    def test_nothing_is_ever_nan_and_kinds_are_of_each_row(self):
        rows = [
            FULL,
            {"label": "good", "kind": "human", "score": float("nan")},
            {"explanation": "why", "label": np.nan},
        ]
        found = to_annotation_dataframe(scored(x_score=rows))
        assert found[["score", "label", "explanation"]].to_numpy().tolist() == [
            [1.0, "True", None],
            [None, "good", None],
            [None, None, "why"],
        ]
        assert found["annotator_kind"].tolist() == ["CODE", "HUMAN", "LLM"]

    def test_columns_of_ones_own_are_no_scores_unless_named(self):
        mine = {"user_score": [1.0, 2.0, 3.0], "text_score": ["low", "high", "{"], "other_score": [{"f1": 1}] * 3}
        found = to_annotation_dataframe(scored(x_score=[FULL] * 3, **mine))
        assert found["annotation_name"].tolist() == ["x"] * 3
        with pytest.raises(ColumnError, match=r"user_score, row 1: a score's dict is expected, got 1\.0"):
            to_annotation_dataframe(scored(x_score=[FULL] * 3, **mine), ["user"])
        with pytest.raises(ValueError, match="Score column 'y_score' not found in DataFrame"):
            to_annotation_dataframe(scored(x_score=[FULL] * 3), ["y"])
        with pytest.raises(ColumnError, match="no column '<name>_score' holds scores"):
            to_annotation_dataframe(scored(user_score=[1.0, 2.0, 3.0]))

    def test_scores_that_went_through_a_file_as_json_are_read(self):
        found = to_annotation_dataframe(scored(x_score=[json.dumps(FULL)] * 3))
        assert found["label"].tolist() == ["True"] * 3

    def test_the_span_is_no_parent(self):
        frame = scored(x_score=[FULL] * 3).assign(parent_span_id="p", **{"other.span_id": "o"})
        assert to_annotation_dataframe(frame)["context.span_id"].tolist() == ["a", "b", "c"]
        assert "parent_span_id" not in to_annotation_dataframe(frame)
        renamed = frame.drop(columns="context.span_id")
        assert to_annotation_dataframe(renamed)["span_id"].tolist() == ["o"] * 3
        with pytest.raises(ValueError, match="No column containing 'span_id' found in DataFrame"):
            to_annotation_dataframe(renamed.drop(columns="other.span_id"))
        with pytest.raises(ColumnError, match="could each be it"):
            to_annotation_dataframe(renamed.assign(third_span_id="t"))

    def test_the_client_takes_them_one_failed_row_and_all(self):
        helpers = pytest.importorskip("phoenix.client.utils.annotation_helpers")
        frame = FRAME.assign(
            output=["a", None, "c d", "e"], **{"context.span_id": list("pqrs"), "parent_span_id": None}
        )
        judge = create_evaluator(name="why", kind="llm")(lambda n: (n > 1, "because it is so, and no other way"))
        with warnings.catch_warnings(action="ignore"):
            found = to_annotation_dataframe(evaluate_dataframe(frame, [exact_match, judge]))
        helpers._validate_span_annotations_dataframe(dataframe=found)
        sent = [each for chunk in helpers._chunk_span_annotations_dataframe(dataframe=found) for each in chunk]
        assert [each["span_id"] for each in sent] == list("prspqrs")
        assert sent[0]["result"] == {"label": "True", "score": 1.0}
        assert sent[2]["result"] == {"label": "False", "score": 0.0}
        assert "nan" not in json.dumps(sent).lower()


def test_evaluators_may_be_any_iterable_of_them():
    found = evaluate_dataframe(FRAME, (each for each in [exact_match, matches_regex("a")]))
    assert list(found.columns[-2:]) == ["exact_match_score", "matches_regex_score"]
    for given in (exact_match, "exact_match"):
        with pytest.raises(TypeError, match="a list of evaluators is expected"):
            evaluate_dataframe(FRAME, given)


def test_columns_of_several_levels_are_refused():
    with pytest.raises(ColumnError, match="one level of columns is expected, it has 2"):
        evaluate_dataframe(pd.concat({"a": FRAME}, axis=1), [exact_match])


@pytest.mark.parametrize(
    "cells",
    [
        [1, 2.5],
        [[1, 2.5], [1]],
        [{"x": 1}, {"y": 2}],
        [{"x": None}, {"x": [None]}],
        [None, 1],
        [True, None],
        [pd.Timestamp(2020, 1, 1), np.array("a")],
    ],
)
def test_columns_of_objects_reach_an_evaluator_as_rows_do(cells):
    frame = pd.DataFrame({"output": pd.Series(cells, dtype=object)})
    read = []
    for mapping in ({}, {"output": lambda record: record["output"]}):
        asked = []

        async def model(messages, schema, settings, asked=asked):
            asked.append(messages[0]["content"])
            return {"explanation": "", "label": "yes"}

        evaluator = ClassificationEvaluator(
            name="c", llm=model, prompt_template="Is {{output}} right?", choices=["yes"], governor=Governor()
        )
        with warnings.catch_warnings(action="ignore"):
            evaluate_dataframe(frame, [bind_evaluator(evaluator, mapping)])
        read.append(sorted(asked))
    assert read[0] == read[1] != []


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


def test_what_is_no_score_is_its_row_s_failure():
    class Loose(Evaluator):
        def _evaluate(self, eval_input):
            return {"a": [{"score": 1}], "b": None, "c d": Score(name="x")}.get(eval_input["output"], [])

    with pytest.warns(UserWarning, match="Loose must return a list of Scores, it returned"):
        found = evaluate_dataframe(FRAME, [Loose(name="loose", kind="code", input_schema=Schema({"output": str}))])
    assert [cell["status"] for cell in found["loose_execution_details"]] == ["FAILED"] * 3 + ["COMPLETED"]


def test_a_function_that_raises_stop_iteration_ends_all_the_same():
    @create_evaluator(name="first")
    def first(n):
        return next(iter(()))

    with pytest.warns(UserWarning, match="first raised StopIteration"):
        found = asyncio.run(asyncio.wait_for(async_evaluate_dataframe(FRAME, [first]), 20))
    assert {cell["status"] for cell in found["first_execution_details"]} == {"FAILED"}
