"""What a model is told of the reply that is expected: all of the form, and examples as they were written."""

import json
import re

import pytest

from karat.judges.prompt import how_to_reply, prompt_prefix
from karat.judges.replies.criteria import Criteria
from karat.judges.replies.forms import Fields, Label, Rating, Statements
from karat.judges.rubric import load, own_judges

FORMS = [
    Label(choices={"güt": 1, 'so "so"': 0.5}),
    Label(choices={"yes": 1, "no": 0}, explanation=False),
    Statements(split="prediction", verdicts={"true": 1, "false": 0}, uncounted="none"),
    Fields(names=("polite", "brief")),
    Fields(names=("polite",), explanation=False),
    Rating(low=1, high=5),
    Rating(low=-0.5, high=0.25, whole=False, explanation=False),
    Criteria(),
]


def words_of(schema):
    """The keys and the texts that a reply may have by its JSON Schema."""
    for key, each in schema.get("properties", {}).items():
        yield key
        yield from words_of(each)
    yield from words_of(schema["items"]) if "items" in schema else ()
    yield from (each for each in schema.get("enum", []) if isinstance(each, str))


@pytest.mark.parametrize("form", [*FORMS, *(load(name).form for name in own_judges())])
def test_the_form_of_a_reply_is_told_with_all_its_keys_and_choices(form):
    outline = how_to_reply(form).splitlines()[-1]
    assert set(re.findall(r'"(?:[^"\\]|\\.)*"', outline)) - {'"…"'} == {
        json.dumps(word, ensure_ascii=False) for word in words_of(form.schema)
    }
    if isinstance(form, Rating):
        assert ("whole" in outline) is form.whole
        assert [float(each) for each in re.findall(r"-?\d+\.?\d*", outline)] == [form.low, form.high]


def test_an_example_is_shown_as_it_was_written():
    reply = {"explanation": "Zürich – 東京", "label": "güt"}
    (_, asked, answered) = prompt_prefix("Judge.", [({"prediction": "Łódź"}, reply)])
    assert [asked["role"], answered["role"]] == ["user", "assistant"]
    assert '"Łódź"' in asked["content"]
    assert json.loads(answered["content"]) == reply
    assert "Zürich – 東京" in answered["content"]
