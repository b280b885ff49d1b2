"""Evaluators over a frame, one record at a time: names, failures, retries, threads and event loops."""

import asyncio
import threading

import pytest

pytest.importorskip("phoenix.evals")

import numpy as np
import pandas as pd
from pydantic import create_model

from karat.adapters.phoenix import (
    Evaluator,
    MatchesRegex,
    Score,
    async_evaluate_dataframe,
    bind_evaluator,
    create_evaluator,
    evaluate_dataframe,
    exact_match,
)
from karat.adapters.phoenix.frame.evaluate import EvaluationStopped
from karat.core.errors import ColumnError, SpecError
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


class Two(Evaluator):
    """Two scores a record, and none in a way of its own."""

    def __init__(self, names=("left", "right"), name="two"):
        super().__init__(name=name, kind="code", input_schema=create_model("Output", output=(str, ...)))
        self.names = names

    def _evaluate(self, eval_input):
        return [Score(name=name, score=float(len(eval_input["output"]))) for name in self.names]


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
            (("exact_match",), "already exists"),
            (("x", "x"), "two scores with the name 'x'"),
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


def test_evaluators_may_be_any_iterable_of_them():
    found = evaluate_dataframe(FRAME, (each for each in [exact_match, MatchesRegex("a")]))
    assert list(found.columns[-2:]) == ["exact_match_score", "matches_regex_score"]
    for given in (exact_match, "exact_match"):
        with pytest.raises(TypeError, match="a list of evaluators is expected"):
            evaluate_dataframe(FRAME, given)


def test_columns_of_several_levels_are_refused():
    with pytest.raises(ColumnError, match="one level of columns is expected, it has 2"):
        evaluate_dataframe(pd.concat({"a": FRAME}, axis=1), [exact_match])


def test_what_is_no_score_is_its_row_s_failure():
    class Loose(Evaluator):
        def _evaluate(self, eval_input):
            return {"a": [{"score": 1}], "b": None, "c d": Score(name="x")}.get(eval_input["output"], [])

    with pytest.warns(UserWarning, match="Loose must return a list of Scores, it returned"):
        found = evaluate_dataframe(
            FRAME, [Loose(name="loose", kind="code", input_schema=create_model("Output", output=(str, ...)))]
        )
    assert [cell["status"] for cell in found["loose_execution_details"]] == ["FAILED"] * 3 + ["COMPLETED"]


def test_a_function_that_raises_stop_iteration_ends_all_the_same():
    @create_evaluator(name="first")
    def first(n):
        return next(iter(()))

    with pytest.warns(UserWarning, match="first raised StopIteration"):
        found = asyncio.run(asyncio.wait_for(async_evaluate_dataframe(FRAME, [first]), 20))
    assert {cell["status"] for cell in found["first_execution_details"]} == {"FAILED"}
