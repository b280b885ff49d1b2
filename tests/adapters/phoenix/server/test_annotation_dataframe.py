"""The scores of a frame as annotations, beside Phoenix's own."""

import json
import warnings

import pytest

pytest.importorskip("phoenix.evals")

import numpy as np
import pandas as pd
from pydantic import create_model

from karat.adapters.phoenix import (
    Evaluator,
    MatchesRegex,
    Score,
    create_evaluator,
    evaluate_dataframe,
    exact_match,
    to_annotation_dataframe,
)
from karat.adapters.phoenix.server.frame_annotations import from_frame
from karat.core.errors import ColumnError

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


def scored(**columns):
    return pd.DataFrame({"context.span_id": ["a", "b", "c"], **columns})


FULL = {"name": "x", "score": 1.0, "label": True, "metadata": {"m": 1}, "kind": "code", "direction": "maximize"}


def test_annotations_are_the_same():
    theirs = pytest.importorskip("phoenix.evals.utils").to_annotation_dataframe

    scored = evaluate_dataframe(FRAME.drop(columns=7), [MatchesRegex("a|b"), Two()])
    scored["context.span_id"] = list("pqrs")
    by_index = scored.set_index("context.span_id")
    for found, expected in (
        (to_annotation_dataframe(scored), theirs(dataframe=scored)),
        (to_annotation_dataframe(by_index, ["right"]), theirs(dataframe=by_index, score_names=["right"])),
    ):
        assert list(found.columns) == list(expected.columns)
        nothing = expected.astype(object).where(expected.notna(), None)  # here None, there NaN
        assert found.to_dict("records") == nothing.to_dict("records")


class TestAnnotations:
    def test_rows_that_say_nothing_are_left_out_and_counted(self):
        nothing = {"name": "x", "score": float("nan"), "metadata": {}, "kind": "llm", "direction": "neutral"}
        with pytest.warns(UserWarning, match="2 rows without a score are left out"):
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

    def test_nothing_is_ever_nan(self):
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

    def test_columns_of_ones_own_are_no_scores(self):
        frame = scored(x_score=[FULL] * 3, user_score=[1.0, 2.0, 3.0])
        assert to_annotation_dataframe(frame)["annotation_name"].tolist() == ["x"] * 3
        assert len(from_frame(frame.assign(other_score=[{"f1": 1}] * 3)).to_log) == 3
        with pytest.raises(ColumnError, match="no column '<name>_score' holds scores"):
            from_frame(scored(user_score=[1.0, 2.0, 3.0]))
        with pytest.raises(ColumnError, match=r"column x_score, row 2: a score's dict is expected, got 'high'"):
            from_frame(scored(x_score=[FULL, "high", None]))

    def test_scores_that_went_through_a_file_as_json_are_read(self):
        found = to_annotation_dataframe(scored(x_score=[json.dumps(FULL)] * 3))
        assert found["label"].tolist() == ["True"] * 3

    def test_the_span_is_no_parent(self):
        frame = scored(x_score=[FULL] * 3).assign(parent_span_id="p", **{"other.span_id": list("opq")})
        assert [each["span_id"] for each in from_frame(frame).to_log] == ["a", "b", "c"]
        renamed = frame.drop(columns="context.span_id")
        assert [each["span_id"] for each in from_frame(renamed).to_log] == ["o", "p", "q"]
        with pytest.raises(ColumnError, match="no column holds ids of spans, traces or sessions"):
            from_frame(renamed.drop(columns="other.span_id"))
        with pytest.raises(ColumnError, match=r"other\.span_id, third_span_id could each be the span_id"):
            from_frame(renamed.assign(third_span_id="t"))

    @pytest.mark.parametrize("target", ["trace_id", "session_id"])
    def test_scores_of_traces_and_sessions(self, target):
        frame = pd.DataFrame({target: ["a", "b"], "x_score": [FULL, None]})
        annotations = from_frame(frame)
        assert [each[target] for each in annotations.to_log] == ["a"]
        assert annotations.unscored == 1

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
        assert sent[0]["result"] == {"score": 1.0}
        assert sent[2]["result"] == {"score": 0.0}
        assert "nan" not in json.dumps(sent).lower()
