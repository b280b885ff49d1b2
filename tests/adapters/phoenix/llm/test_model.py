"""`LLM`, its subclasses, and objects that classify by a method of their own."""

import asyncio
from time import monotonic
from unittest.mock import MagicMock

import pytest

from karat.adapters.phoenix import LLM, ClassificationEvaluator, LLMEvaluator, Score, evaluate_dataframe
from karat.errors import DataError
from karat.judges import use_governor
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeServer

SAYS = {"label": "good", "explanation": "it is"}


class Stub(LLM):
    """As Phoenix's own tests write one."""

    def __init__(self):
        self.provider, self.model, self.calls = "stub", "stub-1", []

    def generate_classification(self, prompt, labels, include_explanation, method):
        self.calls.append(("sync", prompt, labels, include_explanation, method))
        return SAYS

    async def async_generate_classification(self, prompt, labels, include_explanation, method):
        self.calls.append(("async", prompt, labels, include_explanation, method))
        self.loop = asyncio.get_running_loop()
        return SAYS


class Plain:
    """Only the synchronous method, and no base class."""

    model = "plain"

    def generate_classification(self, *, labels, **_):
        return {"label": labels[0] if isinstance(labels, list) else next(iter(labels))}


def classifier(llm, choices=("good", "bad"), **options):
    choices = list(choices) if isinstance(choices, tuple) else choices
    return ClassificationEvaluator(name="c", llm=llm, prompt_template="Is {x} so?", choices=choices, **options)


def test_a_subclass_classifies_by_its_own_method():
    stub = Stub()
    evaluator = classifier(stub, {"good": (1, "as it should be"), "bad": (0, "")})
    (score,) = evaluator.evaluate({"x": "it"})
    assert (score.score, score.label, score.explanation, score.metadata) == (1, "good", "it is", {"model": "stub-1"})
    (how, prompt, labels, explained, method), *_ = stub.calls
    assert (how, explained, method) == ("sync", True, "tool_calling")
    assert labels == evaluator.labels == {"good": "as it should be", "bad": ""}
    assert [(each["role"].value, each["content"]) for each in prompt] == [("user", "Is it so?")]

    async def awaited():
        (score,) = await evaluator.async_evaluate({"x": "it"})
        return score, stub.loop is asyncio.get_running_loop()

    assert asyncio.run(awaited()) == (score, True)
    assert evaluator.llm is stub
    assert evaluator.label_score_map == {"good": 1, "bad": 0}
    assert classifier(stub).label_score_map is None


def test_frames_are_classified_row_by_row():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": ["a", None, "b"]})
    for llm in (Stub(), Plain()):
        with pytest.warns(UserWarning, match="x is null"):
            scored = evaluate_dataframe(frame, [classifier(llm)])
        assert [score and score["label"] for score in scored["c_score"]] == ["good", None, "good"]


def test_a_method_of_the_object_itself_counts_before_those_of_its_class():
    stub = Stub()
    stub.generate_classification = MagicMock(return_value={"label": "fair"})
    with pytest.raises(DataError, match=r"received invalid label 'fair'. Valid labels are: \['good', 'bad'\]"):
        classifier(stub).evaluate({"x": "it"})
    with pytest.raises(DataError, match="received invalid label 'fair'"):
        asyncio.run(classifier(stub).async_evaluate({"x": "it"}))
    assert stub.calls == []


def test_its_own_errors_are_raised_as_they_are():
    stub = Stub()
    stub.generate_classification = MagicMock(side_effect=ZeroDivisionError("mine"))
    with pytest.raises(ZeroDivisionError, match="mine"):
        classifier(stub).evaluate({"x": "it"})


def test_llm_is_a_class_and_asks_its_endpoint():
    with FakeServer({"explanation": "e", "label": "good"}) as server, use_governor(Governor()):
        llm = LLM(provider="openai", model="small", base_url=server.url, timeout=5)
        assert isinstance(llm, LLM)
        assert (llm.provider, llm.model) == ("openai", "small")
        assert '"label"' in llm.generate_text("Is it so?", temperature=0.5)
        assert llm.generate_object([{"role": "user", "content": "?"}], {"type": "object"})["label"] == "good"
        assert llm.generate_classification("?", {"good": "so", "bad": ""})["label"] == "good"
        assert asyncio.run(llm.async_generate_classification("?", ["good", "bad"], description="d"))["label"] == "good"
        with pytest.raises(DataError, match='"good", which is not one of'):
            llm.generate_classification("?", ["fair"])
        assert '"label"' in asyncio.run(llm.async_generate_text("?"))
        evaluator = classifier(llm, max_tokens=9)
        assert evaluator.evaluate({"x": "it"})[0].label == "good"
    assert evaluator.invocation_parameters == {"max_tokens": 9}
    assert server.requests[0]["temperature"] == 0.5
    assert server.requests[-1]["max_tokens"] == 9


def test_a_model_has_its_own_timeout_and_rate():
    with FakeServer({"explanation": "e", "label": "good"}, latency=2.0) as server:
        slow = LLM(model="small", base_url=server.url, timeout=0.2)
        start = monotonic()
        with pytest.raises(DataError, match=r"no reply within 0\.2 s"):
            classifier(slow, governor=Governor(attempts=1)).evaluate({"x": "it"})
        assert monotonic() - start < 1.5
    assert LLM(model="m", base_url="http://x/v1", initial_per_second_request_rate=1.5).rpm == 90


def test_an_evaluator_of_one_s_own_has_fields_of_its_template():
    pydantic = pytest.importorskip("pydantic")

    class Echo(LLMEvaluator):
        def _evaluate(self, eval_input):
            prompt = self.prompt_template.render(eval_input)
            return [
                Score(name=self.name, label=self.llm.generate_classification(prompt, ["good"], True, None)["label"])
            ]

    evaluator = Echo(name="echo", llm=Stub(), prompt_template="{{q}} {{user.name}}{{#docs}}{{.}}{{/docs}}")
    schema = evaluator.input_schema
    assert issubclass(schema, pydantic.BaseModel)
    assert set(schema.model_fields) == {"q", "user", "docs"}
    values = schema.model_validate({"q": {"a": 1}, "user": {"name": "A"}, "docs": [1]})
    assert (values.q, values.user, values.docs) == ('{"a": 1}', {"name": "A"}, [1])
    assert evaluator.evaluate({"q": 3, "user": {"name": "A"}, "docs": []})[0].label == "good"
    with pytest.raises(ValueError, match="Path not found: q"):
        evaluator.evaluate({"user": {}, "docs": []})
