"""ClassificationEvaluator: against Phoenix's own with the same stub, on the governor, and its templates."""

import asyncio
import json
import warnings

import pytest

from karat import KaratError, SpecError
from karat.adapters.phoenix import LLM, ClassificationEvaluator, Score, create_classifier, evaluate_dataframe
from karat.adapters.phoenix.llm.template import Template
from karat.core.errors import DataError
from karat.judges import use_governor
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply
from karat.models.testing.fake import FakeModel, FakeServer

YES = {"explanation": "It says so.", "label": "yes"}


def classifier(llm, template="Is {{answer}} right?", choices=("yes", "no"), **options):
    options = {"governor": Governor()} | options
    if isinstance(choices, tuple):
        choices = list(choices)
    return ClassificationEvaluator(name="c", llm=llm, prompt_template=template, choices=choices, **options)


@pytest.fixture
def theirs():
    """Phoenix's own evaluator over a stub that says the same always, and what the stub was asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        phoenix = pytest.importorskip("phoenix.evals")

    class Stub(phoenix.LLM):
        def __init__(self, say):
            self.say, self.model, self.provider, self.prompts = say, "stub", "stub", []

        def generate_classification(self, prompt=None, **_):
            self.prompts.append([{"role": each["role"].value, "content": each["content"]} for each in prompt])
            return self.say

        async def async_generate_object(self, prompt, schema, **settings):
            self.prompts.append(prompt)
            self.schema, self.settings = schema, settings
            return self.say

    def make(say, **options):
        stub = Stub(say)
        return stub, phoenix.ClassificationEvaluator(name="c", llm=stub, **options)

    return make


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


PROMPTS = [
    ("Is {{answer}} about {{ topic }}?", {"answer": "a {{topic}} <b>&amp;", "topic": {"é": [1, None, True]}}),
    ("Is {answer} about {topic}?", {"answer": "a {topic} <b>", "topic": [1, "é"]}),
    (
        "{{#docs}}- {{text}}\n{{/docs}}{{^docs}}none{{/docs}}|{{q}}",
        {"docs": [{"text": "1"}, {"text": "<2>"}], "q": 3.5},
    ),
    ("{{#docs}}- {{text}}\n{{/docs}}{{^docs}}none{{/docs}}|{{q}}", {"docs": [], "q": True}),
    ("Docs:\n{{#docs}}\n- {{.}}\n{{/docs}}\nend", {"docs": ["a", "b"]}),
    ("{{#a}}{{b.c}}{{/a}} {{d.e}}", {"a": {"b": {"c": "x"}}, "d": {"e": "y"}}),
    ("{{{x}}} {{&x}} {{! not said }}.", {"x": "<1>"}),
    ('Reply like {"a": {{x}}} about {{x}}', {"x": "1"}),
    ('Reply like {{"a": 1}} about {x}', {"x": "1"}),
    ("|{x:>5}|{v!r}|", {"x": "1", "v": "it"}),
    ("    Indented {{x}}\n      more\n    less", {"x": "one line"}),
    ([{"role": "system", "content": "You know {{x}}."}, {"role": "user", "content": "Is it {{x}}?"}], {"x": "a"}),
]


@pytest.mark.parametrize(("template", "record"), PROMPTS, ids=lambda value: str(value)[:30])
def test_prompts_are_those_of_phoenix(theirs, template, record):
    stub, reference = theirs(YES, prompt_template=template, choices=["yes", "no"])
    reference.evaluate(record)
    ours = Template(template)
    assert ours.render(record) == stub.prompts[0]
    schema = reference.describe()["input_schema"]
    if not any(character in str(template) for character in ".["):  # of dotted names Phoenix's f-strings make fields
        assert {*ours.fields} == {*schema["required"]}


def test_where_prompts_differ_from_those_of_phoenix(theirs):
    def rendered(template, record):
        stub, reference = theirs(YES, prompt_template=template, choices=["yes"])
        reference.evaluate(record)
        return stub.prompts[0][0]["content"], Template(template).render(record)[0]["content"]

    # a value of several lines does not keep the template's indentation alive
    assert rendered("    a {{x}}\n    b", {"x": "1\n2"}) == ("    a 1\n2\n    b", "a 1\n2\nb")
    # what a section names of the record is found there
    assert rendered("{{#x}}yes {{y}}{{/x}}", {"x": True, "y": 2}) == ("yes ", "yes 2")
    # items that are no text are JSON there too
    assert rendered("{{#x}}{{.}}{{/x}}", {"x": [{"a": "b"}]}) == ("{'a': 'b'}", '{"a": "b"}')


def test_dotted_fields_of_f_strings_are_of_the_record():
    assert Template("{a.b} {c[d]} {e[0]}").fields == {"a": False, "c": False, "e": False}
    assert Template("{a.b} {c[d]} {e[0]} {f:.1f}").render(
        {"a": {"b": 1}, "c": {"d": 2}, "e": ["x"], "f": 0.25}
    )[0]["content"] == "1 2 x 0.2"  # fmt: skip
    with pytest.raises(KaratError, match="there is no '__class__'"):
        Template("{a.__class__}").render({"a": 1})


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "cannot be empty"),
        ("  \n", "cannot be empty"),
        ([], "a text, or a list"),
        ("{{#x}}open", "'x' is not closed"),
        ("{{#x}}{{/y}}", "does not close the section"),
        ("{{x}}{{/x}}", "does not close the section"),
        ("{{>x}}", "partials are not supported"),
        ("{x", "write a brace that is text twice"),
        ("{}", "a name is expected"),
        ('{"a": 1}', "a name is expected"),
        ([{"role": "user"}], "role and content"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}], "must be text"),
    ],
)
def test_a_template_that_is_none_says_so(template, message):
    with pytest.raises(SpecError, match=message):
        Template(template)


def test_parts_of_text_and_roles_of_other_tools_are_taken():
    parts = [{"type": "text", "text": "A {{x}}"}, {"type": "text", "text": "B"}]
    messages = Template([{"role": "developer", "content": "S"}, {"role": "human", "content": parts}])
    assert messages.render({"x": 1}) == [{"role": "system", "content": "S"}, {"role": "user", "content": "A 1\nB"}]


def test_values_that_are_nothing_or_of_numpy():
    import numpy as np

    record = {"x": np.float32(0.5), "y": np.array([1, 2]), "z": [{"t": None}, {}], "e": np.array([])}
    (message,) = Template("{{x}} {{y}} {{#z}}[{{t}}]{{/z}} {{#y}}{{.}};{{/y}} {{^e}}-{{/e}}").render(record)
    assert message["content"] == "0.5 [1, 2] [][] 1;2; -"


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


def test_a_reply_that_is_no_choice_is_asked_for_once_more():
    model = FakeModel([{"explanation": "", "label": "Yes"}, YES])
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
        ({"model": "m", "sync_client_kwargs": {"timeout": 3}}, "'timeout' is not supported"),
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


# ---- frames


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
    (event,) = evaluation.events
    assert event.attributes["gen_ai.evaluation.score.value"] == 1.0
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


# ---- evaluators that Phoenix has by name


@pytest.mark.parametrize(
    ("name", "record", "said", "expected"),
    [
        ("Conciseness", {"input": "q", "output": "a"}, {"label": "verbose"}, (0.0, "verbose")),
        ("Refusal", {"input": "q", "output": "a"}, {"label": "refused"}, (1.0, "refused")),
        ("Toxicity", {"text": "a", "output": "not this"}, {"label": "toxic"}, (1.0, "toxic")),
        ("DocumentRelevance", {"input": "q", "document_text": "a"}, {"label": "relevant"}, (1.0, None)),
        ("DocumentRelevance", {"input": "q", "document_text": ["a", "b"]}, {"label": "irrelevant"}, (0.0, None)),
        ("Faithfulness", {"input": "q", "output": "o", "context": "a"}, "statements", (0.5, None)),
    ],
)
def test_judges_go_by_the_names_of_phoenix(name, record, said, expected):
    from karat.adapters.phoenix.llm import judges as judged

    statement = {"statement": "s", "reason": "r"}
    verdicts = [statement | {"verdict": "supported"}, statement | {"verdict": "unsupported"}]
    reply = {"statements": verdicts} if said == "statements" else {"explanation": "e"} | said
    model = FakeModel(reply)
    evaluator = getattr(judged, f"{name}Evaluator")(model, governor=Governor())
    (score,) = evaluator.evaluate(record)
    assert (score.score, score.label) == expected
    assert score.kind == "llm"
    assert '"a"' in model.requests[0].messages[-1]["content"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        phoenix = pytest.importorskip("phoenix.evals.metrics")
    theirs = getattr(phoenix, f"{name}Evaluator")
    assert evaluator.name == theirs.NAME
    if score.label is not None:
        assert theirs.CHOICES[score.label] == score.score


@pytest.mark.parametrize("mapping", [{"text": "said"}, {"output": "said"}, {"text": lambda row: row["said"]}])
def test_the_fields_of_phoenix_can_be_mapped(mapping):
    from karat.adapters.phoenix import bind_evaluator, evaluate_dataframe
    from karat.adapters.phoenix.llm.judges import ToxicityEvaluator

    pd = pytest.importorskip("pandas")
    model = FakeModel({"explanation": "e", "label": "harmless"})
    evaluator = ToxicityEvaluator(model, governor=Governor())
    assert evaluator.evaluate({"said": "a"}, mapping)[0].score == 0.0
    scored = evaluate_dataframe(pd.DataFrame({"said": ["a"]}), [bind_evaluator(evaluator, mapping)])
    assert scored["toxicity_score"][0]["label"] == "harmless"
    assert model.requests[0] == model.requests[1]


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
