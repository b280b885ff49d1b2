"""Templates of prompts, beside Phoenix's own."""

import pytest

from karat import KaratError, SpecError
from karat.adapters.phoenix.llm.template import Template

YES = {"explanation": "It says so.", "label": "yes"}


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
