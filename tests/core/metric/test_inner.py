"""Metrics of the scores of another metric."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import karat
import karat.judges  # registers the names of judges
from karat.core.columns.kinds import NUMBER, TEXT, TEXTS, Counts, Number, Score, Text
from karat.core.metric import registry
from karat.core.metric.decorator import metric
from karat.core.metric.inner import Inner, Samples
from karat.core.metric.spec import names_in, parse
from karat.errors import SpecError
from karat.metrics import exact_match, token_f1


@metric(source="a test of metrics of metrics", inner="exact_match", aliases=("sure",), register=False)
def weighted(scored: Inner, weight: Number, *, times: int = 1) -> Score:
    """The score of a row, by its weight.

    >>> weighted(["a"], ["a"], [0.5]).to_pylist()
    [0.5]
    """
    return scored.score().statistics[:, 0] * weight.to_numpy() * times


@metric(source="a test of metrics of samples", inner="exact_match", low=0, high=None, register=False)
def samples_given(scored: Samples) -> Score:
    """How many samples a row has.

    >>> samples_given([["a", "b"]], ["a"]).to_pylist()
    [2.0]
    """
    return scored.columns["prediction"].value_lengths()


@metric(
    source="a test of counts",
    inner="exact_match",
    finish=lambda totals: totals[..., 0] / totals[..., 1],
    register=False,
)
def share(scored: Inner) -> Counts:
    """The share of scores."""
    scores = scored.score().statistics[:, 0]
    return np.stack([scores, np.ones(len(scores))], axis=1)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """These metrics have names in these tests only."""
    for each in (weighted, samples_given, share):
        monkeypatch.setitem(registry._metrics, each.name, each)
    monkeypatch.setitem(registry._aliases, "sure", "weighted")


@pytest.mark.parametrize(
    ("spelled", "spec"),
    [
        ("weighted", "weighted"),
        ("sure(exact_match)", "weighted"),
        ("weighted(metric=exact_match)", "weighted"),
        ("weighted(f1)", "weighted(token_f1)"),
        ("weighted('token_f1')", "weighted(token_f1)"),
        ("weighted(f1, times=2)", "weighted(token_f1, times=2)"),
        ("weighted(exact_match(normalize=squad), times=2)", "weighted(exact_match(normalize='squad'), times=2)"),
        ("weighted(ndcg(gain=exp2)@10)", "weighted(ndcg(gain='exp2')@10)"),
        ("weighted(column(gpt4, low=0, high=1))", "weighted(column(gpt4, high=1, low=0))"),
        ("weighted(weighted(f1))", "weighted(weighted(token_f1))"),
    ],
)
def test_a_spec_takes_a_metric_as_a_setting(spelled, spec):
    assert parse(spelled).spec == spec
    assert parse(spec) == parse(spelled)
    assert pickle.loads(pickle.dumps(parse(spelled))) == parse(spelled)  # noqa: S301


def test_a_metric_in_python_is_a_setting():
    assert weighted.using(metric=token_f1.using(normalize="none")).spec == "weighted(token_f1(normalize='none'))"


def test_the_signature_holds_that_of_the_inner_metric():
    assert exact_match.signature in weighted.signature
    assert token_f1.signature in parse("weighted(f1)").signature


@pytest.mark.parametrize(
    "bad", ["weighted(tokn_f1)", "weighted(3)", "weighted(token_f1(normalise=none))", "weighted(k)"]
)
def test_a_wrong_inner_metric_is_refused(bad):
    with pytest.raises(SpecError):
        parse(bad)


@pytest.mark.parametrize(
    ("spelled", "spec"),
    [
        ("weighted(judge:correctness)", "weighted(judge:correctness)"),
        ("weighted('judge:correctness')", "weighted(judge:correctness)"),
        ("weighted( metric = judge:correctness, times=2)", "weighted(judge:correctness, times=2)"),
        ("weighted(judge:correctness(model='a b'), times=2)", "weighted(judge:correctness(model='a b'), times=2)"),
        ("samples_given(judge:correctness(samples=3))", "samples_given(judge:correctness(samples=3))"),
        ("weighted(share(judge:rubric(tag='x:y(z)')))", "weighted(share(judge:rubric(tag='x:y(z)')))"),
        ("weighted(judge:{folder}/own.toml)", "weighted(judge:{folder}/own.toml)"),
        ("weighted('judge:{folder}/my own.toml'(seed=1))", "weighted('judge:{folder}/my own.toml(seed=1)')"),
        ("weighted('judge:{folder}/my own.toml(seed=1)')", "weighted('judge:{folder}/my own.toml(seed=1)')"),
    ],
)
def test_a_judge_is_a_setting(spelled, spec, tmp_path):
    for name in ("own", "my own"):
        (tmp_path / f"{name}.toml").write_text(
            'name = "own"\nsummary = "S."\nsource = "ours"\ninputs = ["prediction"]\n[prompt]\ntask = "Is it brief?"\n'
            '[reply]\nkind = "fields"\nnames = ["brief"]\n'
        )
    spelled, spec = (each.replace("{folder}", str(tmp_path)) for each in (spelled, spec))
    metric = parse(spelled)
    assert metric.spec == spec
    assert parse(spec) == metric
    assert metric.judge.signature in metric.signature
    assert pickle.loads(pickle.dumps(metric)) == metric  # noqa: S301
    assert metric.judge.name in list(names_in(spelled))


@pytest.mark.parametrize(
    "bad",
    ["weighted(judge:)", "weighted(judge:correctness", "weighted(judge:correctness)(f1)", "'judge:correctness'x",
     "weighted(judge:my own.toml)", "exact_match(judge:correctness)", "weighted(judge:correctness, judge:refusal)"],
)  # fmt: skip
def test_a_wrong_spelling_of_a_judge_is_refused(bad):
    with pytest.raises(SpecError):
        parse(bad)


def test_every_name_in_a_spec_is_found():
    spec = r"weighted('ju\x64ge:/etc/a.toml', times={'x': ['judge:b']})"
    assert list(names_in(spec)) == ["weighted", "judge:/etc/a.toml", "judge:b"]
    assert list(names_in("not a spec(")) == []


def test_a_metric_that_has_no_name_is_a_setting_in_python():
    @metric(source="a test", register=False)
    def unnamed(prediction: Text) -> Score:
        """Whether a prediction is short."""
        return pc.less(pc.utf8_length(prediction), 3)

    assert weighted.using(metric=unnamed)(["a", "long"], [0.5, 0.5]).to_pylist() == [0.5, 0.0]


def test_columns_are_those_of_the_inner_metric_and_its_own():
    assert dict(weighted.definition.columns) == {"prediction": TEXT, "reference": TEXT, "weight": NUMBER}
    assert dict(samples_given.definition.columns) == {"prediction": TEXTS, "reference": TEXT}
    assert "column(gpt4)" in parse("weighted(column(gpt4))").definition.columns


def test_several_references_are_the_inner_metrics():
    assert weighted(["a", "b"], [["x", "a"], ["c"]], [0.5, 0.5]).to_pylist() == [0.5, 0.0]
    least = weighted.using(metric=exact_match.using(across="min"))
    assert least(["a"], [["x", "a"]], [0.5]).to_pylist() == [0.0]


def test_null_in_null_out():
    assert weighted(["a", None, "a"], ["a", "a", None], [0.5, 0.5, 0.5]).to_pylist() == [0.5, None, None]


def test_a_run_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = {"prediction": ["a", "b"], "reference": ["a", "a"], "weight": [1.0, 1.0], "seen": [1.0, 0.0]}
    result = karat.score(
        rows, ["weighted(exact_match)", "share(f1)", "weighted(column(seen))", "exact_match"], run="kept"
    )
    assert [value.value for value in result.values.values()] == [0.5, 0.5, 0.5, 0.5]


def test_lists_of_samples_are_given_whole():
    assert samples_given(pa.array([["a", "b"], [], ["c"]]), pa.array(["a", "b", "c"])).to_pylist() == [2.0, 0.0, 1.0]
    with pytest.raises(SpecError, match="does not score one text"):
        parse("samples_given(ndcg)")
