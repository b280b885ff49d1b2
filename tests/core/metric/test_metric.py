import inspect
import pickle
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat import metric
from karat.core.metric.spec import parse, parse_all
from karat.errors import SpecError
from karat.kinds import Counts, Number, Rows, Score, Text, Texts
from karat.metrics import token_f1


@metric(source="here", register=False)
def longer(prediction: Text, reference: Text, *, by: int = 0, strict: bool = True) -> Score:
    """1 where the prediction is longer."""
    return [
        len(p or "") > len(r or "") + by for p, r in zip(prediction.to_pylist(), reference.to_pylist(), strict=True)
    ]


def share(totals):
    with np.errstate(invalid="ignore"):
        return totals[..., 0] / totals[..., 1]


@metric(source="here", finish=share, register=False)
def hit_rate(prediction: Text, reference: Text) -> Counts:
    """Characters of the prediction that are in the reference, of all its characters."""
    return np.array(
        [[sum(c in r for c in p), len(p)] for p, r in zip(prediction.to_pylist(), reference.to_pylist(), strict=True)]
    )


def test_settings_make_another_metric_and_leave_the_first_alone():
    changed = longer.using(by=2)
    assert (longer.settings["by"], changed.settings["by"]) == (0, 2)
    assert longer != changed
    assert changed == longer.using(by=2)
    assert {longer, changed, longer.using()} == {longer, changed}
    with pytest.raises(TypeError):
        longer.settings["by"] = 3
    with pytest.raises(AttributeError):
        longer.settings = {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stict": 1}, "no setting 'stict'; did you mean 'strict'"),
        ({"by": "1"}, "by='1': int is expected"),
        ({"by": True}, "int is expected"),
        ({"strict": 1}, "bool is expected"),
        ({"across": "best"}, "max, mean, min, first, one or, in Python, a callable"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(SpecError, match=message):
        longer.using(**settings)


def test_a_wrong_choice_and_a_wrong_normaliser_say_what_is_near():
    with pytest.raises(SpecError, match=r"empty='v3' is not one of its values; there are: v1, v2"):
        karat.metrics.token_f1.using(empty="v3")
    with pytest.raises(SpecError, match=r"normalize='sqad'.*did you mean 'squad'"):
        karat.metrics.token_f1.using(normalize="sqad")


def test_spec_text_makes_the_same_metric_again():
    needs_settings = {"column", "percentile", "json_schema"}  # without them there is no metric: see the contract tests
    for each in karat.core.metric.registry.all_metrics():
        assert each.name in needs_settings or parse(each.spec) == each
    changed = karat.metrics.token_f1.using(normalize="none", across="mean", empty="v1")
    assert parse(changed.spec) == changed
    assert changed.spec == "token_f1(across='mean', empty='v1', normalize='none')"


@pytest.mark.parametrize(
    "text",
    [
        "token_f1(",
        "token_f1('none')",
        "1+1",
        "",
        "token_f1(**{})",
        "token_f1(normalize=print())",
        "a.b",
        "(" * 500,
        "f1@'k'",
    ],
)
def test_text_that_is_no_spec_says_what_one_is(text):
    with pytest.raises(SpecError, match="is not a metric"):
        parse(text)


def test_unknown_metric_suggests_the_nearest():
    with pytest.raises(SpecError, match="no metric 'exact_mach'; did you mean 'exact_match'"):
        parse("exact_mach")
    with pytest.raises(AttributeError, match="did you mean 'token_f1'"):
        _ = karat.metrics.token_f2


def test_a_metric_shows_the_signature_of_its_function():
    assert [*inspect.signature(token_f1).parameters][:2] == ["prediction", "reference"]
    assert inspect.signature(token_f1.using(across="mean")) == inspect.signature(token_f1.definition.function)


def test_the_cutoff_is_a_setting_with_a_short_form():
    @metric(source="here", register=False)
    def top(prediction: Text, *, k: int = 10, gain: str = "linear") -> Score:
        """Whatever."""
        return [0.0] * len(prediction)

    assert top.using(k=5).spec == "top@5"
    assert [top.using(k=k).spec for k in (0, -1)] == ["top@0", "top(k=-1)"]
    assert top.using(k=5, gain="exp2").spec == "top(gain='exp2')@5"
    assert top.signature.startswith(
        "top(extract='none', gain='linear', missing='unscored', samples='one')@10|version=1"
    )


def test_the_same_metric_twice_is_refused():
    with pytest.raises(SpecError, match="token_f1 is given twice"):
        parse_all(["token_f1", "token_f1"])


def test_signature_holds_every_setting_the_version_and_unicode():
    signature = karat.metrics.exact_match.signature
    settings = "across='max', extract='none', missing='unscored', normalize='none', samples='one'"
    assert signature.startswith(f"exact_match({settings})|version=1|unicode=")
    assert signature != karat.metrics.exact_match.using(across="min").signature


def test_metrics_pickle_with_their_settings():
    changed = karat.metrics.token_f1.using(normalize="none")
    assert pickle.loads(pickle.dumps(changed)) == changed  # noqa: S301


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: metric(source="here")(lambda prediction: 1), "annotate it with Text"),
        (lambda: metric(source="here")(_no_default), "needs a default"),
        (lambda: metric(source="here")(_endless_default), "a default that JSON can hold"),
        (lambda: metric(source="here")(_no_docstring), "docstring"),
        (lambda: metric(source="here")(_kwargs), "kwargs"),
        (lambda: metric(source="here")(exact_match), "'exact_match' already"),
        (lambda: metric(source="here")(_setting_first), "a setting goes after"),
        (lambda: metric(_kwargs), "needs a source"),
        (metric, "needs a source"),
    ],
)
def test_a_definition_that_does_not_describe_itself_is_refused(make, message):
    with pytest.raises(SpecError, match=message):
        make()


def _no_default(prediction: Text, *, k: int) -> Score:
    """K."""


def _endless_default(prediction: Text, *, a: float = float("inf")) -> Score:
    """Whatever."""


def _no_docstring(prediction: Text) -> Score:
    return [1.0]


def _kwargs(prediction: Text, **rest: int) -> Score:
    """Rest."""


def _setting_first(prediction: Text, characters: int = 3) -> Score:
    """Short."""


def exact_match(prediction: Text) -> Score:
    """Same name as karat's."""


def test_columns_may_be_named_in_singular_or_plural():
    assert longer(predictions=["abc"], reference=["ab"]).to_pylist() == [1.0]
    with pytest.raises(TypeError, match="lacks the column 'reference'"):
        longer(["abc"])
    with pytest.raises(TypeError, match="given twice"):
        longer(["abc"], ["a"], predictions=["b"])
    with pytest.raises(TypeError, match="takes 2 columns"):
        longer(["abc"], ["a"], ["b"])


def test_counts_give_the_finish_of_each_row():
    assert hit_rate(["ab", "abcd"], ["a", "ab"]).to_pylist() == [0.5, 0.5]


def test_a_metric_of_all_references_gets_lists_and_one_of_numbers_numbers():
    @metric(source="here", high=None, register=False)
    def how_many(references: Texts, weight: Number) -> Score:
        """The number of references."""
        return Rows(np.array([[len(r) * w] for r, w in zip(references.to_pylist(), weight.to_pylist(), strict=True)]))

    assert how_many([["a", "b"], ["c"]], [1, 2.5]).to_pylist() == [2.0, 2.5]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"direction": "min"}, "direction is"),
        ({"aliases": "qz"}, "aliases are a tuple"),
        ({"low": 1.0, "high": 0.0}, "is not below"),
    ],
)
def test_facts_that_contradict_themselves_are_refused(facts, message):
    with pytest.raises(SpecError, match=message):
        metric(source="here", register=False, **facts)


def test_settings_hold_what_their_annotation_says():
    @metric(source="here", register=False)
    def choosy(
        prediction: Text,
        *,
        names: list[str] = [],  # noqa: B006  (never changed)
        mode: Literal["a", "b"] | None = None,
        table: dict[str, int] = {},  # noqa: B006
    ) -> Score:
        """Settings of many types."""
        return [1.0] * len(prediction)

    changed = choosy.using(names=["b"], mode="a", table={"x": 1})
    assert parse_like(changed) == {"names": ["b"], "mode": "a", "table": {"x": 1}}
    for wrong in ({"names": "b"}, {"mode": "c"}, {"table": [1]}):
        with pytest.raises(SpecError):
            choosy.using(**wrong)
    with pytest.raises(SpecError, match="k='x': int is expected"):
        metric(source="here", register=False)(_wrong_default)


def _wrong_default(prediction: Text, *, k: int = "x") -> Score:  # type: ignore[assignment]
    """A default that its annotation does not allow."""


def parse_like(made):
    return {name: made.settings[name] for name in ("names", "mode", "table")}


def test_two_callables_are_two_specs_or_an_error():
    with pytest.raises(SpecError, match="given twice"):
        parse_all(
            [
                karat.metrics.exact_match.using(across=lambda s: 1.0),
                karat.metrics.exact_match.using(across=lambda s: 0.0),
            ]
        )


def test_a_finish_is_told_the_settings_that_it_names():
    def power(totals, *, exponent):
        return totals[..., 0] ** exponent

    @metric(source="here", finish=power, high=None, register=False)
    def powered(weight: Number, *, exponent: int = 2, unused: int = 0) -> Counts:
        """A power of the sum."""
        return np.asarray(weight)[:, None]

    assert powered([2.0, 3.0]).to_pylist() == [4.0, 9.0]
    assert powered([2.0], exponent=3).to_pylist() == [8.0]
    assert karat.score({"weight": [2.0, 3.0]}, powered).values["powered"].value == 25.0
    with pytest.raises(SpecError, match="asks for the setting 'exponent', which it lacks"):
        metric(source="here", finish=power, register=False)(_wrong_default_free)


def _wrong_default_free(prediction: Text, *, exponents: int = 2) -> Counts:
    """Has no setting of the name that the finish asks for."""


def test_one_text_is_a_list_of_one():
    @metric(source="here", high=None, register=False)
    def how_many(references: Texts) -> Score:
        """The number of references."""
        return [len(each) for each in references.to_pylist()]

    assert how_many(["a", None, ""]).to_pylist() == [1.0, None, 1.0]
    assert how_many(pa.array(["a", None]).dictionary_encode()).to_pylist() == [1.0, None]
    assert how_many(pa.array(["x", "a", "b"])[1:]).to_pylist() == [1.0, 1.0]


def test_without_a_scored_row_counts_have_no_value():
    result = karat.score({"prediction": [None], "reference": ["a"]}, "bleu")
    assert result.values["bleu"].value is None
