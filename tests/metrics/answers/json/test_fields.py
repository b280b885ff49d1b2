"""Fields of JSON are counted as stickler-eval counts them, and lists are matched as ANLS* and all orders say."""

import json
import warnings
from collections import Counter
from functools import cache
from itertools import permutations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.cli.main import main
from karat.core.metric.rows import Rows
from karat.core.metric.score import score_rows
from karat.errors import SpecError
from karat.metrics import json_fields
from karat.runs.scoring.totals import metric as metric_totals

anls_score = pytest.importorskip("anls_star").anls_score
precision_recall_fscore_support = pytest.importorskip("sklearn.metrics").precision_recall_fscore_support
MultiLabelBinarizer = pytest.importorskip("sklearn.preprocessing").MultiLabelBinarizer
StructuredModel = pytest.importorskip("stickler").StructuredModel

LETTERS = st.sampled_from("pqrs")
SCALARS = LETTERS | st.sampled_from([True, False, None, 0, 1, 1.0, -2.5, "1", "", {}, []])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3), max_leaves=12
)
KINDS = ("equal", "different", "missing", "extra")
EXACT = {"x-aws-stickler-comparator": "ExactComparator", "x-aws-stickler-threshold": 1.0}


def score(predicted, expected, metric=json_fields) -> Rows:
    columns = {"prediction": pa.array([json.dumps(predicted)]), "reference": pa.array([json.dumps(expected)])}
    return score_rows(metric, columns)


def count(predicted, expected, metric=json_fields):
    """The paths of the fields of each kind."""
    details = score(predicted, expected, metric).details
    return {kind: Counter(details[kind].to_pylist()[0]) for kind in KINDS}


@cache
def stickler_model():
    text = {"type": "string", **EXACT}
    part = {"type": "object", "x-aws-stickler-match-threshold": 0.0, "properties": {"c": text, "d": text}}
    tags = {"type": "array", "items": {"type": "string"}, **EXACT}
    properties = {"a": text, "b": text, "part": part, "tags": tags, "items": {"type": "array", "items": part}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the threshold 0, which makes it count the fields of every pair of items
        return StructuredModel.from_json_schema({"type": "object", "properties": properties})


def stickler_counts(predicted, expected):
    """Its counts of each field, in our names."""
    model = stickler_model()
    found = model(**expected).compare_with(model(**predicted), include_confusion_matrix=True, recall_with_fd=True)
    matrix = found["confusion_matrix"]
    fields = {**matrix["fields"], **{f"part.{name}": each for name, each in matrix["fields"]["part"]["fields"].items()}}
    names = dict(zip(("tp", "fd", "fn", "fa"), KINDS, strict=True))
    counts = {name: {names[key]: each["aggregate"][key] for key in names} for name, each in fields.items()}
    return counts, matrix["aggregate"]["derived"]


PARTS = st.fixed_dictionaries({}, optional={"c": LETTERS, "d": LETTERS})
ITEMS = st.fixed_dictionaries({"c": LETTERS, "d": LETTERS})
RECORDS = st.fixed_dictionaries(
    {"part": PARTS.filter(bool), "tags": st.lists(LETTERS, min_size=1, max_size=4)},
    optional={"a": LETTERS, "b": LETTERS},
)


@given(predicted=RECORDS, expected=RECORDS, items=st.lists(st.tuples(ITEMS, ITEMS), min_size=1, max_size=4))
def test_fields_are_counted_as_by_stickler(predicted, expected, items):
    predicted, expected = (
        {**value, "items": [pair[side] for pair in items]} for side, value in enumerate((predicted, expected))
    )
    theirs, derived = stickler_counts(predicted, expected)
    ours = count(predicted, expected)
    for name, path in {"a": "a", "b": "b", "part.c": "part.c", "part.d": "part.d", "tags": "tags[*]"}.items():
        assert {kind: ours[kind][path] for kind in KINDS} == theirs[name]
    for kind in KINDS:
        assert ours[kind]["items[*].c"] + ours[kind]["items[*].d"] == theirs["items"][kind]
    for measure in ("precision", "recall", "f1"):
        (value,) = json_fields([json.dumps(predicted)], [json.dumps(expected)], measure=measure).to_pylist()
        assert value == pytest.approx(derived[f"cm_{measure}"], abs=1e-9)


TREES = st.recursive(
    LETTERS | st.lists(LETTERS, min_size=1, max_size=5) | st.lists(ITEMS, min_size=1, max_size=5),
    lambda inner: st.dictionaries(LETTERS, inner, min_size=1, max_size=4),
    max_leaves=8,
)


@given(predicted=st.dictionaries(LETTERS, TREES, min_size=1), expected=st.dictionaries(LETTERS, TREES, min_size=1))
def test_lists_are_matched_as_by_anls_star(predicted, expected):
    """Of letters, its similarity is 1 or 0, and its score the share of equal leaves in all leaves of either value."""
    found = count(predicted, expected)
    # Of a value and one of another shape it counts the larger number of leaves, we count all of them.
    theirs = anls_score(expected, predicted)
    equal, leaves = sum(found["equal"].values()), sum(sum(each.values()) for each in found.values())
    if same_shape(predicted, expected):
        assert equal / leaves == pytest.approx(theirs, abs=1e-9)
    else:
        assert bool(equal) == bool(theirs)


def same_shape(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same_shape(one[name], other[name]) for name in one.keys() & other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return type(one[0]) is type(other[0])
    return type(one) is type(other)


def flatten(value, path=()):
    """Each leaf of a value with its path, in which items of lists are numbered."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else ()
    if not items:
        return {repr((*path, leaf(value)))}
    return {each for name, item in items for each in flatten(item, (*path, name))}


def leaf(value):
    kind = "number" if type(value) in (int, float) else type(value).__name__
    return kind, float(value) if kind == "number" else json.dumps(value)


@given(predicted=VALUES, expected=VALUES)
def test_in_order_the_values_are_those_of_scikit_learn(predicted, expected):
    sets = [flatten(expected), flatten(predicted)]
    one_hot = MultiLabelBinarizer(classes=["none", *sorted(set.union(*sets))]).fit_transform(sets)
    theirs = precision_recall_fscore_support(one_hot[:1], one_hot[1:], average="micro", zero_division=0)
    texts = [json.dumps(predicted)], [json.dumps(expected)]
    for measure, value in zip(("precision", "recall", "f1"), theirs, strict=False):
        assert json_fields(*texts, lists="ordered", measure=measure).to_pylist() == pytest.approx([value], abs=1e-9)


def most_equal(predicted, expected):
    """The most equal leaves that any order of the items of lists gives."""
    if isinstance(predicted, dict) and isinstance(expected, dict) and predicted and expected:
        return sum(most_equal(predicted[name], expected[name]) for name in predicted.keys() & expected.keys())
    if isinstance(predicted, list) and isinstance(expected, list) and predicted and expected:
        short, long = sorted((predicted, expected), key=len)
        orders = permutations(long, len(short))
        return max(sum(most_equal(*pair) for pair in zip(short, order, strict=True)) for order in orders)
    return int(leaf(predicted) == leaf(expected))


@given(predicted=VALUES, expected=VALUES)
def test_no_other_order_of_items_has_more_equal_fields(predicted, expected):
    equal, whole, wanted = score(predicted, expected).statistics[0]
    assert equal == most_equal(predicted, expected)
    assert (whole, wanted) == tuple(len(list(leaves(value))) for value in (predicted, expected))
    by_metric = score(predicted, expected, json_fields.using(metrics={"*": "exact_match"}))
    if not any(isinstance(each, int | float) for value in (predicted, expected) for each in leaves(value)):
        assert by_metric.statistics.tolist() == [[equal, whole, wanted]]  # without the short cut for equal items


def leaves(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (each for item in items for each in leaves(item)) if items else iter([value])


@pytest.mark.parametrize(
    ("predicted", "expected", "counts"),
    [
        ({}, {}, {"equal": ["$"]}),
        (1, True, {"different": ["$"]}),
        ([1], [True], {"different": ["[*]"]}),
        ({"a": 1.0}, {"a": 1}, {"equal": ["a"]}),
        ({"a": None}, {}, {"missing": ["$"], "extra": ["a"]}),
        ({"a": []}, {"a": [1, 2]}, {"missing": ["a[*]", "a[*]"], "extra": ["a"]}),
        ({"a": []}, {"a": {}}, {"different": ["a"]}),
        ({"a.b": 1, "c": {"": 2}}, {"a.b": 1, "c": {"": 3}}, {"equal": ['["a.b"]'], "different": ['c[""]']}),
        ([{"x": 1, "y": 2}, {"x": 3}], [{"x": 3}, {"x": 1}], {"equal": ["[*].x", "[*].x"], "extra": ["[*].y"]}),
        ([{"x": 1}, {"z": 1}], [{"z": 2}], {"different": ["[*].z"], "extra": ["[*].x"]}),
    ],
)
def test_edge_cases(predicted, expected, counts):
    found = count(predicted, expected)
    assert {kind: sorted(paths.elements()) for kind, paths in found.items() if paths} == counts


def test_what_is_not_json():
    result = karat.score(
        {"prediction": ["no", "{}", '{"a": 1}'], "reference": ['{"a": [1, 2]}', "no", None]}, json_fields
    )
    assert result.table["json_fields"].to_pylist() == [0, None, None]
    assert result.table["json_fields.missing"].to_pylist() == [["a[*]", "a[*]"], None, None]
    assert result.table["reason"].to_pylist()[1].startswith("reference is not JSON: Expecting value")


def test_a_metric_by_path():
    rows = {"prediction": ['{"price": 10.05, "of": {"price": 3}, "name": "The Hague"}'],
            "reference": ['{"price": 10, "of": {"price": 4}, "name": "the  hague"}']}  # fmt: skip
    metrics = {"price": "numeric_match(relative=0.01)", "of.price": "numeric_match(absolute=1)"}
    assert json_fields(**rows).to_pylist() == [0]
    assert json_fields(**rows, metrics=metrics).to_pylist() == [2 / 3]
    assert json_fields(**rows, metrics={"of": "numeric_match(absolute=1)"}).to_pylist() == [1 / 3]
    assert json_fields(**rows, metrics={"*": "exact_match(normalize='squad')", **metrics}).to_pylist() == [1]
    partly = json_fields.using(metrics={"name": "levenshtein"}, path="name")
    assert 0.5 < partly(**rows)[0].as_py() < 1
    assert karat.score(rows, partly).counts[partly.spec] == {"different": {"name": 1}}


def test_a_metric_pairs_items_by_its_scores():
    metric = json_fields.using(metrics={"[*]": "levenshtein"})
    assert count(["abcd", "xyz"], ["xyy", "abcd"], metric)["equal"] == {"[*]": 1}
    (score,) = metric(['["abcd", "xyz"]'], ['["xyy", "abcd"]']).to_pylist()
    assert score == pytest.approx((1 + 2 / 3) / 2)


def test_a_leaf_that_a_metric_cannot_score_leaves_the_row_unscored():
    rows = [{"prediction": '{"price": 1}', "reference": '{"price": "n/a"}'}]
    result = karat.score(rows, "json_fields(metrics={'price': 'numeric_match'})")
    assert result.table["reason"].to_pylist() == ["price: reference is not a number: 'n/a'"]


def test_a_path_alone():
    rows = {"prediction": ['{"id": 1, "of": [{"id": 2}, {"id": 3}]}', '{"x": 1}'],
            "reference": ['{"id": 9, "of": [{"id": 3}]}', '{"x": 1}']}  # fmt: skip
    assert json_fields(**rows, path="of").to_pylist() == [2 / 3, None]
    assert json_fields(**rows, path="id").to_pylist() == [0.4, None]
    result = karat.score(rows, "json_fields(path='of[*].id', measure=recall)")
    assert result.values["json_fields(measure='recall', path='of[*].id')"].value == 1
    assert result.table["reason"][1].as_py() == "neither prediction nor reference has the field of[*].id"


def test_nulls_as_if_they_were_not_there():
    texts = ['{"a": null, "b": [null, {"c": null}]}'], ['{"b": [null, {}]}']
    assert json_fields(*texts).to_pylist() == [0.4]
    assert json_fields(*texts, nulls="absent").to_pylist() == [1]


def test_the_best_reference_has_the_details():
    rows = {"prediction": ['{"a": 1}'], "reference": [['{"b": 1}', '{"a": 1}', '{"a": 2}']]}
    assert karat.score(rows, json_fields).counts["json_fields"] == {"equal": {"a": 1}}
    assert karat.score(rows, json_fields.using(across="first")).table.column(4).to_pylist() == [[]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": "a..b"}, "path='a..b': 'a..b' is not a path, such as"),
        ({"metrics": {"[": "em"}}, r"'\[' is not a path"),
        ({"path": r'a["\q"]'}, "is not a path"),
        ({"path": 'a["\x01"]'}, "is not a path"),
        ({"metrics": {"a": "emm"}}, "did you mean 'em'"),
        ({"metrics": {"a": 1}}, "'a': the spec of a metric as text is expected"),
        ({"metrics": {"a": "ndcg"}}, "ndcg is not a metric of prediction and reference"),
        ({"metrics": {"a": "semantic_similarity"}}, "that needs no model"),
        ({"metrics": {"a": "wer"}}, "a metric from 0 to 1, with 1 for equal, is expected"),
    ],
)
def test_settings_are_checked_when_they_are_given(settings, message):
    with pytest.raises(SpecError, match=message):
        json_fields.using(**settings)


def test_the_signature_has_the_metrics_by_path():
    plain, squad = (json_fields.using(metrics={"a": f"exact_match(normalize='{name}')"}) for name in ("none", "squad"))
    assert plain.signature != squad.signature
    assert "|a=exact_match(" in squad.signature


def test_deep_values_are_compared():
    text = "[1," * 190 + "[2]" + "]" * 190
    assert json_fields([text], [text.replace("2", "3")]).to_pylist() == [190 / 191]


@pytest.mark.parametrize("form", ["rows", "jsonl", "parquet"])
def test_objects_are_their_own_text(form, tmp_path):
    rows = [{"prediction": {"a": 1.5, "b": [{"c": True}]}, "reference": {"a": 1.50, "b": [{"c": True}], "d": "x"}}]
    path = tmp_path / f"rows.{form}"
    if form == "jsonl":
        path.write_text(json.dumps(rows[0]).replace("1.5,", "1.50,"))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    result = karat.score(rows if form == "rows" else path, ["json_fields", "json_match", "valid_json"])
    assert result.values["json_fields"].value == 0.8
    assert [result.values[name].value for name in ("json_match", "valid_json")] == [0, 1]
    with pytest.raises(karat.KaratError, match="prediction"):
        karat.score(rows if form == "rows" else path, ["json_fields", "exact_match"])


def test_the_most_frequent_paths_are_in_a_result(monkeypatch):
    monkeypatch.setattr(metric_totals, "FREQUENT", 2)
    rows = {"prediction": ["{}"] * 3, "reference": ['{"b": 1, "a": 1}', '{"c": 1}', '{"c": 1}']}
    assert karat.score(rows, json_fields).counts["json_fields"]["missing"] == {"c": 2, "a": 1}


def test_what_is_wrong_most_often_is_printed_first(tmp_path):
    wrong, right = {f"f{n}": 0 for n in range(20)}, {f"f{n}": 1 for n in range(20)}
    rows = [{"prediction": json.dumps(right), "reference": json.dumps({**right, "f7": 2})}] * 2
    rows += [{"prediction": json.dumps(wrong), "reference": json.dumps(right)}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    printed = CliRunner().invoke(main, ["score", str(tmp_path / "rows.jsonl"), "-m", "json_fields"]).output
    table = printed.split("\n\n")[1].splitlines()
    assert table[0].split() == ["json_fields", "equal", "different", "missing", "extra"]
    assert table[2].split() == ["f7", "0", "3", "0", "0"]
    assert table[3].split() == ["f0", "2", "1", "0", "0"]
    assert table[-1] == "and 8 more; --json has up to 1,000 of each"


def test_the_work_does_not_double_at_each_level_of_lists():
    predicted, expected = [0], [1]
    for level in range(195):
        predicted, expected = [predicted, f"p{level}"], [f"e{level}", expected]
    assert json_fields([json.dumps(predicted)], [json.dumps(expected)]).to_pylist() == [0]


def test_the_fields_of_a_row_come_in_the_order_of_the_text():
    assert score(dict.fromkeys("dbca", 1), {}).details["extra"].to_pylist() == [["d", "b", "c", "a"]]
