"""ClassificationEvaluator: beside Phoenix's own with the same model, through a governor, and over frames."""

import asyncio
import json
import warnings

import pytest

from karat.adapters.phoenix import LLM, ClassificationEvaluator, Score, create_classifier, evaluate_dataframe
from karat.core.errors import DataError
from karat.errors import SpecError
from karat.judges import use_governor
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import CUT_OFF, Reply
from karat.models.testing.fake import FakeModel, FakeServer

YES = {"explanation": "It says so.", "label": "yes"}


def classifier(llm, template="Is {{answer}} right?", choices=("yes", "no"), **options):
    options = {"governor": Governor()} | options
    if isinstance(choices, tuple):
        choices = list(choices)
    return ClassificationEvaluator(name="c", llm=llm, prompt_template=template, choices=choices, **options)


CHOICES = [["yes", "no"], {"yes": 1, "no": 0}, {"yes": (2.5, "it is so"), "no": (0, "it is not")}, {"yes": -1, "no": 3}]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("explained", [True, False])
@pytest.mark.parametrize("direction", ["maximize", "minimize", "neutral"])
def test_labels_scores_and_explanations_are_those_of_phoenix(theirs, choices, explained, direction):
    options = {"prompt_template": "Is {{answer}} right?", "choices": choices, "direction": direction}
    said = YES if explained else {"label": "yes"}
    stub, reference = theirs(said, include_explanation=explained, **options)
    (expected,) = reference.evaluate({"answer": "Paris"})
    ours = ClassificationEvaluator(name="c", llm=stub, include_explanation=explained, governor=Governor(), **options)
    (score,) = ours.evaluate({"answer": "Paris"})
    for name in ("name", "score", "label", "explanation", "kind", "direction"):
        assert getattr(score, name) == getattr(expected, name)
    assert score.metadata["model"] == expected.metadata["model"] == "stub"
    assert isinstance(score, Score)


@pytest.mark.parametrize(
    "choices",
    ["yes", [], {}, 3, ["a", "a"], ["a", 1], [" "], {"a": "x"}, {"a": (1, 2)}, {"a": ("x", "y")}, {1: 1}, [["a"]]],
    ids=repr,
)
def test_choices_that_are_none_say_so(choices):
    with pytest.raises(SpecError, match="c: choices"):
        classifier(FakeModel(YES), choices=choices)


def test_the_model_is_told_the_form_of_its_reply_and_what_labels_mean():
    model = FakeModel(YES)
    classifier(model, choices={"yes": (1, "it is so"), "no": 0}, temperature=0.5, seed=7).evaluate({"answer": "a"})
    (request,) = model.requests
    assert request.settings == {"temperature": 0.5, "seed": 7}
    said = request.messages[-1]["content"]
    assert said.startswith("Is a right?\n\nThe labels mean:\nyes: it is so\n\nReply with one JSON object")
    assert said.endswith('{"explanation": "…", "label": "yes" or "no"}')
    assert list(request.schema["properties"]) == request.schema["required"] == ["explanation", "label"]
    assert request.schema["properties"]["label"]["enum"] == ["yes", "no"]
    classifier(model, include_explanation=False)
    bare = FakeModel({"label": "yes"})
    classifier(bare, [{"role": "system", "content": "{{answer}}"}], include_explanation=False).evaluate({"answer": "a"})
    assert bare.requests[0].settings == {}
    assert list(bare.requests[0].schema["properties"]) == ["label"]
    assert [each["role"] for each in bare.requests[0].messages] == ["system", "user"]


def test_a_reply_that_was_cut_off_at_a_limit_of_ones_own_is_not_asked_for_again():
    model = FakeModel(Reply('{"explanation": "It', 9, 50, problem=CUT_OFF))
    with pytest.raises(DataError, match="cut off at the token limit after 50 tokens: raise max_tokens"):
        classifier(model, max_tokens=50).evaluate({"answer": "a"})
    assert len(model.requests) == 1


def test_a_reply_that_is_no_choice_is_asked_for_once_more():
    model = FakeModel([{"explanation": "", "label": "Perhaps"}, YES])
    (score,) = classifier(model).evaluate({"answer": "a"})
    assert score.label == "yes"
    assert "which is not one of" in model.requests[1].messages[-1]["content"]
    assert score.metadata["output_tokens"] > 20  # of both replies


@pytest.mark.parametrize(
    "said", ["nonsense", {"explanation": "", "label": "maybe"}, {"explanation": ""}, {}, ""], ids=str
)
def test_and_then_it_is_the_record_that_failed(said):
    with pytest.raises(DataError, match=r"^c: the reply"):
        classifier(FakeModel(said)).evaluate({"answer": "a"})


def test_fields_come_from_the_template():
    evaluator = classifier(FakeModel(YES), "{{a}} {{b.c}} {{#d}}{{e}}{{/d}}")
    schema = evaluator.describe()["input_schema"]
    assert schema["required"] == ["a", "b", "d"]
    assert list(schema["properties"]) == ["a", "b", "d", "e"]
    with pytest.raises(ValueError, match="d"):
        evaluator.evaluate({"a": 1, "b": {"c": 2}})
    assert evaluator.evaluate({"A": 1, "b": {"c": 2}, "d": []}, {"a": "A"})[0].label == "yes"


def test_a_record_that_fails_is_not_asked():
    model = FakeModel(YES)
    with pytest.raises(DataError, match="c: answer is null"):
        classifier(model).evaluate({"answer": None})
    with pytest.raises(DataError, match="there is no 'b'"):
        classifier(model, "{{answer.b}}").evaluate({"answer": {"a": 1}})
    assert model.requests == []


def test_tokens_and_cost_are_in_the_metadata():
    with FakeServer(YES, price=(1.0, 2.0)) as server:
        evaluator = classifier(LLM(provider="openai", model="small", base_url=server.url))
        (score,) = evaluator.evaluate({"answer": "a"})
    taken = score.metadata
    assert taken["model"] == "small"
    assert taken["cost"] == (taken["input_tokens"] + 2 * taken["output_tokens"]) / 1e6
    assert taken["latency"] > 0
    assert "trace_id" not in taken


def test_async_evaluations_share_a_governor_with_others_and_run_at_once():
    async def both(evaluator):
        return await asyncio.gather(*(evaluator.async_evaluate({"answer": str(number)}) for number in range(30)))

    with FakeServer(YES, latency=0.05) as server:
        evaluator = classifier(OpenAIModel("small", base_url=server.url))
        assert [score.label for (score,) in asyncio.run(both(evaluator))] == ["yes"] * 30
        assert evaluator.evaluate({"answer": "a"})[0].label == "yes"
        assert [score.label for (score,) in asyncio.run(both(evaluator))] == ["yes"] * 30


def test_a_classifier_works_where_a_loop_is_running():
    async def work():
        return classifier(FakeModel(YES)).evaluate({"answer": "a"})

    assert asyncio.run(work())[0].label == "yes"


def test_a_name_is_asked_as_judges_are(monkeypatch):
    model = FakeModel(YES)
    with use_governor(Governor(max_calls=1), connect={"small": model}.__getitem__):
        evaluator = classifier("small", governor=None)
        assert evaluator.evaluate({"answer": "a"})[0].metadata["model"] == "fake"
        with pytest.raises(DataError, match="the cap of 1 calls"):
            evaluator.evaluate({"answer": "b"})


def test_replies_are_kept(tmp_path):
    model = FakeModel(YES, endpoint="here")
    with ReplyCache(tmp_path / "replies.sqlite") as store:
        for _ in range(2):
            (score,) = classifier(model, governor=Governor(store=store)).evaluate({"answer": "a"})
    assert len(model.requests) == 1
    assert score.label == "yes"


def test_create_classifier_takes_what_phoenix_takes_in_its_order():
    evaluator = create_classifier("c", "Is {answer} right?", FakeModel(YES), {"yes": 1, "no": 0}, "minimize")
    (score,) = evaluator.evaluate({"answer": "a"})
    assert (score.score, score.kind, score.direction) == (1.0, "llm", "minimize")
    bare = create_classifier("c", "{answer}", FakeModel({"label": "a"}), ["a"], include_explanation=False)
    assert bare.evaluate({"answer": "a"})[0].explanation is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"provider": "anthropic", "model": "m"}, "provider='anthropic'.*OpenAI-compatible"),
        ({"provider": "openai", "client": "litellm", "model": "m"}, "client='litellm'"),
        ({"provider": "openai"}, "the name of a model"),
        ({"model": "m", "sync_client_kwargs": {"max_retries": 3}}, "'max_retries' is not supported"),
        ({"model": "m", "base_url": "http://x/v1", "initial_per_second_request_rate": 0}, "a number above 0"),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(options, message):
    with pytest.raises(SpecError, match=message):
        LLM(**options)


def test_a_client_is_told_as_phoenix_has_it():
    options = {"base_url": "http://127.0.0.1:1/v1", "api_key": "k"}
    assert LLM(provider="openai", model="m", sync_client_kwargs=options).endpoint == options["base_url"]
    assert LLM(provider="openai", model="m", client="openai", **options).endpoint == options["base_url"]
    with pytest.raises(SpecError, match="llm=3"):
        classifier(3)


def frame(values):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"answer": values, "n": range(len(values))})


def right(messages):
    said = messages[0]["content"].split()[1]
    return {"explanation": said, "label": "maybe" if said == "bad" else "yes" if said == "good" else "no"}


@pytest.mark.filterwarnings("ignore:c. . of . rows failed")
def test_the_rows_of_a_frame_are_asked_at_once_and_fail_alone():
    from karat.adapters.phoenix import evaluate_dataframe

    with FakeServer(right, latency=0.1) as server:
        evaluator = classifier(OpenAIModel("small", base_url=server.url), choices={"yes": 1, "no": 0})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scored = evaluate_dataframe(frame(["good", "bad", None, "other"]), [evaluator])
    scores = scored["c_score"].tolist()
    assert [None if each is None else (each["score"], each["label"], each["explanation"]) for each in scores] == [
        (1.0, "yes", "good"),
        None,
        None,
        (0.0, "no", "other"),
    ]
    assert scores[0]["metadata"]["model"] == "small"
    assert scores[0]["metadata"]["input_tokens"] > 0
    assert (scores[0]["kind"], scores[0]["direction"], scores[0]["name"]) == ("llm", "maximize", "c")
    details = scored["c_execution_details"].tolist()
    assert [each["status"] for each in details] == ["COMPLETED", "FAILED", "FAILED", "COMPLETED"]
    assert "which is not one of" in details[1]["exceptions"][0]
    assert details[2]["exceptions"] == ["DataError('c: answer is null')"]


def test_a_frame_by_columns_and_by_rows_are_the_same():
    from karat.adapters.phoenix import evaluate_dataframe

    pd = pytest.importorskip("pandas")
    docs = [[{"text": "a", "id": 1}, {"text": "b"}], [], [{"text": "c"}]]
    data = pd.DataFrame({"docs": docs, "q": ["x", "y", "z"]})
    template = "{{q}}:{{#docs}} {{text}}{{id}}{{/docs}}"
    asked = []
    for mapping in ({"q": "q"}, {"q": lambda row: row["q"]}):
        model = FakeModel(YES)
        evaluator = classifier(model, template)
        evaluator.bind(mapping)
        scored = evaluate_dataframe(data, [evaluator])
        asked.append(sorted(request.messages[0]["content"].partition("\n")[0] for request in model.requests))
        assert [each["label"] for each in scored["c_score"]] == ["yes"] * 3
    assert asked[0] == asked[1] == ["x: a1 b", "y:", "z: c"]


def test_a_model_that_cannot_be_asked_leaves_what_was_answered():
    import pyarrow as pa

    async def model(messages, schema, settings):
        if "a2" in messages[0]["content"]:
            raise ModelError("no such model")
        return YES

    class Read:
        names = ("answer",)

        def __call__(self, _):
            return pa.array([f"a{number}" for number in range(5)])

    (column,) = classifier(model, governor=Governor(concurrency=1)).score_columns(Read())
    assert column.label == ["yes", "yes", None, None, None]
    assert column.reason[2:] == ["c: no such model"] * 3


def test_each_record_is_a_span_with_its_calls_and_its_trace(monkeypatch):
    trace = pytest.importorskip("opentelemetry.trace")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from karat.adapters.phoenix import evaluate_dataframe

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    evaluator = classifier(FakeModel(YES), choices={"yes": 1, "no": 0})
    (score,) = evaluator.evaluate({"answer": "a"})
    call, evaluation = exporter.get_finished_spans()
    assert evaluation.name == "c.evaluate"
    assert score.metadata["trace_id"] == f"{evaluation.context.trace_id:032x}"
    assert call.parent.span_id == evaluation.context.span_id
    (result,) = json.loads(evaluation.attributes["output.value"])
    assert result["score"] == 1.0
    assert json.loads(evaluation.attributes["metadata"])["evaluator.class"] == "ClassificationEvaluator"
    exporter.clear()
    scored = evaluate_dataframe(frame(["a", "b"]), [evaluator])
    traces = {each["metadata"]["trace_id"] for each in scored["c_score"]}
    assert len(traces) == 2
    assert traces == {f"{span.context.trace_id:032x}" for span in exporter.get_finished_spans()}
    assert len(exporter.get_finished_spans()) == 4


def test_a_callable_may_give_a_reply_with_what_it_took():
    async def model(messages, schema, settings):
        return Reply(json.dumps(YES), 3, 4, cost=0.5)

    (score,) = classifier(model).evaluate({"answer": "a"})
    assert (score.metadata["input_tokens"], score.metadata["cost"], score.metadata["model"]) == (3, 0.5, "model")


@pytest.mark.parametrize("nothing", [None, float("nan"), "NA", "NaT"])
@pytest.mark.parametrize("mapping", [{}, {"output": lambda output: output}])
def test_what_a_frame_has_where_there_is_nothing_is_not_asked(nothing, mapping):
    pd = pytest.importorskip("pandas")
    model = FakeModel(YES)
    frame = pd.DataFrame({"output": pd.Series(["a", getattr(pd, str(nothing), nothing)], dtype=object)})
    given = classifier(model, "Is {{output}} right?")
    given.bind(mapping)
    with pytest.warns(UserWarning, match="output is null"):
        found = evaluate_dataframe(frame, [given])
    assert [score and score["label"] for score in found["c_score"]] == ["yes", None]
    assert len(model.requests) == 1


def test_a_name_that_stands_in_sections_alone_can_be_mapped_to_a_column():
    pd = pytest.importorskip("pandas")
    model = FakeModel(YES)
    given = classifier(model, "Is it right?{{#documents}} {{text}}{{/documents}}")
    given.bind({"text": "body"})
    frame = pd.DataFrame({"documents": [["a"], ["b"]], "body": ["first", "second"]})
    evaluate_dataframe(frame, [given])
    assert {asked.messages[0]["content"].split("\n")[0] for asked in model.requests} == {
        "Is it right? first",
        "Is it right? second",
    }
