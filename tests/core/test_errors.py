import pytest

from karat.core.errors import (
    ColumnError,
    DataError,
    JoinError,
    KaratError,
    MissingExtra,
    RowError,
    SpecError,
    did_you_mean,
)


@pytest.mark.parametrize("error", [SpecError, DataError, ColumnError, RowError, JoinError])
def test_every_error_is_karats_and_a_value_error(error):
    assert issubclass(error, KaratError)
    assert issubclass(error, ValueError)


def test_a_missing_extra_is_an_import_error_that_says_what_to_install():
    error = MissingExtra("sympy", extra="math", need="math_match")
    assert isinstance(error, ImportError)
    assert "pip install 'karat[math]'" in str(error)


def test_all_right_names_are_listed_and_of_some_the_number_that_is_not():
    names = [f"q{n:03}" for n in range(40)]
    assert did_you_mean("zzz", reversed(names)) == f"; there are: {', '.join(names)}"
    some = did_you_mean("zzz", names, total=1000)
    shown = some.removeprefix("; there are: ").partition(" … ")[0].split(", ")
    assert 1 <= len(shown) < 40
    assert some == f"; there are: {', '.join(names[: len(shown)])} … and {1000 - len(shown)} more"
    assert did_you_mean("zzz", ["a", "b"], total=2) == "; there are: a, b"
