"""What models reply, in each form of structured output: one reading is read and counted, the rest has a reason."""

import asyncio
import json
import re

import pytest

import karat
from karat.judges import Judge, use_governor
from karat.judges.replies.criteria import Criteria
from karat.judges.replies.forms import Fields, Label, Rating
from karat.judges.replies.parser import ReplyError
from karat.judges.replies.reader import read_verdict
from karat.models.governor.governor import Governor
from karat.models.request import CUT_OFF, Reply
from karat.models.testing.fake import FakeServer

FORMS = {"json_schema": ("json_schema",), "tool": ("tool",), "text": ()}
ROWS = [{"question": f"q{n}", "prediction": "p", "reference": ["r"]} for n in range(4)]
GOOD = '{"explanation": "They agree, it\'s so.", "label": "correct"}'
OTHER = '{"explanation": "They differ.", "label": "incorrect"}'
THOUGHT = f"First {{x}}. Perhaps {OTHER}? No."
HARMONY = f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}<|return|>"

MENDED = {
    "thoughts": f"<think>\n{THOUGHT}\n</think>\n\n{GOOD}",
    "thoughts without their opening tag": f"{THOUGHT}</think>{GOOD}",
    "other tags": f"<thinking>{THOUGHT}</thinking>{GOOD}",
    "empty thoughts": f"<think>\n\n</think>\n\n{GOOD}",
    "marks of another model": f"◁think▷{THOUGHT}◁/think▷{GOOD}",
    "channels": HARMONY,
    "channels whose marks are lost": f"analysis{THOUGHT}assistantfinal{GOOD}",
    "a fence after thoughts": f"<think>{THOUGHT}</think>\n```json\n{GOOD}\n```",
    "words before": f"Here is my verdict:\n{GOOD}",
    "words after": f"{GOOD}\n\nI hope that this helps (see {{x}}).",
    "words around a fence": f"Sure!\n```json\n{GOOD}\n```\nDone.",
    "in the tags of an answer": f"<answer>{GOOD}</answer>",
    "the same object twice": f"{GOOD}\n\nFinal: {GOOD}",
    "thoughts that are all there is": f"<think>They agree, so the verdict is {GOOD}",
    "a list of one": f"[{GOOD}]",
    "a call of a tool": f'{{"name": "reply", "arguments": {GOOD}}}',
    "a call with text": json.dumps({"name": "reply", "arguments": GOOD}),
    "JSON as a text of JSON": json.dumps(GOOD),
    "an object around it": f'{{"result": {GOOD}}}',
    "a last comma": GOOD.replace("}", ",}"),
    "the last brace missing": GOOD[:-1],
    "Python's quotes": str(json.loads(GOOD)),
    "curly quotes": "{“explanation”: “They agree.”, “label”: “correct”}",
    "keys without quotes": "{explanation: 'They agree.', label: 'correct'}",
    "a byte order mark": f"\ufeff{GOOD}",
    "a line break in a text": GOOD.replace("agree,", "agree,\n"),
    "LaTeX in a text": GOOD.replace("agree,", r"agree, \(x\),"),
    "a comment": GOOD.replace("}", " // final\n}"),
    "a label in capitals": GOOD.replace('"correct"', '"Correct"'),
    "a label with marks": GOOD.replace('"correct"', '" **Correct**."'),
    "a label in a list": GOOD.replace('"correct"', '["correct"]'),
    "keys in capitals": GOOD.replace('"label"', '"Label"').replace('"explanation"', '"Explanation"'),
    "a key more": GOOD.replace("}", ', "confidence": 0.9}'),
    "no explanation": '{"label": "correct"}',
    "the label alone": "Correct.",
    "the label with its name": "**Label:** correct",
    "JSON in the reasoning": Reply("", thoughts=GOOD),
    "JSON at the end of the reasoning": Reply("", thoughts=f"They agree: {GOOD}"),
}
REFUSED = {
    "two objects": (f"{GOOD} or {OTHER}", "differ"),
    "two objects after thoughts": (f"<think>x</think>{OTHER}\nWait.\n{GOOD}", "differ"),
    "one label, two explanations": (f"{GOOD} {GOOD.replace('agree', 'match')}", "differ"),
    "a quoted object in a broken one": (
        f'{{"explanation": "It says {GOOD}", "label": "incorrect"}}',
        "a part of another",
    ),
    "an object and half of another": (f"The prediction says {GOOD}\n{OTHER[:30]}", "a part of another"),
    "an object beside another label": (f"Label: incorrect\n{GOOD}", "two verdicts"),
    "two labels in one object": (GOOD.replace("}", ', "final": "incorrect"}'), "two verdicts"),
    "two verdicts in one object": (GOOD.replace("}", ', "score": 0}'), "'score', which was not asked for"),
    "a key twice": (GOOD.replace("}", ', "label": "incorrect"}'), "twice"),
    "an unknown label": (GOOD.replace('"correct"', '"partly correct"'), "is not one of"),
    "two labels alone": ("correct or incorrect", "not one JSON value"),
    "words": ("The label is correct.", "not one JSON value"),
    "half of an object": (GOOD[:30], "not one JSON value"),
    "thoughts without an end": (f"<think>Perhaps {GOOD}, or not", "ends in its thoughts"),
    "reasoning without a verdict": (Reply("", thoughts=THOUGHT), "ends in its thoughts"),
    "nothing": ("", "is empty"),
    "a refusal in words": ("I'm sorry, but I can’t help with that.", "refused: I'm sorry"),
    "another refusal in words": ("Unfortunately, I cannot judge this.", "refused: Unfortunately"),
    "a refusal": (Reply("", problem="refused: I cannot."), "refused: I cannot."),
}


READ = {"as asked": GOOD}  # first: an endpoint of whose first replies none can be read is an error


def run(replies, form, /, **settings):
    """Judge a row for each reply: the result, its value, its columns by the replies' names, and the number of calls."""
    rows = [{"question": f"row-{n}-", "prediction": "p", "reference": ["r"]} for n in range(len(replies))]

    def answer(messages):
        return list(replies.values())[int(re.search(r"row-(\d+)-", str(messages))[1])]

    with FakeServer(answer, forms=FORMS[form]) as server:
        governor = Governor()
        with use_governor(governor, base_url=server.url):
            result = karat.score(rows, Judge("correctness", model=f"answers in {form}", **settings))
    (spec,) = result.values
    columns = {
        name: dict(zip(replies, result.table[column].to_pylist(), strict=True))
        for name, column in [("reason", "reason"), *((n, f"{spec}.{n}") for n in ("raw", "repaired", "label"))]
    }
    return result, result.values[spec], columns, governor.totals.calls


@pytest.mark.parametrize("form", FORMS)
def test_replies_with_one_reading_are_read_counted_and_kept(form):
    result, value, columns, calls = run(MENDED, form)
    size = len(MENDED)
    assert (value.scored, value.value, calls) == (size, 1, size)
    assert columns["raw"] == {name: getattr(reply, "thoughts", reply) for name, reply in MENDED.items()}
    assert columns["repaired"] == dict.fromkeys(MENDED, True)
    assert columns["label"] == dict.fromkeys(MENDED, "correct")
    assert result.as_dict()["metrics"][0]["counts"]["repaired"] == {"true": size}


@pytest.mark.parametrize("form", FORMS)
def test_replies_with_no_reading_or_two_are_asked_again_and_then_unscored_with_the_reason(form):
    replies = READ | {name: reply for name, (reply, _) in REFUSED.items()}
    result, value, columns, calls = run(replies, form)
    assert (value.scored, calls) == (1, 1 + 2 * len(REFUSED))
    assert [name for name, (_, reason) in REFUSED.items() if reason not in columns["reason"][name]] == []
    assert columns["repaired"] == dict.fromkeys(replies)
    assert result.as_dict()["metrics"][0]["counts"] == {"label": {"correct": 1}}


@pytest.mark.parametrize("form", FORMS)
def test_replies_as_asked_for_are_not_counted_as_mended(form):
    replies = {"plain": GOOD, "in a fence": f"```json\n{GOOD}\n```"}
    _, value, columns, calls = run(replies, form)
    assert (value.scored, calls) == (2, 2)
    assert columns["raw"] == columns["repaired"] == dict.fromkeys(replies)


def test_a_strict_judge_mends_nothing_and_says_so_in_its_signature():
    result, value, columns, calls = run(READ | MENDED, "json_schema", replies="strict")
    assert (value.scored, calls, columns["label"]["as asked"]) == (1, 1 + 2 * len(MENDED), "correct")
    assert columns["repaired"] == dict.fromkeys(READ | MENDED)
    assert "replies='strict'" in result.metrics[0].signature
    assert "replies='mend'" in result.metrics[0].using(replies="mend").signature


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_was_cut_off_is_asked_with_more_tokens_and_nothing_else_new(form):
    def answer(_):
        cut = "max_tokens" not in server.requests[-1]
        return Reply(GOOD[:40], 9, 100, problem=CUT_OFF) if cut else Reply(GOOD, 9, 300)

    with FakeServer(answer, forms=FORMS[form]) as server:
        with use_governor(Governor(), base_url=server.url):
            result = karat.score(ROWS, Judge("correctness", model=f"answers in {form}"))
        sent = [each for each in server.requests if "max_tokens" in each]
    assert result.values[result.metrics[0].spec].scored == 4
    assert [each["max_tokens"] for each in sent] == [400] * 4
    assert all(len(each["messages"]) == len(server.requests[0]["messages"]) for each in sent)


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_stays_cut_off_names_max_tokens(form):
    result, value, _, calls = run({"cut": Reply(f"<think>{GOOD}", 9, 100, problem=CUT_OFF)}, form)
    assert (value.scored, calls) == (0, 2)
    assert set(result.table["reason"].to_pylist()) == {
        "cut off at the token limit after 100 tokens: raise max_tokens (--max-tokens N), or the endpoint's own limit"
    }


def test_several_calls_of_the_tool_have_one_reading_where_they_are_the_same():
    from karat.models.openai.model import read_completion

    def reply(*arguments):
        calls = [{"function": {"name": "reply", "arguments": each}} for each in arguments]
        return read_completion({"choices": [{"message": {"content": None, "tool_calls": calls}}]})

    form = Label(choices={"correct": 1, "incorrect": 0})
    assert read_verdict(reply(GOOD, GOOD), form)[0].label == "correct"
    assert read_verdict(reply(json.loads(GOOD)), form)[0].label == "correct"
    with pytest.raises(ReplyError, match="differ"):
        read_verdict(reply(GOOD, OTHER), form)


SCALE, FIELDS, CRITERIA = Rating(low=1, high=5), Fields(names=("polite", "brief")), Criteria(count=2)
MET = '{"reason": "r", "verdict": "met"}'


@pytest.mark.parametrize(
    ("form", "text", "score"),
    [
        (SCALE, '{"explanation": "x", "score": "4"}', 0.75),
        (SCALE, '{"explanation": "x", "score": " 4.0 "}', 0.75),
        (SCALE, "4", 0.75),
        (SCALE, "Score: 4", 0.75),
        (FIELDS, '{"polite": true, "brief": "0"}', 0.5),
        (FIELDS, '{"Polite": 1, "brief": false, "explanation": null}', 0.5),
        (CRITERIA, f"Here:\n{{'1': {MET}, '2': {{'verdict': 'Met'}}}}", None),
        (Label(choices={"A": 1, "B": 0}), '{"label": "a"}', 1),
        (Label(choices={"not_attempted": 0, "correct": 1}), '{"label": "Not attempted"}', 0),
        (Label(choices={"true": 1, "false": 0}), '{"label": true}', 1),
        (Label(choices={"+": 1, "-": 0}), '{"label": " +"}', 1),
    ],
)
def test_numbers_fields_and_labels_are_read_where_they_are_spelt_in_another_way(form, text, score):
    verdict, mended = read_verdict(Reply(text), form)
    assert (verdict.score, mended) == (score, True)


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        (SCALE, '{"explanation": "x", "score": "4/5"}', "a whole number is expected"),
        (SCALE, '{"explanation": "x", "score": "4.5"}', "a whole number is expected"),
        (SCALE, '{"explanation": "x", "score": true}', "a whole number is expected"),
        (SCALE, '{"explanation": "x", "score": "9"}', "not from 1 to 5"),
        (SCALE, "4 or 5", "not one JSON value"),
        (FIELDS, '{"polite": 1}', "no key 'brief'"),
        (FIELDS, '{"polite": 1, "brief": "maybe"}', "a whole number is expected"),
        (CRITERIA, f'{{"1": {MET}}}', "no key '2'"),
        (CRITERIA, f'{{"1": {MET}, "2": {MET}, "3": {MET}}}', "'3', which was not asked for"),
        (Label(choices={"A": 1, "a ": 0}), '{"label": " A "}', "is not one of"),
        (Label(choices={"+": 1, "-": 0}), '{"label": "+-"}', "is not one of"),
    ],
)
def test_what_has_no_one_reading_is_refused_with_the_reason(form, text, reason):
    with pytest.raises(ReplyError, match=reason):
        read_verdict(Reply(text), form)


@pytest.mark.parametrize(
    "piece", ["{", "[", '"', "'", "“", "/*", "//", ",", "a", '{"a":', "<think>", "</think>", "\\", "(", ", /*", "-"]
)
def test_the_longest_replies_are_refused_in_a_moment(piece):
    async def read():
        with pytest.raises(ReplyError):
            read_verdict(Reply("{" + piece * (400_000 // len(piece))), SCALE)

    asyncio.run(asyncio.wait_for(read(), 20))
