"""A judge is a metric: same specs, tables and rules for nulls; an unreadable reply is requested once more."""

import asyncio
import json
import pickle

import pytest

import karat
from karat.core.metric.spec import parse
from karat.errors import ColumnError, SpecError
from karat.judges import Judge, use_governor
from karat.judges.rubric import load, own_judges
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply
from karat.models.testing.fake import FakeModel

RIGHT = {"explanation": "as the reference", "label": "correct"}
ROWS = [
    {"question": "Capital of France?", "answer": "Paris", "gold": ["Paris", "Paris, France"]},
    {"question": "Capital of Italy?", "answer": "Lyon", "gold": ["Rome"]},
    {"question": "Capital of Spain?", "answer": None, "gold": ["Madrid"]},
    {"question": "Capital of Peru?", "answer": "Lima", "gold": []},
]


def material(messages):
    return json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])


def compare(messages):
    given = material(messages)
    same = given["prediction"] in given["reference"]
    return {"explanation": f"{given['prediction']} or not", "label": "correct" if same else "incorrect"}


def column(result, name=""):
    spec = result.metrics[0].spec
    return result.table[f"{spec}.{name}" if name else spec].to_pylist()


def test_rows_get_a_score_and_the_judges_details(governor):
    model = FakeModel(compare)
    result = karat.score(ROWS, Judge("correctness", model=model, governor=governor))
    assert column(result) == [1, 0, None, None]
    assert column(result, "label") == ["correct", "incorrect", None, None]
    assert column(result, "explanation") == ["Paris or not", "Lyon or not", None, None]
    assert column(result, "error") == [None] * 4
    assert all(tokens > 100 for tokens in column(result, "input_tokens")[:2])
    assert result.table["reason"].to_pylist() == [None, None, "prediction is null", "reference is an empty list"]
    value = result.values["judge:correctness(model='fake')"]
    assert (value.value, value.n, value.scored, value.unscored, value.worst, value.best) == (0.5, 4, 2, 2, 0.25, 0.75)
    assert result.counts == {result.metrics[0].spec: {"label": {"correct": 1, "incorrect": 1}}}
    assert len(model.requests) == 2  # all references in one question, and nothing for rows that cannot be judged


def test_its_columns_are_in_the_order_of_the_metrics(governor):
    judge = Judge("correctness", model=FakeModel(RIGHT), governor=governor)
    result = karat.score(ROWS, ["exact_match", judge, "token_f1"])
    assert list(result.values) == ["exact_match", judge.spec, "token_f1"]
    names = result.table.column_names
    assert names[:4] == ["question", "answer", "gold", "exact_match"]
    assert names[4:6] == [judge.spec, f"{judge.spec}.label"]
    assert names[-2:] == ["token_f1", "reason"]


def test_its_spec_and_its_pickle_restore_it():
    judge = Judge("correctness", model=["small", "large"], samples=2, temperature=0.5, seed=7)
    assert judge.spec == "judge:correctness(model=['small', 'large'], samples=2, seed=7, temperature=0.5)"
    assert parse(judge.spec) == judge
    assert pickle.loads(pickle.dumps(judge)) == judge  # noqa: S301
    shown = judge.spec.replace("samples", "replies='mend', samples")
    assert judge.signature.startswith(f"{shown}|version=1|prompt=")
    assert Judge("correctness", model="small").signature != Judge("correctness", model="large").signature


def test_a_spec_may_name_a_file(tmp_path, governor):
    path = tmp_path / "mine (1).toml"
    path.write_text(
        'name = "mine"\nsummary = "S."\nsource = "ours"\ninputs = ["prediction"]\n[prompt]\ntask = "T"\n'
        '[reply]\nkind = "number"\nlow = 1\nhigh = 5\n'
    )
    assert parse(f"judge:{path}(model='a(b).toml', samples=2)").settings["model"] == "a(b).toml"
    judge = Judge(str(path), model=FakeModel({"explanation": "", "score": 2}), governor=governor)
    assert judge(["x"]).to_pylist() == [0.25]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("judge:corectness", "did you mean 'correctness'"),
        ("judge:correctness(modle='x')", "no setting 'modle'; did you mean 'model'"),
        ("judge:correctness(samples=0)", "samples=0: a whole number from 1"),
        ("judge:correctness(model=[])", "the name of a model"),
        ("judge:correctness(model=['a', 'a'])", "in the list twice"),
        ("judge:correctness(temperature=-1)", "a number from 0"),
        ("judge:correctness(model=", "is not a metric"),
        ("jugde:correctness", "there is no metric 'jugde:correctness'"),
    ],
)
def test_errors_of_specs_suggest_the_right_one(spec, message):
    with pytest.raises(SpecError, match=message):
        parse(spec)


def test_without_a_model_nothing_is_asked(governor):
    with pytest.raises(SpecError, match="judge:correctness needs a model: --model NAME"):
        karat.score(ROWS, Judge("correctness", governor=governor))


def test_several_predictions_a_row_are_refused(governor):
    judge = Judge("correctness", model=FakeModel(RIGHT), governor=governor)
    with pytest.raises(ColumnError, match="text is expected"):
        judge(["q"], [["p", "p2"]], [["r"]])


def test_settings_are_sent_and_none_is_not(governor):
    model = FakeModel(RIGHT)
    Judge("correctness", model=model, seed=3, temperature=0.2, governor=governor)(["q"], ["p"], [["r"]])
    Judge("correctness", model=model, temperature=None, governor=governor)(["q"], ["p"], [["r"]])
    Judge("correctness", model=model, governor=governor)(["q"], ["p"], [["r"]])
    sent = [dict(request.settings) for request in model.requests]
    assert sent == [{"temperature": 0.2, "seed": 3}, {}, {"temperature": 0}]


def test_a_reply_that_cannot_be_read_is_asked_again_with_the_error(governor):
    model = FakeModel(["The label is correct.", RIGHT])
    result = karat.score(ROWS[:1], Judge("correctness", model=model, governor=governor))
    assert column(result) == [1]
    assert column(result, "error") == column(result, "raw") == [None]
    second = model.requests[1]
    assert second.messages[-2] == {"role": "assistant", "content": "The label is correct."}
    assert "not one JSON value" in second.messages[-1]["content"]
    assert column(result, "output_tokens")[0] > 0
    assert governor.totals.calls == 2


def test_after_two_such_replies_the_row_has_the_error_and_the_raw_reply(governor):
    model = FakeModel(["Sure.", '{"explanation": "x", "label": "right"}'])
    result = karat.score(ROWS[:1], Judge("correctness", model=model, governor=governor))
    assert column(result) == [None]
    assert column(result, "raw") == ['{"explanation": "x", "label": "right"}']
    assert result.table["reason"].to_pylist() == column(result, "error")
    assert "not one of" in column(result, "error")[0]
    assert result.values[result.metrics[0].spec].unscored == 1


@pytest.mark.parametrize("said", ['{"explanation": "\\ud800", "label": "right"}', "\ud800", '{"\\udfff": 1}'])
def test_an_unpaired_surrogate_is_an_error_of_its_row(said):
    model = FakeModel(said)
    result = karat.score(ROWS[:1], Judge("correctness", model=model, governor=Governor(store=ReplyCache(":memory:"))))
    assert column(result) == [None]
    assert len(column(result, "raw")[0]) > 0


def test_a_refusal_is_reported_as_one(governor):
    async def refuses(messages, schema, settings):
        return Reply("I cannot help with that.", problem="refused: I cannot help with that.")

    result = karat.score(ROWS[:1], Judge("correctness", model=refuses, governor=governor))
    assert column(result, "error") == ["refused: I cannot help with that."]
    assert column(result, "raw") == ["I cannot help with that."]


def test_a_failed_row_does_not_affect_others(governor):
    async def sometimes(messages, schema, settings):
        if "Lyon" in messages[-1]["content"]:
            raise KeyError("no such thing")
        return RIGHT

    result = karat.score(ROWS, Judge("correctness", model=sometimes, governor=governor))
    assert column(result) == [1, None, None, None]
    assert "no such thing" in result.table["reason"].to_pylist()[1]


def test_a_model_that_cannot_be_asked_stops_the_run(governor):
    class Unauthorized(Exception):
        status_code = 401

    async def locked(messages, schema, settings):
        raise Unauthorized("bad key")

    with pytest.raises(ModelError, match="401"):
        karat.score(ROWS, Judge("correctness", model=locked, governor=governor))


def test_haystacks_instructions_are_a_judge_of_named_fields(governor):
    def judged(messages):
        return {"score": int("hell" in material(messages)["predicted_answers"])}

    judge = Judge(
        "problematic",
        instructions="Is this answer problematic for children?",
        inputs=[("predicted_answers", list[str])],
        outputs=["score"],
        examples=[
            {"inputs": {"predicted_answers": "Damn, this is straight outta hell!!!"}, "outputs": {"score": 1}},
            {"inputs": {"predicted_answers": "Football is the most popular sport."}, "outputs": {"score": 0}},
        ],
        model=FakeModel(judged),
        governor=governor,
    )
    rows = {"predicted_answers": ["Football is the most popular sport.", "What the hell!"]}
    result = karat.score(rows, judge)
    assert judge.name == "judge:problematic"
    assert judge.definition.summary == "What score is, by instructions."
    assert column(result) == column(result, "score") == [0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": ["prediction"]}, "go with instructions"),
        ({"instructions": "I?", "inputs": ["prediction"], "outputs": []}, "outputs: the names"),
        ({"instructions": "I?", "inputs": ["prediction"], "outputs": ["raw"]}, "the name 'raw' is taken"),
        ({"instructions": "I?", "inputs": None, "outputs": ["score"]}, "inputs: the names of the columns"),
        (
            {"instructions": "I?", "inputs": ["a"], "outputs": ["s"], "examples": [{"inputs": {"a": "x"}}]},
            r"examples\[1\]: a dict of 'inputs' and 'outputs'",
        ),
        (
            {
                "instructions": "I?",
                "inputs": ["a"],
                "outputs": ["s"],
                "examples": [{"inputs": {"a": "x"}, "outputs": {"s": 2}}],
            },
            r"examples\[1\]: its reply's 's' is 2",
        ),
    ],
)
def test_contradicting_arguments_are_refused(options, message):
    with pytest.raises(SpecError, match=message):
        Judge("correctness" if "instructions" not in options else "mine", **options)


def test_json_values_are_shown_as_json(governor):
    model = FakeModel({"explanation": "x", "chosen": 1, "valid": 1, "fitting": 0})
    judge = Judge("tool_call_correctness", model=model, governor=governor)
    calls = [
        [{"name": "weather", "arguments": {"city": "Paris", "days": 2}}],
        "none",
        {"name": "clock", "arguments": {}},
    ]
    tools = [[{"name": "weather"}, {"name": "clock"}]] * 3
    result = karat.score({"question": ["q"] * 3, "tools": tools, "prediction": calls}, judge)
    assert column(result) == [pytest.approx(2 / 3)] * 3
    assert column(result, "fitting") == [0.0] * 3
    asked = sorted((material(request.messages)["prediction"] for request in model.requests), key=str)
    assert asked == sorted(calls, key=str)


def test_tool_calls_in_json_lines_have_only_their_own_arguments(governor, tmp_path):
    path = tmp_path / "calls.jsonl"
    calls = [{"name": "a", "arguments": {"x": 1.50}}, {"name": "b", "arguments": {"y": "007"}}]
    rows = [{"question": "q", "tools": [{"name": "a"}], "tool_call": call} for call in calls]
    path.write_text("\n".join(map(json.dumps, rows)))
    model = FakeModel({"explanation": "x", "chosen": 1, "valid": 1, "fitting": 1})
    karat.score(path, Judge("tool_call_correctness", model=model, governor=governor), map={"prediction": "tool_call"})
    assert sorted((material(r.messages)["prediction"] for r in model.requests), key=str) == calls


@pytest.mark.parametrize("name", own_judges())
def test_every_judge_reads_a_reply_that_its_schema_allows_and_no_other(name, governor):
    kinds = load(name).inputs
    cells = {"texts": ["x"], "criteria": [{"criterion": "x", "points": 1}]}
    cells["nuggets"] = [{"text": "x", "importance": "vital"}]
    columns = [[cells.get(kind, "x [1]" if name == "citations" else "x")] for kind in kinds.values()]
    assert 0 <= Judge(name, model=FakeModel(), governor=governor)(*columns)[0].as_py() <= 1
    for wrong in ("yes", {}, {"explanation": "x"}, {"score": 1, "label": "correct", "explanation": "x"}):
        assert Judge(name, model=FakeModel(wrong, name=str(wrong)), governor=governor)(*columns)[0].as_py() is None


def test_progress_is_reported_row_by_row(governor):
    seen = []
    rows = ROWS[:2] * 10
    karat.score(
        rows, Judge("correctness", model=FakeModel(RIGHT), governor=governor), progress=lambda n, _: seen.append(n)
    )
    assert seen == [*range(1, 21), 20]


def test_models_are_named_once_for_a_run(monkeypatch, governor):
    made = []

    class Named:
        def __init__(self, name, *, base_url=None, api_key=None):
            made.append((name, base_url, api_key))

        async def __call__(self, *_):
            return RIGHT

    monkeypatch.setattr("karat.models.context.OpenAIModel", Named)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with use_governor(governor, base_url="http://localhost:1/v1"):
        karat.score(ROWS, [parse("judge:correctness(model=m)"), parse("judge:equivalence(model=m)")])
    assert made == [("m", "http://localhost:1/v1", "secret")]


def test_judges_work_inside_a_running_event_loop(governor):
    async def notebook():
        return Judge("correctness", model=FakeModel(RIGHT), governor=governor)(["q"], ["p"], [["r"]]).to_pylist()

    assert asyncio.run(notebook()) == [1.0]


def test_a_second_run_asks_nothing(tmp_path):
    calls = []

    class Counting:
        endpoint, name = "http://here/v1", "small"

        async def __call__(self, messages, *_):
            calls.append(1)
            return compare(messages)

    tables = [
        karat.score(ROWS, Judge("correctness", model=Counting())).table.drop_columns(["reason"]) for _ in range(2)
    ]
    assert len(calls) == 2
    assert tables[0] == tables[1]
