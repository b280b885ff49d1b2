"""A dry run counts the requests that a run sends, and sends none."""

import asyncio

import pytest

import karat
from karat.judges import Judge
from karat.models.governor.budget import estimate_prompt_tokens
from karat.models.governor.dry_run import LABEL_TOKENS, CountingGovernor, model_factory
from karat.models.governor.faults import NotSentError, RequestError
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Request
from karat.models.testing.fake import FakeModel

ROWS = [
    {"question": "Capital of France?", "answer": "Paris", "gold": "Paris", "contexts": ["Paris is the capital."]},
    {"question": "Capital of Italy?", "answer": "Lyon", "gold": "Rome", "contexts": ["Rome is the capital."]},
    {"question": "Capital of Italy?", "answer": "Lyon", "gold": "Rome", "contexts": ["Rome is the capital."]},
]


def fake():
    return FakeModel(endpoint="http://localhost/v1")


def estimate(name, store=None):
    """The estimate of a dry run, in which only rows whose reply is in the cache are judged."""
    model, governor = fake(), CountingGovernor(store)
    result = karat.score(ROWS, Judge(name, model=model, governor=governor))
    errors = result.table[f"{result.metrics[0].spec}.error"].to_pylist()
    judged = governor.estimate.cached
    assert sorted(errors, key=str) == [None] * judged + ["not asked: this is a dry run"] * (len(ROWS) - judged)
    assert model.requests == []
    return governor.estimate


@pytest.mark.parametrize(("name", "usual"), [("correctness", LABEL_TOKENS), ("faithfulness", LABEL_TOKENS)])
def test_it_counts_the_calls_and_tokens_of_the_run(name, usual):
    model = fake()
    karat.score(ROWS, Judge(name, model=model, governor=Governor()))
    found = estimate(name)
    assert found.calls == len(model.requests) == len(ROWS)
    assert found.input_tokens == sum(map(estimate_prompt_tokens, model.requests))
    assert found.output_tokens == len(ROWS) * usual
    assert (found.cached, found.repeated) == (0, 0)
    assert found.cost((3.0, 5.0)) == pytest.approx((3 * found.input_tokens + 5 * found.output_tokens) / 1e6)


def test_what_is_kept_or_asked_twice_takes_no_tokens():
    with ReplyCache(":memory:") as store:
        first = estimate("correctness", store)
        assert (first.calls, first.cached, first.repeated) == (3, 0, 1)
        assert first.output_tokens == 2 * LABEL_TOKENS
        karat.score(ROWS[:1], Judge("correctness", model=fake(), governor=Governor(store=store)))
        then = estimate("correctness", store)
        assert (then.calls, then.cached, then.repeated) == (3, 1, 1)
        assert then.output_tokens == LABEL_TOKENS
        assert 0 < then.input_tokens < first.input_tokens


@pytest.mark.parametrize(
    ("criteria", "settings", "tokens"), [(3, {}, 3 * LABEL_TOKENS), (0, {}, LABEL_TOKENS), (3, {"max_tokens": 7}, 7)]
)
def test_a_reply_has_a_label_for_each_criterion_and_is_no_longer_than_it_may_be(criteria, settings, tokens):
    schema = {"type": "object", "properties": {str(n): {"type": "object"} for n in range(criteria)}}
    governor = CountingGovernor(None)
    with pytest.raises(NotSentError):
        asyncio.run(governor.ask(fake(), Request([{"role": "user", "content": "?"}], schema, settings)))
    assert governor.estimate.output_tokens == tokens


def test_a_model_without_a_key_answers_nothing(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = model_factory(None)("small")
    with pytest.raises(RequestError, match="dry run"):
        asyncio.run(model([{"role": "user", "content": "?"}]))
