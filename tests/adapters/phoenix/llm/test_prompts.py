"""Templates of prompts, beside Phoenix's own."""

import pytest

from karat import KaratError
from karat.adapters.phoenix import PromptTemplate, TemplateFormat, phoenix_prompt_to_prompt_template
from karat.adapters.phoenix.llm.prompts import to_plain
from karat.errors import SpecError

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
    ours = PromptTemplate(template)
    assert ours.render(record) == stub.prompts[0]
    assert {*ours.variables} == {*reference.prompt_template.variables} or "!r" in str(template)
    assert {*ours.fields} == {*reference.describe()["input_schema"]["required"]} or "!r" in str(template)


def test_where_prompts_differ_from_those_of_phoenix(theirs):
    def rendered(template, record):
        stub, reference = theirs(YES, prompt_template=template, choices=["yes"])
        reference.evaluate(record)
        return stub.prompts[0][0]["content"], PromptTemplate(template).render(record)[0]["content"]

    # a value of several lines does not keep the template's indentation alive
    assert rendered("    a {{x}}\n    b", {"x": "1\n2"}) == ("    a 1\n2\n    b", "a 1\n2\nb")
    # what a section names of the record is found there
    assert rendered("{{#x}}yes {{y}}{{/x}}", {"x": True, "y": 2}) == ("yes ", "yes 2")
    # items that are no text are JSON there too
    assert rendered("{{#x}}{{.}}{{/x}}", {"x": [{"a": "b"}]}) == ("{'a': 'b'}", '{"a": "b"}')


def test_dotted_fields_of_f_strings_are_of_the_record():
    assert PromptTemplate("{a.b} {c[d]} {e[0]}").fields == {"a.b": True, "c": False, "e": False}
    assert PromptTemplate("{a.b} {c[d]} {e[0]} {f:.1f}").render(
        {"a": {"b": 1}, "c": {"d": 2}, "e": ["x"], "f": 0.25}
    )[0]["content"] == "1 2 x 0.2"  # fmt: skip
    with pytest.raises(KaratError, match="there is no '__class__'"):
        PromptTemplate("{a.__class__}").render({"a": 1})


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "cannot be empty"),
        ("  \n", "cannot be empty"),
        ([], "cannot be empty"),
        ("{{#x}}open", "'x' is not closed"),
        ("{{#x}}{{/y}}", "does not close the section"),
        ("{{x}}{{/x}}", "does not close the section"),
        ("{{>x}}", "partials are not supported"),
        ("{x} {", "write a brace that is text twice"),
        ("{x} {}", "a name is expected"),
        ('{x} {"a": 1}', "a name is expected"),
        ([{"role": "user"}], "Message 0 must have a 'content' field"),
        ([{"role": "tool", "content": "x"}], "Unknown message role: 'tool'"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}], "Only 'text' is supported"),
    ],
)
def test_a_template_that_is_none_says_so(template, message):
    with pytest.raises(SpecError, match=message):
        PromptTemplate(template)


def test_parts_of_text_and_roles_of_other_tools_are_taken():
    parts = [{"type": "text", "text": "A {{x}}"}, {"type": "text", "text": "B"}]
    messages = PromptTemplate([{"role": "developer", "content": "S"}, {"role": "human", "content": parts}])
    rendered = messages.render({"x": 1})
    assert rendered[1]["content"] == [{"type": "text", "text": "A 1"}, {"type": "text", "text": "B"}]
    assert to_plain(rendered) == [{"role": "system", "content": "S"}, {"role": "user", "content": "A 1\nB"}]


def test_values_that_are_nothing_or_of_numpy():
    import numpy as np

    record = {"x": np.float32(0.5), "y": np.array([1, 2]), "z": [{"t": None}, {}], "e": np.array([])}
    (message,) = PromptTemplate("{{x}} {{y}} {{#z}}[{{t}}]{{/z}} {{#y}}{{.}};{{/y}} {{^e}}-{{/e}}").render(record)
    assert message["content"] == "0.5 [1, 2] [][] 1;2; -"


@pytest.mark.parametrize("text", ["{True} or {None}", "{0} and {}", "a {", '{"a": 1}', "nothing at all"])
def test_braces_without_a_name_are_text(text):
    assert PromptTemplate(text).variables == []
    assert PromptTemplate(text).render({})[0]["content"] == text


def test_the_format_is_heeded():
    text = 'Config: {{"debug": true}} for {env}'
    assert PromptTemplate(text).variables == ["env"]
    mustache = PromptTemplate(text, TemplateFormat.MUSTACHE)
    assert mustache.variables == ['"debug": true']
    assert mustache.render({'"debug": true': "x"})[0]["content"] == "Config: x for {env}"
    both = "{{a}} {b}"
    assert PromptTemplate(both, "f-string").render({"b": 1})[0]["content"] == "{a} 1"
    assert PromptTemplate(PromptTemplate(both, "mustache"), "f-string").variables == ["b"]
    assert PromptTemplate(PromptTemplate(both, "f-string")).variables == ["b"]


def test_a_dotted_name_is_first_a_column_then_a_path():
    class Turn:
        text = "by attribute"

    template = PromptTemplate("{turn.text}|{turn.text[0]}")
    assert template.variables == ["turn.text"]
    for record, expected in (
        ({"turn.text": "column"}, "column|c"),
        ({"turn": {"text": "path"}}, "path|p"),
        ({"turn": Turn()}, "by attribute|b"),
        ({"turn.text": "column", "turn": {"text": "path"}}, "column|c"),
    ):
        assert template.render(record)[0]["content"] == expected


PROMPT = {"template_type": "CHAT", "template_format": "MUSTACHE"}


def test_prompts_that_a_server_keeps_are_templates():
    messages = [{"role": "Developer", "content": "Be {{tone}}."}, {"role": "AI", "content": "Yes."}]
    data = PROMPT | {"template": {"type": "chat", "messages": messages}}

    class Version:
        def _dumps(self):
            return data

    for prompt in (data, Version()):
        template = phoenix_prompt_to_prompt_template(prompt)
        assert template.template[0] == {"role": "system", "content": "Be {{tone}}."}
        assert to_plain(template.render({"tone": "brief"}))[1] == {"role": "assistant", "content": "Yes."}
    text = {"template_format": "NONE", "template": {"type": "string", "template": "Rate {it}"}}
    assert phoenix_prompt_to_prompt_template(text).template_format is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"template_format": "JINJA"}, "Unsupported prompt template format: 'JINJA'"),
        ({"template": "x"}, "type string"),
        ({"template_type": "STR"}, "type 'chat' and template_type 'STR'"),
        ({"template": {"type": "chat", "messages": "x"}}, "sequence 'messages' field"),
        ({"template": {"type": "chat", "messages": ["x"]}}, "Message 0 must be a dict"),
        ({"template": {"type": "chat", "messages": [{"role": "tool", "content": "x"}]}}, "Unsupported message role"),
    ],
)
def test_a_server_s_prompt_that_is_no_template_says_so(changes, message):
    data = PROMPT | {"template": {"type": "chat", "messages": [{"role": "user", "content": "x"}]}} | changes
    with pytest.raises(ValueError, match=message):
        phoenix_prompt_to_prompt_template(data)
