import pytest

from karat.core.errors import ColumnError, DataError, JoinError, KaratError, MissingExtra, RowError, SpecError


@pytest.mark.parametrize("error", [SpecError, DataError, ColumnError, RowError, JoinError])
def test_every_error_is_karats_and_a_value_error(error):
    assert issubclass(error, KaratError)
    assert issubclass(error, ValueError)


def test_a_missing_extra_is_an_import_error_that_says_what_to_install():
    error = MissingExtra("sympy", extra="math", need="math_match")
    assert isinstance(error, ImportError)
    assert "pip install 'karat[math]'" in str(error)
