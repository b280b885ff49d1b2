"""Scores, mappings and return values equal Phoenix's on random records, except for intended differences."""

import asyncio
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("phoenix.evals")

from phoenix.evals import evaluators as theirs
from phoenix.evals import utils as their_utils
from phoenix.evals.metrics import MatchesRegex, PrecisionRecallFScore, exact_match

from karat.adapters import phoenix as ours

NOTHING = "raised"
texts = st.text("aAé e\u0301\n.0", max_size=4)
plain = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 0.5, 2.0]), texts)
names = st.sampled_from(["a", "b", "c", "output", "a.b", "a b", "0"])
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
records = st.dictionaries(names, values, max_size=5)
steps = st.sampled_from([".a", ".b", ".c", "[0]", "[1]", "[-1]", "['a b']", "[*]"])
paths = st.builds(lambda first, rest: first + "".join(rest), st.sampled_from("abc$"), st.lists(steps, max_size=3))


def whole(record):
    return ("whole", repr(record))


def one(a):
    return ("one", repr(a))


def several(a, b):
    return ("several", repr(a), repr(b))


def optional(a, b=3):
    return ("optional", repr(a), repr(b))


mapped = st.one_of(names, paths, st.sampled_from(["", "missing", whole, one, several, optional, len, repr]))


def outcome(function, *args, **kwargs):
    """What a call gives, or that it raises."""
    try:
        return function(*args, **kwargs)
    except (ValueError, TypeError, KeyError):  # a callable's own too
        return NOTHING
    except Exception as error:
        if type(error).__module__ == "jsonpath_ng.exceptions":
            return NOTHING
        raise


def told(scores):
    """What scores say, but for the label and explanation that are ours to word."""
    return NOTHING if scores == NOTHING else [(s.name, s.score, s.kind, s.direction) for s in scores]


@settings(max_examples=500)
@given(records, st.sets(names, max_size=3), st.none() | st.dictionaries(names, mapped, max_size=3))
def test_mapping_rules(record, required, mapping):
    def remapped(module):
        return outcome(module.remap_eval_input, eval_input=record, required_fields=required, input_mapping=mapping)

    assert remapped(ours) == remapped(their_utils)


@given(values, paths, st.booleans())
def test_paths(value, path, match_all):
    def found(module):
        return outcome(module.extract_with_jsonpath, data={"a": value}, path=path, match_all=match_all)

    assert found(ours) == found(their_utils)


@settings(max_examples=300)
@given(records, st.none() | st.dictionaries(st.sampled_from(["output", "expected"]), mapped, max_size=2))
def test_exact_match(record, mapping):
    mine = outcome(ours.exact_match.evaluate, record, mapping)
    assert told(mine) == told(outcome(exact_match.evaluate, record, mapping))
    assert mine == NOTHING or mine[0].label is None


def test_exact_match_has_no_label():
    record = {"output": "Paris", "expected": "Paris"}
    assert exact_match.evaluate(record)[0].label is None
    assert ours.exact_match.evaluate(record)[0].label is None


@given(plain, st.sampled_from(["a", "a*", "(a)(.)?", "[A-Z]|0", "^a$", r"\s", "(?i)A"]), st.booleans())
def test_regex(output, pattern, explain):
    record = {"output": output}
    their = outcome(MatchesRegex(pattern, include_explanation=explain).evaluate, record)
    mine = outcome(ours.MatchesRegex(re.compile(pattern), None, explain).evaluate, record)
    assert told(mine) == told(their)
    if mine != NOTHING:
        counts = [
            [int(n) for n in re.findall(r"\d+", (s.explanation or "").replace(pattern, ""))]
            for s in (mine[0], their[0])
        ]
        assert counts[0] == counts[1]
        assert (mine[0].explanation is None) == (their[0].explanation is None) == (not explain)


labels = st.sampled_from(["a", "b", "c"]) | st.integers(0, 1)
pairs = st.lists(st.tuples(labels, labels), max_size=8) | st.lists(st.tuples(*[st.sampled_from([0, 1, True, 1.0])] * 2))


@settings(max_examples=500)
@given(
    pairs,
    st.sampled_from(["macro", "micro", "weighted"]),
    st.sampled_from([0.5, 1, 2.0, 0.25, 3]),
    st.sampled_from([0.0, 0.5, 1]),
    st.sampled_from([None, None, "a", 1]),
)
def test_precision_recall_and_f(pairs, average, beta, zero_division, positive):
    record = {"expected": [pair[0] for pair in pairs], "output": tuple(pair[1] for pair in pairs)}
    how = {"average": average, "beta": beta, "zero_division": zero_division, "positive_label": positive}
    their = outcome(PrecisionRecallFScore(**how).evaluate, record)
    mine = outcome(ours.PrecisionRecallFScore(**how).evaluate, record)
    assert (mine == NOTHING) == (their == NOTHING)
    if mine != NOTHING:
        assert [s.name for s in mine] == [s.name for s in their] == list(ours.PrecisionRecallFScore(**how).score_names)
        assert [s.metadata for s in mine] == [s.metadata for s in their]
        assert [s.score for s in mine] == pytest.approx([s.score for s in their], abs=1e-12)


@pytest.mark.parametrize("how", [{"beta": 0}, {"beta": math.inf}, {"average": "none"}])
def test_settings_that_neither_has(how):
    for each in (PrecisionRecallFScore, ours.PrecisionRecallFScore):
        with pytest.raises(ValueError, match=next(iter(how))):
            each(**how)


def test_a_ratio_of_nothing_is_a_share_here():
    assert PrecisionRecallFScore(zero_division=7).evaluate({"expected": ["a"], "output": ["b"]})[0].score == 3.5
    with pytest.raises(ValueError, match="from 0 to 1"):
        ours.PrecisionRecallFScore(zero_division=7)


number = st.integers(-2, 2) | st.sampled_from([0.5, 1e300]) | st.booleans()
returns = st.one_of(
    number,
    texts,
    st.text("a ", max_size=6),
    st.lists(number | texts, max_size=4).map(tuple),
    st.fixed_dictionaries({}, optional={"score": number, "label": texts, "explanation": texts, "name": texts}),
    st.just(None),
    st.lists(number, max_size=2),
    st.sets(st.integers(0, 3), max_size=1),
    st.binary(max_size=1),
    st.tuples(number, st.none()),
)


def made(module, value, **how):
    @module.create_evaluator(name="made", **how)
    def function(output):
        return value

    return function


@settings(max_examples=400)
@given(returns, st.sampled_from(["maximize", "minimize", "neutral"]), st.sampled_from(["code", "llm", "human", None]))
def test_what_a_function_returns(value, direction, kind):
    how = {"direction": direction, "kind": kind}
    mine, their = (outcome(made(module, value, **how).evaluate, {"output": 1}) for module in (ours, theirs))
    assert (mine == NOTHING) == (their == NOTHING)
    if mine != NOTHING:
        assert [score.to_dict() for score in mine] == [score.to_dict() for score in their]


def test_a_score_that_is_returned_is_renamed():
    for module in (ours, theirs):
        score = module.Score(name="own", score=3, kind="human", direction="minimize", metadata={"a": 1}, label="x")
        (given,) = made(module, score).evaluate({"output": 1})
        assert given.to_dict() == {
            "name": "made",
            "score": 3,
            "label": "x",
            "metadata": {"a": 1},
            "kind": "code",
            "direction": "maximize",
        }


@pytest.mark.parametrize(
    ("value", "their", "mine"),
    [
        (np.int64(2), NOTHING, {"score": 2}),
        (np.bool_(True), NOTHING, {"score": 1.0, "label": "True"}),
        ((np.float32(0.5), np.str_("fair")), NOTHING, {"score": 0.5, "label": "fair"}),
        (
            {"score": 1, "metadata": {"rule": 7}, "words": 3},
            {"score": 1, "metadata": {}},
            {"score": 1, "metadata": {"rule": 7, "words": 3}},
        ),
    ],
)
def test_numbers_of_numpy_and_what_else_a_dict_says_are_kept_here(value, their, mine):
    given = outcome(made(theirs, value).evaluate, {"output": 1})
    score = made(ours, value).evaluate({"output": 1})[0].to_dict()
    assert mine.items() <= score.items()
    assert given == their if their == NOTHING else their.items() <= given[0].to_dict().items()


def test_a_score_that_is_no_number_is_an_error_here():
    assert made(theirs, {"score": "high"}).evaluate({"output": 1})[0].score == "high"
    with pytest.raises(ValueError, match="a number is expected"):
        made(ours, {"score": "high"}).evaluate({"output": 1})


def typed(module):
    @module.create_evaluator(name="typed")
    def function(output: int, share: float = 0.5, words: list[str] | None = None, *, label: str = "x") -> dict:
        return {"score": output, "explanation": repr((output, share, words, label))}

    return function


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "output": st.integers(-2, 2) | st.none() | st.sampled_from([2.0, 2.5, True, [1]]),
            "share": st.sampled_from([0.25, 1, None, [0.5]]),
            "words": st.none() | st.lists(texts, max_size=2) | st.just([1]),
            "label": texts | st.none() | st.just(3),
            "more": plain,
        },
    )
)
def test_types_and_defaults(record):
    mine, their = (outcome(typed(module).evaluate, record) for module in (ours, theirs))
    assert (mine == NOTHING) == (their == NOTHING)
    if mine != NOTHING:
        assert mine[0].to_dict() == their[0].to_dict()


def test_text_is_no_number_here():
    assert typed(theirs).evaluate({"output": "5"})[0].score == 5
    with pytest.raises(ValueError, match=r"Input validation failed: output: int is expected, got '5' \(str\)"):
        typed(ours).evaluate({"output": "5"})


def test_the_schema_of_a_function():
    def without_titles(schema):
        if not isinstance(schema, dict):
            return schema
        return {key: without_titles(value) for key, value in schema.items() if key != "title"}

    their = without_titles(typed(theirs).describe())
    mine = typed(ours).describe()
    assert mine == their


async def waits(output: str, expected: str = "a") -> bool:
    await asyncio.sleep(0)
    return output == expected


def test_async_functions_which_wait_here_where_nothing_else_does():
    mine, their = (module.create_evaluator(name="waits", kind="llm")(waits) for module in (ours, theirs))
    scores = [asyncio.run(each.async_evaluate({"answer": "a"}, {"output": "answer"})) for each in (mine, their)]
    assert scores[0][0].to_dict() == scores[1][0].to_dict()
    with pytest.raises(NotImplementedError):
        their.evaluate({"output": "a"})
    assert mine.evaluate({"output": "a"}) == scores[0]


def test_a_mapping_for_one_call_replaces_the_bound_one():
    record = {"output": "a", "expected": "a", "other": "b"}
    for evaluator, module in ((ours.exact_match, ours), (exact_match, theirs)):
        bind = ours.bind_evaluator if module is ours else their_bind()
        bound = bind(evaluator, {"expected": "other"})
        assert bound.evaluate(record)[0].score == 0.0
        assert bound.evaluate(record, {"output": "other"})[0].score == 0.0
        assert bound.evaluate(record, {"output": "output"})[0].score == 1.0
        assert bound.evaluate(record, {})[0].score == 0.0
        assert evaluator.evaluate(record)[0].score == 1.0
        bound.unbind()
        assert bound.evaluate(record)[0].score == 1.0


def their_bind():
    from phoenix.evals import bind_evaluator

    return lambda evaluator, mapping: bind_evaluator(evaluator=evaluator, input_mapping=mapping)


def short_by(module, schema):
    class Short(module.Evaluator):
        def _evaluate(self, eval_input):
            return [module.Score(score=len(eval_input["output"]) / eval_input.get("limit", 1), name=self.name)]

    return Short(name="short", kind="code", input_schema=schema)


def test_pydantic_models_are_schemas():
    pydantic = pytest.importorskip("pydantic")

    class Asked(pydantic.BaseModel):
        output: str
        limit: int = 3

    for module in (ours, theirs):
        short = short_by(module, Asked)
        assert short.evaluate({"output": "abc", "limit": "6", "more": 1})[0].score == 0.5
        assert short.evaluate({"a": {"b": "abc"}}, {"output": "a.b"})[0].score == 1.0
        with pytest.raises(ValueError, match="Input validation failed"):
            short.evaluate({"output": 3})
    assert short_by(ours, Asked).describe() == short_by(theirs, Asked).describe()


def test_without_a_schema_the_mapping_says_the_fields():
    for module in (ours, theirs):
        short = short_by(module, None)
        assert short.evaluate({"a": {"b": "ab"}, "limit": 2}, {"output": "a.b"})[0].score == 1.0
        with pytest.raises(ValueError, match="short"):
            short.evaluate({"output": "ab"})
        with pytest.raises(ValueError, match="Path not found: z"):
            short.evaluate({"output": "ab"}, {"output": "z"})
        assert short.describe()["input_schema"] == {"unspecified": {"type": "any", "required": False}}
