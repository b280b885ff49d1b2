"""Rubrics in TOML files, and the errors for invalid files."""

import sys
from dataclasses import is_dataclass

import pytest

from karat.errors import SpecError
from karat.judges import Judge
from karat.judges.rubric import load, own_judges, parse


def test_a_users_file_is_a_judge(tmp_path, politeness):
    path = tmp_path / "my judge (2).toml"
    path.write_text(politeness)
    judge = Judge(str(path))
    assert judge.name == f"judge:{path}"
    assert list(judge.definition.columns) == ["prediction"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "politeness"', "", "mine.toml: name is missing"),
        ("summary =", "sumary =", r"mine.toml: summary is missing; is it 'sumary'\?"),
        ("[prompt]", 'stile = "x"\n[prompt]', "mine.toml: stile: there is no such key"),
        ("[prompt]", 'directoin = "minimize"\n[prompt]', r"mine.toml: directoin: .*did you mean 'direction'\?"),
        ("[prompt]", 'direction = "up"\n[prompt]', "direction = 'up'; there are: maximize, minimize"),
        ("task =", "taks =", r"mine.toml: prompt.task is missing; is it 'taks'\?"),
        ('kind = "label"', 'kind = "labels"', r"mine.toml: reply.kind = 'labels'; did you mean 'label'\?"),
        ("choices =", "choises =", r"mine.toml: reply.choices is missing; is it 'choises'\?"),
        ("{ polite = 1, rude = 0 }", "{ polite = 1 }", "reply.choices: two or more choices with different scores"),
        ("{ polite = 1, rude = 0 }", "{ polite = 1, rude = true }", "reply.choices.rude = True: a number"),
        ("{ polite = 1, rude = 0 }", "{ polite = 1, rude = nan }", "reply.choices.rude = nan: a number"),
        ("{ polite = 1, rude = 0 }", "{ polite = 1, rude = -inf }", "reply.choices.rude = -inf: a number"),
        ("{ polite = 1, rude = 0 }", '["polite", "rude"]', "reply.choices .*a table is expected"),
        ('["prediction"]', "[]", "inputs: the names of the columns"),
        ('["prediction"]', '{ prediction = "test" }', r"inputs.prediction: 'test'; did you mean 'text'\?"),
        ('["prediction"]', '"prediction"', "inputs: the names of the columns"),
        ('"Is it polite?"', '" "', "prompt.task is empty"),
        ("[reply]", "[reply", "mine.toml: "),
        ("rude = 0 }", 'rude = 0 }\n[[examples]]\ninputs = {prediction = "x"}', r"examples\[1\].reply is missing"),
        (
            "rude = 0 }",
            'rude = 0 }\n[[examples]]\ninputs = {predictions = "x"}\nreply = {explanation = "", label = "rude"}',
            r"examples\[1\] ",
        ),
        (
            "rude = 0 }",
            'rude = 0 }\n[[examples]]\ninputs = {prediction = "x"}\nreply = {explanation = "", label = "kind"}',
            r"examples\[1\]: its reply's 'label' is \"kind\"",
        ),
        (
            'kind = "label"\nchoices = { polite = 1, rude = 0 }',
            'kind = "number"\nlow = 0\nhigh = 5\n[[examples]]\ninputs.prediction = ""\nreply = {explanation = "", score = 6}',  # noqa: E501
            r"mine.toml: examples\[1\]: the reply's 'score' is 6, which is not from 0 to 5",
        ),
        ("[prompt]", 'each = "prediction"\n[prompt]', "each = 'prediction': an input of lists"),
        ("[prompt]", '[swap]\ninputs = ["prediction", "other"]\n[prompt]', r"swap.inputs: 'other' is not there"),
    ],
)
def test_errors_of_files_name_the_key_and_the_nearest_name(old, new, message, politeness):
    assert old in politeness
    with pytest.raises(SpecError, match=message):
        parse(politeness.replace(old, new).encode(), "mine.toml")


def test_an_unknown_judge_is_an_error_with_the_nearest_name():
    with pytest.raises(SpecError, match="did you mean 'correctness'"):
        load("corectness")
    with pytest.raises(SpecError, match=r"nowhere\.toml: No such file"):
        load("nowhere.toml")
    with pytest.raises(SpecError, match=r"'no\\x00where\.toml': embedded null byte"):
        load("no\0where.toml")


@pytest.mark.parametrize("name", own_judges())
def test_each_of_karats_judges_has_a_summary_and_defines_each_choice(name):
    rubric = load(name)
    assert rubric.name == name
    assert rubric.summary.endswith(".")
    assert len(rubric.summary) < 120
    for choice in getattr(rubric.form, "choices", getattr(rubric.form, "verdicts", {})):
        assert f"\n{choice}: " in rubric.task, f"{choice} is not defined"
    low, high = rubric.form.range
    assert (low, high) == (0, 1)


def test_the_prompt_is_in_the_signature(tmp_path, politeness):
    path = tmp_path / "mine.toml"
    path.write_text(politeness)
    before = Judge(str(path)).signature
    path.write_text(politeness.replace("rude = 0 }", "rude = 0.5 }"))
    scores = Judge(str(path)).signature
    path.write_text(politeness.replace("Is it polite?", "Is it polite at all?"))
    assert len({before, scores, Judge(str(path)).signature}) == 3
    assert "prompt=" in before


@pytest.fixture
def renamed_classes():
    """Every dataclass of karat has another name."""
    modules = [module for name, module in sys.modules.items() if name.startswith("karat.")]
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    names = {kind: kind.__qualname__ for kind in kinds if is_dataclass(kind)}
    for kind, name in names.items():
        kind.__qualname__ = f"Renamed{name}"
    yield
    for kind, name in names.items():
        kind.__qualname__ = name


SIGNATURES = {name: Judge(name).signature for name in own_judges()}


def test_signatures_do_not_contain_names_of_classes(renamed_classes):
    assert {name: Judge(name).signature for name in own_judges()} == SIGNATURES
