"""Checks of parameters, inputs and replies in evaluators that ask a language model."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


import pytest

pytest.importorskip("haystack")

from haystack.components.evaluators import LLMEvaluator as TheirEvaluator
from haystack.utils import Secret

from karat.adapters.haystack import ContextRelevanceEvaluator, FaithfulnessEvaluator, LLMEvaluator

INIT = {
    "instructions": "Is this answer rude?",
    "inputs": [("predicted_answers", list[str])],
    "outputs": ["score"],
    "examples": [{"inputs": {"predicted_answers": "Damn!"}, "outputs": {"score": 1}}],
}


class Silent:
    """A chat generator that is never asked."""

    def run(self, messages):
        raise AssertionError(messages)


def llm(generator, **options):
    return LLMEvaluator(**(INIT | options), progress_bar=False, chat_generator=generator)


def test_positional_parameters_of_old_and_new_releases():
    secret = Secret.from_env_var("OTHER")
    evaluator = LLMEvaluator(*INIT.values(), False, False, "openai", secret)
    assert (evaluator.progress_bar, evaluator.raise_on_failure) == (False, False)
    assert evaluator._chat_generator.api_key == secret
    for kind in (FaithfulnessEvaluator, ContextRelevanceEvaluator):
        generator = Silent()
        evaluator = kind(None, False, False, generator)
        assert (evaluator.progress_bar, evaluator.raise_on_failure) == (False, False)
        assert evaluator._chat_generator is generator
        assert kind(api="openai", api_key=secret)._chat_generator.api_key == secret


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": {("predicted_answers", list[str])}}, "inputs to be a list of tuples. Each tuple must contain"),
        ({"inputs": [("predicted_answers", list)]}, "inputs to be a list of tuples"),
        ({"outputs": "score"}, "outputs to be a list of str but received score"),
        ({"examples": [{"inputs": {"a": 1}, "outputs": [1]}]}, "dictionaries with str keys"),
        ({"api": "other"}, "Unsupported API: 'other'"),
        ({"api_key": "sk-secret"}, "a haystack.utils.Secret for the default generator is expected"),
        ({"chat_generator": Silent(), "api_key": Secret.from_token("sk-secret")}, "or a chat_generator"),
        ({"chat_generator": 7}, "a ChatGenerator is expected, found 7"),
        ({"concurrency": 0}, "concurrency=0"),
    ],
)
def test_invalid_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message) as raised:
        LLMEvaluator(**(INIT | change))
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "expected input parameter 'predicted_answers' but received only"),
        ({"other": ["a"]}, "expected input parameter 'predicted_answers' but received only"),
        ({"predicted_answers": "text"}, "all input values to be lists but received .*str"),
        ({"predicted_answers": ("a",)}, "all input values to be lists but received .*tuple"),
        ({"predicted_answers": ["a"], "more": ["a", "b"]}, r"the same length but received .* with lengths \[1, 2\]"),
    ],
)
def test_wrong_inputs_give_haystacks_messages(inputs, message):
    with pytest.raises(ValueError, match=message):
        llm(Silent()).run(**inputs)
    with pytest.raises(ValueError, match=message):
        TheirEvaluator(**INIT, chat_generator=Silent()).run(**inputs)
