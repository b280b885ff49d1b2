"""Phoenix's own classifier, over a model that always gives the same reply."""

import warnings

import pytest


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
