import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import metric
from karat.core.metric.extract import extract_answers
from karat.core.metric.score import score_columns, score_rows
from karat.core.metric.spec import parse
from karat.errors import RowError, SpecError
from karat.kinds import Counts, Score, Text
from karat.metrics import exact_match, matches_regex, token_f1
from karat.text.extract import (
    BY_BENCHMARK,
    extract_regex,
    find_answer,
    find_between_dollars,
    find_boxed,
    find_in_json,
    find_last_number,
    find_letter,
    find_stated,
)


def extracted(how, *texts):
    return [_said(text, how) for text in texts]


def _said(text, how):
    """What reaches a metric."""
    seen = []

    @metric(source="here", register=False)
    def spy(prediction: Text) -> Score:
        """What it gets."""
        seen.extend(prediction.to_pylist())
        return [1.0] * len(prediction)

    spy([text], extract=how)
    return seen[0] if seen else None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{4}.", "4"),
        (r"\boxed{1} and then \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\left\{1, 2\right\}}", r"\left\{1, 2\right\}"),
        (r"\fbox{x}", "x"),
        (r"\\boxed{7}", "7"),
        (r"\boxed {7}", "7"),
        (r"{ stray \boxed{3}", "3"),
        (r"} stray \boxed{3}", "3"),
        (r"\boxed{5} but then \boxed{\frac{1}{2}", "5"),
        (r"\boxed{a \boxed{b}}", "b"),
        (r"\boxed{m}", "m"),
        (r"\boxed{a+b}", "a+b"),
        (r"\boxed 4", None),
        (r"nothing boxed{4}", None),
    ],
)
def test_the_last_box_with_balanced_braces(text, answer):
    assert find_boxed(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is 4.", "4"),
        ("The answer is: 4", "4"),
        ("the answer is 3.14. Because of pi.", "3.14"),
        ("**Answer:** 4", "4"),
        ("**Answer**: Paris.", "Paris"),
        ("The answer is **4**.", "4"),
        ("Answer: $4$.", "4"),
        (r"The final answer is \(x+1\).", "x+1"),
        (r"Final Answer: The final answer is $\boxed{4}$. I hope it is correct.", "4"),
        ("The answer is 5 a.m.", "5 a.m."),
        ("The answer is no. He left.", "no"),
        ("Answer: J. R. R. Tolkien. He wrote it.", "J. R. R. Tolkien"),
        ("The answer is Dr. No!", "Dr. No"),
        ('The answer is "Paris".', "Paris"),
        ("Answer:\n\nParis\nmore", "Paris"),
        ("The answer is 3. No: the answer is 4", "4"),
        ("The answer to the question is Lyon", "Lyon"),
        ("Answer the question.", None),
        ("It is not clear what the answer is.", ""),
        ("Paris", None),
    ],
)
def test_what_the_reply_says_the_answer_is(text, answer):
    assert find_stated(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a 1, then 2", "2"),
        ("$1,234.50.", "1234.50"),
        ("-5", "-5"),
        ("x = \u22125", "-5"),
        ("3-5", "5"),
        ("1/2", "1/2"),
        ("1e5", "1e5"),
        ("10^{2}", "10^{2}"),
        ("x^2", None),
        ("H2O", None),
        ("共5个", "5"),
        (".5", ".5"),
        ("50%", "50"),
        ("12 km", "12"),
        ("(1,2)", "2"),
        ("1,2,345", "2345"),
        ("#### 42", "42"),
        ("no", None),
    ],
)
def test_the_last_number(text, answer):
    assert find_last_number(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(b)", "B"),
        ("**C**.", "C"),
        ("B. Paris", "B"),
        ("The answer is B", "B"),
        ("A good answer is B", "B"),
        ("I think the answer is (d).", "D"),
        ("The correct option is C because A is wrong.", "C"),
        (r"$\boxed{\text{B}}$", "B"),
        (r"The answer is $\boxed{C}$", "C"),
        ("I first chose A, but now I choose D.", "D"),
        ("So it must be C.", "C"),
        ("Some thoughts.\n\nB", "B"),
        ("Based on the text, Paris", None),
        ("The answer is Based on facts", None),
        ("The answer is A Tale of Two Cities", None),
        ("The answer is a dog", None),
        ("I think so", None),
        ("I", "I"),
        ("", None),
    ],
)
def test_the_letter_finally_chosen(text, answer):
    assert find_letter(text) == answer


@pytest.mark.parametrize(
    ("text", "path", "answer"),
    [
        ('{"a": "x"}', "a", "x"),
        ('{"a": {"b": [1.10, 2]}}', "a.b[0]", "1.10"),
        ('{"a": [{"b": 1}, {"b": 2}], "c.d": "x"}', "a[-1].b", "2"),
        ('{"a": [{"b": 1}, {"b": 2}], "c.d": "x"}', "a[*].b", "[1, 2]"),
        ('{"a": [{"b": 1}, {"b": 2}], "c.d": "x"}', "c.d", "x"),
        ('Sure:\n```json\n{"a": true}\n```\nDone.', "a", "true"),
        ('```\n{"a": 1}\n```\n\n```json\r\n{"a": 2}\r\n```', "a", "2"),
        ('{"a": [1.0, {"é": null}]}', "a", '[1.0, {"é": null}]'),
        ('{"a": null}', "a", None),
        ('{"a": 1}', "b", None),
        ('{"a": 1}', "a.b", None),
        ("[1]", "[1]", None),
        ("[1]", "[-2]", None),
        ("not JSON", "a", None),
        ("[" * 100_000, "a", None),
    ],
)
def test_a_path_in_json(text, path, answer):
    assert find_in_json(text, path) == answer


@pytest.mark.parametrize(
    ("pattern", "texts", "answers"),
    [
        (r"\d+", ["a 12 b 345", "none"], ["345", None]),
        (r"#### (\S+)", ["#### 1\n#### 42"], ["42"]),
        (r"(a)|b", ["b"], [None]),
        (r"\Q(x)", ["is (x)"], ["(x)"]),
        (r"(?i)answer (\w)", ["ANSWER b"], ["b"]),
        (r"\w+", ["\ufdd0\ufdd1x\ufdd0\ufdd0\ufdd1", ""], ["x", None]),
    ],
)
def test_the_last_match_of_a_pattern(pattern, texts, answers):
    assert extract_regex(pa.array(texts), pattern).to_pylist() == answers


PIECES = ["#### ", "####", "the answer is ", "The answer is", "answer is ", "the ", "(A)", "B.", "1,250", "$", "-", "7"]
PIECES += [
    ".",
    ",",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\x00",
    "\x85",
    "\xa0",
    "\u2028",
    "\u3000",
    "é",
    "…",
    "共",
    "٣",
    "😀",
]
REPLIES = st.lists(st.lists(st.sampled_from(PIECES), max_size=9).map("".join) | st.text(max_size=9), max_size=50)
BY_REGEX = {  # the patterns of lm-evaluation-harness with the group that counts, the first match or the last
    "gsm8k_strict": (r"#### (\-?[0-9\.\,]+)", 0),
    "gsm8k_flexible": (r"((?:-?[$0-9.,]{2,})|(?:-?[0-9]+))", -1),
    "mmlu_cot": (r"(?<=answer is )(.*)(?=.)", 0),
    "bbh": (r"(?<=the answer is )(.*)(?=.)", 0),
    "first_line": (r"^(.*?)(?=\n|$)", 0),
}


def by_regex(name, text):
    pattern, which = BY_REGEX[name]
    found = re.findall(pattern, text)
    return (found[which].strip() or None) if found else None


@given(REPLIES)
def test_extractors_of_benchmarks_equal_the_patterns_of_lm_eval(texts):
    for name in BY_REGEX:
        expected = [by_regex(name, text) for text in texts]
        assert extract_answers(pa.array(texts, pa.string()), name).to_pylist() == expected, name


@pytest.mark.parametrize("name", BY_REGEX)
@pytest.mark.parametrize("piece", ["answer is ", "the answer is \n", "#### ", "#### -", "-", ".", "é", "  "])
def test_extractors_of_benchmarks_read_long_replies(name, piece):
    texts = [piece * 20_000, piece * 20_000 + "the answer is 1.\n#### 5"]
    assert extract_answers(pa.array(texts), name).to_pylist() == [by_regex(name, text) for text in texts]


@pytest.mark.parametrize("name", BY_REGEX)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_extractors_of_benchmarks_read_every_layout(name, kind):
    texts = ["so the answer is é 5.\n#### 5", "", "no", "the answer is \u3000.\n", None, "#### -1,000.", "   \nB"] * 2
    expected = [None if text is None else by_regex(name, text) for text in texts]
    column = pa.array(texts, kind)
    for start, stop in [(0, 14), (1, 14), (3, 9), (7, 7), (13, 14)]:
        answers = extract_answers(column[start:stop], name)
        answers.validate(full=True)
        assert answers.to_pylist() == expected[start:stop]
    scores = [None if text is None else float(answer is not None) for text, answer in zip(texts, expected, strict=True)]
    for layout in (column.dictionary_encode(), pa.chunked_array([column[:5], column[5:]])):
        scored = exact_match(layout, [answer or "" for answer in expected], extract=name, missing="wrong")
        assert scored.to_pylist() == scores


@given(st.lists(st.text("$$a \u00e9\U0001f600\n", max_size=9), max_size=50))
def test_what_is_between_dollars_is_found_as_defined(texts):
    expected = list(map(find_between_dollars, texts))
    for kind in (pa.string(), pa.large_string()):
        column = pa.array([*texts, None], kind)
        assert extract_answers(column, "dollars").to_pylist() == [*expected, None]
        assert extract_answers(column[1:-1], "dollars").to_pylist() == expected[1:]


@pytest.mark.parametrize("name", [*BY_BENCHMARK, "dollars", "auto"])
def test_a_reply_that_is_not_utf8_is_named_by_its_row(name):
    column = pa.array([b"fine", b"the answer is 5.\n#### 5\xff"]).view(pa.string())
    with pytest.raises(RowError, match=r"row 1: .*UTF-8"):
        extract_answers(column, name)


def test_auto_tries_box_statement_number_and_then_takes_the_whole():
    assert find_answer(r"The answer is 3, \boxed{4}, 5") == "4"
    assert find_answer("The answer is 3, not 5") == "3, not 5"
    assert find_answer("That makes 5 apples") == "5"
    assert find_answer("Paris") == "Paris"
    assert extracted("auto", "  Paris ", "   ") == ["Paris", None]


@pytest.mark.parametrize("find", [find_boxed, find_stated, find_last_number, find_letter, find_answer])
@pytest.mark.parametrize(
    "piece", ["\\boxed{", "{", "}", "\\", "answer ", "answer is ", "9", "1,111", " ", "\n", "a. ", "$", "*", "("]
)
def test_long_and_broken_replies_are_read_to_their_end(find, piece):
    found = find(piece * (50_000 // len(piece)) + " The answer is \\boxed{B}")
    assert found in {"B", "\\boxed{B}"} or (find is find_last_number and (found is None or found.isdecimal()))


def test_a_row_without_an_answer_is_unscored_with_the_reason():
    rows = score_rows(
        exact_match.using(extract="boxed"),
        {"prediction": pa.array([r"\boxed{4}", "4", None]), "reference": pa.array([["4"], ["4"], ["4"]])},
    )
    assert rows.scored.tolist() == [True, False, False]
    assert rows.reasons.tolist() == [None, "extract='boxed' finds no answer in prediction", "prediction is null"]


def test_missing_wrong_gives_a_row_without_an_answer_the_worst_score():
    predicted, gold = [r"\boxed{4}", "4", None], [["4", "5"], ["4"], ["4"]]
    assert exact_match(predicted, gold, extract="boxed", missing="wrong").to_pylist() == [1.0, 0.0, None]
    assert exact_match(["4"], [["4"]], extract="boxed", missing="wrong").to_pylist() == [0.0]

    @metric(source="here", direction="minimize", high=3, register=False)
    def badness(prediction: Text) -> Score:
        """Always 1."""
        return [1.0] * len(prediction)

    assert badness(predicted, extract="boxed", missing="wrong").to_pylist() == [1.0, 3.0, None]


@pytest.mark.parametrize(
    "options", [{"finish": lambda totals: totals[..., 0]}, {"high": None, "direction": "minimize"}]
)
def test_where_there_is_no_worst_score_the_empty_text_is_scored(options):
    @metric(source="here", register=False, **options)
    def length(prediction: Text) -> Counts:
        """How long it is."""
        return np.array([[7.0 if not text else len(text)] for text in prediction.to_pylist()])

    assert length([r"\boxed{44}", "4"], extract="boxed", missing="wrong").to_pylist() == [2.0, 7.0]


def test_each_prediction_is_extracted_once_however_many_references_and_metrics(monkeypatch):
    seen, metrics = [], [each.using(extract="auto") for each in (token_f1, exact_match)]
    monkeypatch.setattr(
        "karat.core.metric.extract.extract_answers", lambda column, how: seen.extend(column.to_pylist()) or column
    )
    replies, references = pa.array(["a", "b"]), pa.array([["a", "b", "c"], ["b"]])
    metrics[0](replies, references)
    assert seen == ["a", "b"]
    score_columns(metrics, {"prediction": replies, "reference": references})
    assert seen == ["a", "b"] * 2


def test_several_predictions_are_extracted_one_by_one():
    predicted = [[r"\boxed{4}", "none"], ["none", "none"]]
    assert exact_match(predicted, ["4", "4"], extract="boxed", samples="max").to_pylist() == [1.0, None]
    assert exact_match(predicted, ["4", "4"], extract="boxed", samples="mean", missing="wrong").to_pylist() == [
        0.5,
        0.0,
    ]


def test_it_is_part_of_the_spec_and_of_the_signature():
    changed = exact_match.using(extract="json:a.b", missing="wrong")
    assert changed.spec == "exact_match(extract='json:a.b', missing='wrong')"
    assert parse(changed.spec) == changed
    assert changed.signature != exact_match.signature
    assert parse("exact_match(extract=boxed)")(["\\boxed{4}"], ["4"]).to_pylist() == [1.0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("boxes", "did you mean 'boxed'"),
        ("json", "json:path is expected"),
        ("boxed:x", "boxed alone is expected"),
        ("regex:(", "is not an RE2 pattern"),
        ("regex:(?=x)", "is not an RE2 pattern"),
        (3, "str is expected"),
    ],
)
def test_an_unknown_extract_is_an_error_before_any_row_is_read(how, message):
    with pytest.raises(SpecError, match=f"extract=.*{message}"):
        exact_match.using(extract=how)


def test_only_metrics_of_a_text_prediction_extract():
    @metric(source="here", register=False)
    def plain(reference: Text) -> Score:
        """One."""
        return [1.0] * len(reference)

    assert "extract" not in plain.settings
    assert "extract" in matches_regex.settings
    with pytest.raises(SpecError, match="has no setting 'extract'"):
        plain.using(extract="auto")


def test_a_metric_may_not_take_the_name():
    with pytest.raises(SpecError, match="a name of its own"):

        @metric(source="here", register=False)
        def taken(prediction: Text, *, extract: str = "x") -> Score:
            """Taken."""


def test_a_json_reply_is_extracted_in_front_of_any_metric():
    replies = [json.dumps({"reasoning": "long", "answer": answer}) for answer in ("Paris", "Rome")]
    assert token_f1(replies, [["paris"], ["Lyon"]], extract="json:answer").to_pylist() == [1.0, 0.0]
