"""Logs with a row for each filter, prompt or provider of a document: one of them, a value for each, or an error."""

from __future__ import annotations

import json
import re
import shlex
from ast import literal_eval

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

GOLD = ["Paris", "Bern", "yen", "4"]


def lm_eval(filters=("strict", 'it\'s "loose"'), repeats=1):
    for number, name in enumerate(filters):
        for doc, gold in enumerate(GOLD):
            answer = gold if number or not doc else f" {gold}."
            yield {"doc_id": doc, "target": gold, "arguments": {"gen_args_0": {"arg_0": "Q"}}, "resps": [[answer]]} | {
                "filtered_resps": [answer] * repeats,
                "filter": name,
                "doc_hash": str(doc),
                "exact_match": float(number),
            }


def promptfoo(providers=("a", "b"), prompts=2, repeats=2):
    places = [
        {"assert": [{"type": "equals", "value": "Paris"}]},
        {"assert": [{"type": "javascript", "value": "output.length < 9"}], "vars": {"expected": "Bern"}},
        {
            "assert": [
                {"type": "llm-rubric", "value": "is right"},
                {"type": "similar", "value": "yen", "threshold": 0.8},
            ]
        },
        {"assert": [{"type": "assert-set", "assert": [{"type": "equals", "value": "4"}]}]},
    ]
    for test, (place, gold) in enumerate(zip(places, GOLD, strict=True)):
        variables = {"question": f"Q{test}", **place.get("vars", {})}
        for at in range(len(providers) * prompts):
            for _ in range(repeats):
                yield {
                    "promptIdx": at,
                    "testIdx": test,
                    "testCase": {**place, "vars": variables},
                    "vars": variables,
                    "provider": {"id": providers[at // prompts], "label": ""},
                    "prompt": {"raw": "Q"},
                    "response": {"output": gold if at == 0 else "other"},
                    "score": 0.5,
                }


def inspect_like():
    for epoch in (1, 2):
        for doc, gold in enumerate(GOLD):
            yield {
                "task": "t",
                "model": "m",
                "id": doc,
                "epoch": epoch,
                "prediction": gold,
                "reference": gold,
                "sample": "{}",
            }


def helm():
    for kind in (None, "typos"):
        for doc, gold in enumerate(GOLD):
            yield {"id": f"id{doc}", "perturbation": kind, "trial": 0, "model": "m", "request_state": "{}"} | {
                "prediction": gold if kind is None else "x",
                "references": [gold],
            }


def written(folder, rows, form):
    rows = list(rows)
    path = folder / f"samples_qa.{form}"
    path.write_text(json.dumps({"results": {"results": rows}}) if form == "json" else "\n".join(map(json.dumps, rows)))
    return path


def follow(path, message):
    """The value of the metric under the option that the message says, on the command line and in Python."""
    option = re.search(r'Score one, (--where ".*") \(in Python, where=(.*)\), or each', message)
    done = CliRunner().invoke(main, ["score", str(path), "-m", "exact_match", "--json", *shlex.split(option[1])])
    values = [json.loads(done.output)["metrics"][0]["value"]] if done.exit_code == 0 else [done.output]
    try:
        return [*values, karat.score(path, "exact_match", where=literal_eval(option[2])).values["exact_match"].value]
    except karat.errors.DataError as error:
        return str(error)


@pytest.mark.parametrize(
    ("name", "metric"),
    [("exact_match", "exact_match"), ("column(exact_match)", None), ("pass_at(exact_match)@1", None)],
)
def test_filters_of_lm_eval_are_not_pooled(tmp_path, name, metric):
    path = written(tmp_path, lm_eval(), "jsonl")
    with pytest.raises(karat.errors.DataError, match="has 4 documents several times, by filter") as error:
        karat.score(path, name)
    if metric:
        assert follow(path, str(error.value)) == [1.0, 1.0]
    for condition, value in (("filter = 'strict'", 0.25), ("filter <> 'strict'", 1.0)):
        [one] = karat.score(path, name, where=condition).values.values()
        assert (one.n, one.value) == (4, value if name != "column(exact_match)" else float(value == 1))


def test_a_value_for_each_filter_may_be_asked_for(tmp_path):
    result = karat.score(written(tmp_path, lm_eval(), "jsonl"), "exact_match", by="filter")
    assert {label: group.value for label, group in result.groups["exact_match"].items()} == {
        "strict": 0.25,
        'it\'s "loose"': 1.0,
    }


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_prompts_and_providers_of_promptfoo_are_chosen_step_by_step(tmp_path, form):
    path = written(tmp_path, promptfoo(), form)
    with pytest.raises(karat.errors.DataError, match=r"by provider\.id \('a', 'b'\)") as error:
        karat.score(path, "exact_match")
    assert "by promptIdx (0, 1)" in str(follow(path, str(error.value)))
    result = karat.score(path, "exact_match", where="promptIdx = 0")
    assert (result.values["exact_match"].value, result.values["exact_match"].scored) == (1.0, 8)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_the_expected_value_of_each_row_is_looked_for_in_that_row(tmp_path, form):
    path = written(tmp_path, promptfoo(["a"], 1, 60), form)
    result = karat.score(path, "exact_match")
    assert (
        result.values["exact_match"].value,
        result.values["exact_match"].n,
        result.values["exact_match"].scored,
    ) == (1.0, 240, 240)
    assert result.mapping["reference"].split("|")[:2] == ["vars.expected", "testCase.assert[type=equals].value"]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_an_assertion_that_is_a_template_stands_for_a_variable(tmp_path, form):
    rows = list(promptfoo(["a"], 1, 1))
    for row, gold in zip(rows, GOLD, strict=True):
        row["testCase"] |= {"assert": [{"type": "equals", "value": "{{ city }}"}]}
        row["vars"] |= {"city": gold}
    assert karat.score(written(tmp_path, rows, form), "exact_match").values["exact_match"].value == 1.0
    rows[0]["testCase"] |= {"assert": [{"type": "equals", "value": "{{ city }}!"}]}
    value = karat.score(written(tmp_path, rows, form), "exact_match").values["exact_match"]
    assert (value.n, value.scored, value.value) == (4, 3, 1.0)


@pytest.mark.parametrize(("rows", "n"), [(inspect_like, 8), (lambda: lm_eval(["none"]), 4)])
def test_repeats_of_one_system_are_one_system(rows, n):
    assert karat.score(list(rows()), "exact_match").n == n


def test_perturbations_of_helm_are_named_with_the_condition_for_none():
    with pytest.raises(karat.errors.DataError, match="by perturbation") as error:
        karat.score(list(helm()), "exact_match")
    condition = re.search(r"where='(.*?)'\)", str(error.value).replace('"', "'"))
    assert karat.score(list(helm()), "exact_match", where="perturbation IS NULL").values["exact_match"].value == 1.0
    assert condition is not None


def test_gold_that_is_a_list_of_texts_is_not_taken_for_the_objects_of_squad():
    predictions = [{"id": n, "answer": text} for n, text in enumerate(("a", "b"))]
    gold = [{"id": n, "question": "?", "answers": ["a", "c"]} for n in range(2)]
    result = karat.score(predictions, "exact_match", gold=gold, on="id")
    assert result.values["exact_match"].value == 0.5
    objects = [{"id": n, "question": "?", "answers": {"text": ["a", "c"], "answer_start": [0, 3]}} for n in range(2)]
    assert karat.score(predictions, "exact_match", gold=objects, on="id").values["exact_match"].value == 0.5


def test_older_results_of_promptfoo_have_no_number_of_the_test(tmp_path):
    found = [{"assertion": {"type": "javascript", "value": "…"}}, {"assertion": {"type": "equals", "value": "Paris"}}]
    row = {"vars": {"question": "Q"}, "prompt": {"raw": "Q", "label": "{{question}}"}, "namedScores": {}}
    row |= {"response": {"output": "Paris"}, "gradingResult": {"componentResults": found}}
    path = written(tmp_path, [{**row, "provider": {"id": "a"}}], "json")
    assert karat.score(path, "exact_match").values["exact_match"].value == 1.0
    path = written(tmp_path, [{**row, "provider": {"id": name}} for name in "ab"], "json")
    with pytest.raises(karat.errors.DataError, match=r"has 1 document several times, by provider\.id \('a', 'b'\)"):
        karat.score(path, "exact_match")
