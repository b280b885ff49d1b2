"""The errors that karat raises.

Every message says where the problem is (file, row, column), what was expected, what was found and, for a wrong name,
the nearest right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_FEW = 8  # names listed of many
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
_LONG, _LONGER = 5, 9  # letters of names that may have one mistake, and two


class KaratError(Exception):
    """The root of all errors karat raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the arguments of the constructor, which is not called again."""
        return _restore, (type(self), self.args), self.__dict__


class SpecError(KaratError, ValueError):
    """A metric, setting or normaliser that does not exist or does not parse."""


class DataError(KaratError, ValueError):
    """Input that cannot be scored as it stands."""


class ColumnError(DataError):
    """A column that is missing, ambiguous or of the wrong type."""


class RowError(DataError):
    """A row that cannot be read, or columns of unequal length."""


class JoinError(DataError):
    """Ids that are missing, null or not unique."""


class MissingExtra(KaratError, ImportError):
    """An optional dependency that is not installed.

    >>> print(MissingExtra("pandas", extra="pandas", need="Result.to_pandas"))
    Result.to_pandas needs pandas: pip install 'karat[pandas]'
    """

    def __init__(self, package: str, *, extra: str, need: str) -> None:
        super().__init__(f"{need} needs {package}: pip install 'karat[{extra}]'")


def _restore(kind: type[KaratError], args: tuple[Any, ...]) -> KaratError:
    return kind.__new__(kind, *args)


def spell_error(error: Exception) -> str:
    """What an error of Python's own says, in words for who wrote the data, and not for who wrote the program.

    >>> spell_error(RecursionError("maximum recursion depth exceeded")), spell_error(KeyError("id"))
    ('lists or objects are nested too deeply', "KeyError('id')")
    """
    if isinstance(error, RecursionError):
        return "lists or objects are nested too deeply"
    if "set_int_max_str_digits" in str(error):
        return "a whole number of more than 4,300 digits, which has to be a text"
    return repr(error) if isinstance(error, (AttributeError, LookupError, TypeError)) else str(error) or repr(error)


def did_you_mean(wrong: str, right: Iterable[str], *, total: int | None = None) -> str:
    """The tail of an error message for a wrong name: the nearest right one, else all of them.

    `total`: how many right names there are, where `right` has only some of them; then a few are listed.

    >>> did_you_mean("normalise", ["normalize", "empty"])
    "; did you mean 'normalize'?"
    >>> did_you_mean("zzz", ["normalize", "empty"])
    '; there are: empty, normalize'
    >>> did_you_mean("zzz", [])
    ''
    >>> did_you_mean("zzz", ["q1", "q2"], total=2000)
    '; there are: q1, q2 … and 1,998 more'
    """
    names = sorted(set(right))
    if nearest := nearest_name(wrong, names):
        return f"; did you mean {nearest!r}?"
    shown = names if total is None else names[:_FEW]
    more = len(shown) if total is None else total
    rest = f" … and {more - len(shown):,} more" if more > len(shown) else ""
    return f"; there are: {', '.join(shown)}{rest}" if shown else ""


def nearest_name(wrong: str, right: Iterable[str]) -> str | None:
    """The right name that is most similar to a wrong one; None if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415  (only errors need it)

    folded = {name.casefold(): name for name in sorted(right)}
    nearest = get_close_matches(wrong.casefold(), folded, n=1)
    return folded[nearest[0]] if nearest else None


def name_words(name: str) -> list[str]:
    """The words of a name in any spelling, in lower case.

    >>> name_words("BinaryF1Score"), name_words("RetrievalMAP"), name_words("is-valid-json")
    (['binary', 'f1', 'score'], ['retrieval', 'map'], ['is', 'valid', 'json'])
    """
    return [word.lower() for word in _WORDS.findall(name)]


def is_misspelt(wrong: str, right: str) -> bool:
    """Whether a name is another one with a typing error: in long names a letter or two, in short ones their order.

    >>> is_misspelt("tokenf1", "token_f1"), is_misspelt("exact_mtach", "exact_match"), is_misspelt("belu", "bleu")
    (True, True, True)
    >>> is_misspelt("mae", "map"), is_misspelt("gleu", "bleu"), is_misspelt("cider", "cer")
    (False, False, False)
    """
    typed, known = ("".join(name_words(name)) for name in (wrong, right))
    shorter, longer = sorted((len(typed), len(known)))
    if longer - shorter > 1 + (shorter >= _LONGER):
        return False
    if shorter < _LONG - 1 or longer < _LONG:
        doubled = re.sub(r"(.)\1", r"\1", typed)
        return known in (typed, doubled) or (sorted(typed) == sorted(known) and _edits(typed, known) == 1)
    return _edits(typed, known) <= 1 + (shorter >= _LONGER)


def _edits(first: str, second: str) -> int:
    """The letters to insert, delete, replace or swap with the next one, to make one text of the other."""
    before: list[int] = []
    above: list[int] = [*range(len(second) + 1)]
    for i, letter in enumerate(first, 1):
        row: list[int] = [i]
        for j, other in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                row[-1] = min(row[-1], before[j - 2] + 1)
        before, above = above, row
    return above[-1]
