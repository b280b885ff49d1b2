"""A reply is one JSON value that matches its schema; anything else is an error that says what is wrong."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.judges.replies.forms import Fields, Label, Rating, Statements
from karat.judges.replies.parser import ReplyError, check, read_reply

jsonschema = pytest.importorskip("jsonschema")

LABEL = Label(choices={"correct": 1, "incorrect": 0})
STATEMENTS = Statements(split="prediction", verdicts={"supported": 1, "unsupported": 0}, uncounted="no_claim")
FIELDS = Fields(names=("polite", "brief"))
SCALE = Rating(low=1, high=5)
GOOD = '{"explanation": "as it says", "label": "correct"}'


def read(text, form=LABEL):
    return form.verdict(read_reply(text, form.schema))


def statements(*verdicts):
    return json.dumps({"1": [{"statement": "s", "reason": "r", "verdict": verdict} for verdict in verdicts]})


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD} \n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```\n",
        '{"label": "correct", "explanation": "as it says"}',  # the order of keys means nothing
        f"```json\r\n{GOOD}\r\n```",
    ],
)
def test_one_json_value_alone_or_in_one_fence_is_read(text):
    assert read(text).score == 1
    assert read(text).explanation == "as it says"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        (f"Sure! {GOOD}", "not one JSON value"),
        (f"{GOOD} I hope this helps.", "not one JSON value"),
        (f"{GOOD}{GOOD}", "not one JSON value"),
        (f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```", "not one JSON value"),
        (f"Here it is:\n```json\n{GOOD}\n```", "not one JSON value"),
        (GOOD[:-5], "not one JSON value"),
        ("correct", "not one JSON value"),
        ('"correct"', "an object is expected"),
        ("[" * 100_000, "not one JSON value"),
        (f"[{GOOD}]", "an object is expected"),
        ("null", "an object is expected"),
        ('{"label": "correct"}', "no key 'explanation'"),
        ('{"explanation": "x", "verdict": "correct"}', "no key 'label'"),
        ('{"explanation": "x", "label": "correct", "score": 1}', "key 'score', which was not asked for"),
        ('{"explanation": "x", "label": "Correct"}', "not one of"),
        ('{"explanation": "x", "label": "correct "}', "not one of"),
        ('{"explanation": "x", "label": 1}', "a text is expected"),
        ('{"explanation": null, "label": "correct"}', "a text is expected"),
        ('{"explanation": "x", "label": ["correct"]}', "a text is expected"),
        ('{"explanation": "x", "label": "incorrect", "label": "correct"}', "twice"),
    ],
)
def test_anything_else_is_an_error(text, message):
    with pytest.raises(ReplyError, match=message):
        read(text)


def test_the_score_of_statements_is_the_mean_of_their_verdicts():
    verdict = read(statements("supported", "unsupported", "supported", "supported"), STATEMENTS)
    assert verdict.score == 0.75
    assert [each["verdict"] for each in json.loads(verdict.statements)].count("supported") == 3


def test_sentences_without_anything_to_judge_have_no_score_unless_the_rubric_sets_one():
    assert read(statements("no_claim"), STATEMENTS).score is None
    assert read(statements("no_claim"), STATEMENTS).reason == "no sentence of prediction has anything to judge"
    assert read(statements("no_claim"), replace(STATEMENTS, empty=1)).score == 1
    assert read(statements("no_claim", "supported", "unsupported"), STATEMENTS).score == 0.5


@pytest.mark.parametrize(
    "text",
    [
        '{"1": "none"}',
        '{"1": null}',
        '{"1": [1]}',
        '{"1": []}',
        '{"1": [{"statement": "s", "verdict": "supported"}]}',
        statements("maybe"),
        '{"statements": []}',
    ],
)
def test_statements_of_another_shape_are_an_error(text):
    with pytest.raises(ReplyError):
        read(text, STATEMENTS)


def test_the_score_of_fields_is_their_mean():
    verdict = read('{"explanation": "x", "polite": 1, "brief": 0}', FIELDS)
    assert (verdict.score, dict(verdict.fields)) == (0.5, {"polite": 1, "brief": 0})


@pytest.mark.parametrize("value", ["2", "true", '"1"', "0.5", "null", "-1"])
def test_a_field_is_0_or_1_and_nothing_else(value):
    with pytest.raises(ReplyError):
        read(f'{{"explanation": "x", "polite": {value}, "brief": 0}}', FIELDS)


def test_a_number_on_a_scale_is_normalised_or_as_it_is():
    assert read('{"explanation": "x", "score": 4}', SCALE).score == 0.75
    assert read('{"explanation": "x", "score": 4.0}', SCALE).score == 0.75  # JSON has one kind of number
    assert read('{"explanation": "x", "score": 4}', Rating(low=1, high=5, normalize=False)).score == 4
    assert Rating(low=1, high=5, normalize=False).range == (1, 5)
    assert read('{"score": 0.25}', Rating(low=0, high=1, whole=False, explanation=False)).score == 0.25


@pytest.mark.parametrize("value", ["0", "6", "4.5", '"4"', "true", "NaN", "Infinity", "1e999"])
def test_a_number_outside_the_scale_is_an_error(value):
    with pytest.raises(ReplyError):
        read(f'{{"explanation": "x", "score": {value}}}', SCALE)


@pytest.mark.parametrize("form", [LABEL, STATEMENTS, FIELDS, SCALE, Label(choices={"a": 1, "b": 0}, explanation=False)])
def test_schemas_are_strict(form):
    def objects(schema):
        if schema["type"] == "object":
            yield schema
            for each in schema["properties"].values():
                yield from objects(each)
        elif schema["type"] == "array":
            yield from objects(schema["items"])

    for each in objects(form.schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    assert json.loads(json.dumps(form.schema)) == form.schema


ANYTHING = st.sampled_from([None, True, False, 0, 1, -1, 2, 4.0, 0.5, 1e300, "", "s", "correct", [], {}, [1], {"a": 1}])


@st.composite
def near(draw, schema):
    """A value that matches a schema, or nearly."""
    if not draw(st.integers(0, 15)):
        return draw(ANYTHING)
    if schema["type"] == "object":
        kept = [name for name in schema["properties"] if draw(st.integers(0, 15))]
        more = {} if draw(st.integers(0, 15)) else {"more": draw(ANYTHING)}
        return {name: draw(near(schema["properties"][name])) for name in kept} | more
    if schema["type"] == "array":
        return draw(st.lists(near(schema["items"]), max_size=3))
    other = st.text(max_size=3) if schema["type"] == "string" else st.sampled_from([0, 1, 3, 2.0, 0.5])
    return draw(st.one_of(st.sampled_from(schema["enum"]), other) if "enum" in schema else other)


@given(st.sampled_from([LABEL, STATEMENTS, FIELDS, SCALE, Rating(low=0, high=1, whole=False)]), st.data())
def test_a_reply_is_refused_where_jsonschema_refuses_it(form, data):
    value = data.draw(near(form.schema))
    try:
        check(value, form.schema)
    except ReplyError:
        read = False
    else:
        read = True
    assert read == jsonschema.Draft202012Validator(form.schema).is_valid(value)


@pytest.mark.parametrize("length", [57, 58, 59, 5000])
def test_what_is_shown_of_a_reply_has_at_most_60_characters(length):
    with pytest.raises(ReplyError) as error:
        check("x" * length, {"type": "number"})
    shown = str(error.value).removeprefix("the reply is ").removesuffix("; a number is expected")
    assert shown == (f'"{"x" * length}"' if length <= 58 else f'"{"x" * 58}…')


def test_half_a_character_is_refused():
    with pytest.raises(ReplyError, match="explanation' holds half of a character"):
        read('{"explanation": "\\ud83d", "label": "correct"}')
    assert read('{"explanation": "\\ud83d\\ude00", "label": "correct"}').explanation == "\N{GRINNING FACE}"
