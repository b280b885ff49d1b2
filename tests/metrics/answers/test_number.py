"""Numbers in all their spellings, compared exactly."""

from fractions import Fraction

import pyarrow as pa
import pytest

from karat.core.metric.score import score_rows
from karat.errors import SpecError
from karat.metrics import numeric_match
from karat.text.numbers import parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", "1234"),
        ("1 234", "1234"),
        ("1\u202f234,5", "1234.5"),
        ("1'234'567", "1234567"),
        ("1.234,56", "1234.56"),
        ("1.234", "1.234"),
        ("0,111", "0.111"),
        ("−5", "-5"),
        ("-$5.20", "-5.2"),
        ("$-5.20", "-5.2"),
        ("12 €", "12"),
        ("12 km/h.", "12"),
        ("5 m²", "5"),
        ("1 1/2", "1.5"),
        ("2½", "2.5"),
        ("-3/4", "-0.75"),
        (r"\frac{1}{8}", "0.125"),
        ("1e-3", "0.001"),
        ("1.2×10^3", "1200"),
        ("10^{3}", "1000"),
        ("10³", "1000"),
        ("5 million dollars", "5000000"),
        ("0.1", "1/10"),
    ],
)
def test_a_number_is_read_exactly_however_it_is_written(text, value):
    assert parse_number(text).value == Fraction(value)


@pytest.mark.parametrize(
    "text", ["", "Paris", "B2", "AZYUK2A", "km 12", "1,2,3", "3 or 4", "2+2", "1/0", "3-5", "12 out of 40"]
)
def test_what_is_not_one_number_is_none(text):
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("setting", "scores"), [("either", [1.0, 1.0, 1.0]), ("value", [0.0, 1.0, 1.0]), ("ignore", [1.0, 0.0, 1.0])]
)
def test_percent_says_how_percentages_are_compared(setting, scores):
    assert numeric_match(["50%", "50 percent", "50 %"], ["50", "0.5", "50%"], percent=setting).to_pylist() == scores


def test_tolerances_hold_to_the_last_digit():
    assert numeric_match(["1.1", "1.1"], ["1", "1"], absolute=0.1).to_pylist() == [1.0, 1.0]
    assert numeric_match(["1.1000000001"], ["1"], absolute=0.1).to_pylist() == [0.0]
    assert numeric_match(["99", "98.9"], ["100", "100"], relative=0.01).to_pylist() == [1.0, 0.0]
    assert numeric_match(["0.30000000000000004"], ["0.3"]).to_pylist() == [0.0]


def test_no_number_is_wrong_and_no_expected_number_is_unscored():
    rows = score_rows(numeric_match, {"prediction": pa.array(["none", "4"]), "reference": pa.array(["4", "four"])})
    assert rows.statistics[0, 0] == 0.0
    assert "reference is not a number: 'four'" in rows.reasons[1]


def test_numbers_too_large_to_write_out_are_compared():
    given = ["1e999999999", "10e999999998", "1e999999998", "9" * 10**6, "1" + "0" * 10**5, "1e-999999999"]
    expected = ["1e999999999", "1e999999999", "1e999999999", "9" * 10**6, "1e100000", "0"]
    assert numeric_match(given, expected).to_pylist() == [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    assert numeric_match(["1.0001e999999"], ["1e999999"], relative=0.001).to_pylist() == [1.0]


@pytest.mark.parametrize(
    "text", ["1" + " " * 10**6 + "!", "1,234" * 10**5, "1/" * 10**5, "12 " + "a " * 10**5, "-" * 10**6]
)
def test_long_text_that_is_no_number_is_refused(text):
    assert parse_number(text) is None


def test_a_negative_tolerance_is_refused():
    with pytest.raises(SpecError, match="from 0 to"):
        numeric_match.using(relative=-1.0)
