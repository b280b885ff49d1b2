"""karat's metrics and judges as Phoenix's evaluators, by rows and by columns, and Phoenix's own by columns."""

import asyncio
import warnings

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat import Governor, Judge
from karat.core.metric.registry import all_metrics
from karat.errors import DataError, SpecError
from karat.models.testing.fake import FakeModel

phoenix = pytest.importorskip("phoenix.evals")

from karat.adapters.phoenix import MatchesRegex, Score, as_evaluator, bind_evaluator, exact_match  # noqa: E402
from karat.adapters.phoenix.frame.known import score_known  # noqa: E402


class Frame:
    """Columns as an evaluator reads them."""

    def __init__(self, mapping=None, **columns):
        self.mapping, self.names = mapping or {}, list(columns)
        self._columns = {name: pa.array(column) for name, column in columns.items()}

    def __call__(self, field):
        return self._columns[self.mapping.get(field) or field]

    def rows(self):
        return pa.table(self._columns).to_pylist()


def columns_of(evaluator, frame):
    found = evaluator.score_columns(frame) if hasattr(evaluator, "score_columns") else None
    return score_known(evaluator, frame) if found is None else found


def by_column(evaluator, frame):
    """Each row's scores, as the columns have them."""
    columns = columns_of(evaluator, frame)
    return [[column.at(row) for column in columns] for row in range(len(columns[0].score))]


TEXTS = Frame(output=["a", "b", "", "ab a"], expected=["a", "a", "", "ab b"])


@pytest.mark.parametrize(
    "evaluator",
    [
        exact_match,
        MatchesRegex("a+"),
        MatchesRegex("a*", include_explanation=False),
        MatchesRegex("b$", name="ends in b"),
        bind_evaluator(exact_match, name="equal"),
        as_evaluator("exact_match"),
        as_evaluator(["token_f1", "bleu(order=2)", "label_f(labels=['a', 'b'])"], name="several"),
        bind_evaluator(as_evaluator(["token_f1", "rouge_l"]), name="renamed"),
    ],
    ids=lambda evaluator: evaluator.name,
)
def test_columns_hold_what_rows_give(evaluator):
    assert by_column(evaluator, TEXTS) == [evaluator.evaluate(row) for row in TEXTS.rows()]
    names = getattr(evaluator, "score_names", [evaluator.name])
    assert [column.name for column in columns_of(evaluator, TEXTS)] == list(names)
    empty = Frame(output=pa.array([], pa.string()), expected=pa.array([], pa.string()))
    assert all(len(column.score) == 0 for column in columns_of(evaluator, empty))


def test_every_metric_and_judge_is_an_evaluator_of_phoenix_s():
    with warnings.catch_warnings(action="error"):
        for metric in all_metrics():
            if not metric.definition.name.startswith("judge:") or metric.definition.columns:
                evaluator = as_evaluator(metric)
                assert isinstance(evaluator, phoenix.Evaluator)
                assert evaluator.describe()["input_schema"]["properties"].keys() == metric.definition.columns.keys()


@pytest.mark.parametrize("evaluator", [exact_match, MatchesRegex("a")], ids=lambda evaluator: evaluator.name)
def test_a_row_without_text_says_why_as_the_row_itself_would(evaluator):
    frame = Frame(output=["a", None, "a", None], expected=["a", "a", None, None])
    (column,) = score_known(evaluator, frame)
    for row, record in enumerate(frame.rows()):
        if column.reason[row] is None:
            assert column.at(row) == evaluator.evaluate(record)[0]
        else:
            with pytest.raises(ValueError, match=r"^Input validation failed") as alone:
                evaluator.evaluate(record)
            assert column.reason[row].partition("[")[0] == str(alone.value).partition("[")[0]


def test_columns_that_are_no_text_are_left_to_the_rows():
    numbers = Frame(output=[1, 2], expected=["1", "2"])
    assert score_known(exact_match, numbers) is None
    assert score_known(MatchesRegex("1"), numbers) is None
    with pytest.raises(KeyError):
        score_known(exact_match, Frame(output=["a"]))


def test_texts_of_two_layouts():
    frame = Frame(output=pa.array(["a", "b"], pa.large_string()), expected=pa.array(["a", "a"], pa.string()))
    assert [scores[0].score for scores in by_column(exact_match, frame)] == [1.0, 0.0]


def test_the_names_that_phoenix_has_need_no_mapping():
    f1 = as_evaluator("token_f1")
    whole = {"question": "q", "prediction": "in Paris", "reference": "Paris"}
    theirs = {"input": "q", "output": "in Paris", "expected": "Paris", "metadata": {}, "reference": "Paris"}
    assert f1.evaluate(theirs) == f1.evaluate(whole)
    mapped = bind_evaluator(f1, {"output": "answer.text", "expected": lambda row: row["gold"]})
    assert mapped.evaluate({"answer": {"text": "in Paris"}, "gold": ["Paris", "x"]}) == f1.evaluate(whole)
    columns = Frame(output=["in Paris"], expected=["Paris"], reference=["Paris"])
    assert by_column(f1, columns) == [f1.evaluate(whole)]


def test_columns_that_are_mapped_by_either_name():
    frame = Frame({"output": "mine", "reference": "gold"}, mine=["a"], gold=["a"], output=["b"])
    bound = bind_evaluator(as_evaluator("exact_match"), frame.mapping)
    assert by_column(bound, frame)[0][0].score == 1.0


def test_a_record_without_a_field_says_what_to_map():
    with pytest.raises(
        DataError, match=r"token_f1: no column fits 'reference'; .* input_mapping=\{'reference': 'COLUMN'\}"
    ):
        as_evaluator("token_f1").evaluate({"output": "a", "truth_of_it": "b"})
    with pytest.raises(TypeError, match="a record is expected"):
        as_evaluator("token_f1").evaluate("a")
    assert as_evaluator("token_f1").score_columns(Frame(output=["a"])) is None


@pytest.mark.parametrize("spec", ["tokn_f1", "token_f1(normalise='none')", []])
def test_there_is_no_such_metric(spec):
    with pytest.raises(SpecError):
        as_evaluator(spec)


def test_an_unscored_record_has_a_score_of_nothing_that_says_why():
    (score,) = as_evaluator("token_f1").evaluate({"output": "a", "expected": []})
    assert (score.score, score.explanation) == (None, "reference is an empty list")
    assert "score" not in score.to_dict()
    (missing,) = as_evaluator("token_f1").evaluate({0: "a key", "output": "a", "expected": float("nan")})
    assert (missing.score, missing.explanation) == (None, "reference is null")
    rows = by_column(as_evaluator("token_f1"), Frame(output=["a", None], expected=["a", "b"]))
    assert [(score.score, score.explanation) for (score,) in rows] == [(1.0, None), (None, "prediction is null")]


def test_a_wrapped_metric_says_what_it_is():
    metric = karat.metrics.token_f1.using(normalize="none")
    evaluator = as_evaluator(metric)
    (score,) = evaluator.evaluate({"output": "a", "expected": "a"})
    assert evaluator.name == score.name == "token_f1(normalize='none')"
    assert score.metadata == {"signature": metric.signature}
    described = evaluator.describe()
    assert (described["name"], described["kind"], described["direction"]) == (evaluator.name, "code", "maximize")
    assert described["input_schema"]["required"] == ["prediction", "reference"]
    assert described["input_schema"]["properties"]["prediction"]["type"] == "string"
    assert as_evaluator("wer").direction == "minimize"
    assert as_evaluator(["wer", "token_f1"]).direction == "neutral"


def test_many_rows_are_what_karat_s_own_call_gives():
    rng = np.random.default_rng(5)
    output, expected = (["".join(text) for text in rng.choice(list("ab c"), (40_000, 5))] for _ in "12")
    (column,) = as_evaluator("token_f1").score_columns(Frame(output=output, expected=expected))
    assert column.score.equals(karat.metrics.token_f1(output, expected))


def judge(reply, **settings):
    return Judge("correctness", model=FakeModel(reply), governor=Governor(), **settings)


def test_a_judge_is_an_evaluator():
    evaluator = as_evaluator(judge({"explanation": "Both say Paris.", "label": "correct"}), name="correctness")
    (score,) = evaluator.evaluate({"input": "Capital?", "output": "Paris", "expected": "Paris"})
    said = score.to_dict()
    assert said.pop("metadata").keys() == {"signature", "input_tokens", "output_tokens", "latency"}
    assert said == {
        "name": "correctness",
        "score": 1.0,
        "label": "correct",
        "explanation": "Both say Paris.",
        "kind": "llm",
        "direction": "maximize",
    }


def test_a_record_fails_if_its_judge_s_reply_cannot_be_read():
    evaluator = as_evaluator(judge({"explanation": "", "label": "maybe"}), name="correctness")
    with pytest.raises(DataError, match="correctness: the reply's 'label' is \"maybe\""):
        evaluator.evaluate({"input": "Capital?", "output": "Paris", "expected": "Paris"})


def test_a_judge_s_rows_are_asked_at_once_and_its_records_side_by_side():
    evaluator = as_evaluator(judge({"explanation": "So.", "label": "incorrect"}))
    frame = Frame(input=["q"] * 5, output=["Paris", None, "x", "y", "z"], expected=["Paris"] * 5)
    by_rows = by_column(evaluator, frame)
    assert [score.score for (score,) in by_rows] == [0.0, None, 0.0, 0.0, 0.0]

    async def every():
        return await asyncio.gather(*(evaluator.async_evaluate(row) for row in frame.rows()))

    assert [scores[0].score for scores in asyncio.run(every())] == [0.0, None, 0.0, 0.0, 0.0]


def test_records_of_a_judge_do_not_wait_for_one_another():
    met = asyncio.Event()
    under_way = []

    async def model(messages, schema, settings):
        under_way.append(1)
        if len(under_way) == 8:
            met.set()
        await asyncio.wait_for(met.wait(), 20)
        return {"explanation": "So.", "label": "correct"}

    evaluator = as_evaluator(Judge("correctness", model=model, governor=Governor()))

    async def every():
        rows = ({"input": f"{n}", "output": "a", "expected": "a"} for n in range(8))
        return await asyncio.gather(*(evaluator.async_evaluate(row) for row in rows))

    assert [scores[0].score for scores in asyncio.run(every())] == [1.0] * 8


def test_each_field_of_a_judge_is_a_score_of_its_own():
    tone = Judge(
        "tone",
        instructions="Is it polite? Is it short?",
        inputs=[("responses", list[str])],
        outputs=["polite", "short"],
        model=FakeModel({"polite": 1, "short": 0}),
        governor=Governor(),
    )
    evaluator = as_evaluator(tone, name="tone")
    assert evaluator.score_names == ["tone", "tone.polite", "tone.short"]
    assert [(s.name, s.score) for s in evaluator.evaluate({"responses": "x"})] == [
        ("tone", 0.5),
        ("tone.polite", 1.0),
        ("tone.short", 0.0),
    ]
    renamed = bind_evaluator(evaluator, {"responses": "a.b"}, name="again")
    assert renamed.score_names == ["again", "again.polite", "again.short"]
    assert [s.name for s in renamed.evaluate({"a": {"b": "x"}})] == list(renamed.score_names)


def test_a_metric_and_a_judge_in_one_evaluator():
    evaluator = as_evaluator(["exact_match", judge({"explanation": "So.", "label": "correct"})], name="both")
    scores = evaluator.evaluate({"input": "q", "output": "a", "expected": "b"})
    assert [(score.score, score.kind) for score in scores] == [(0.0, "code"), (1.0, "llm")]
    assert (evaluator.name, evaluator.kind) == ("both", "llm")


def test_rankings_are_metrics_too():
    (score,) = as_evaluator("ndcg@10").evaluate({"retrieved": ["b", "a"], "relevant": ["a"]})
    assert (score.name, score.score) == ("ndcg@10", pytest.approx(1 / np.log2(3)))


def test_a_column_leaves_out_what_a_row_does_not_have():
    evaluator = as_evaluator("exact_match")
    (column,) = evaluator.score_columns(TEXTS)
    assert column.at(0) == Score(name="exact_match", score=1.0, metadata=column.metadata, kind="code")


def test_a_column_that_is_mapped_twice():
    with pytest.raises(DataError, match="f1: 'output' and 'prediction' are both mapped, and both are prediction"):
        as_evaluator("token_f1", name="f1").evaluate({"a": "x", "b": "y"}, {"output": "a", "prediction": "b"})
