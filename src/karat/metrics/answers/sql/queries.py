"""What matters in the text of a query: whether it orders its rows, and how Spider's script rewrites it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*+'?|\"(?:[^\"]|\"\")*+\"?|`[^`]*`?|\[[^\]]*\]?|\w+|\s+|.", re.DOTALL
)
_SPACED = re.compile(r"([<>!]) =")
_CURRENT_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)


def is_ordered(query: str) -> bool:
    """Whether the query itself, not one inside it, has an `ORDER BY`.

    >>> is_ordered("SELECT a FROM t ORDER BY a"), is_ordered("SELECT a FROM (SELECT * FROM t ORDER BY b LIMIT 3)")
    (True, False)
    """
    depth, before = 0, ""
    for part in _parts(query):
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
        elif part == "by" and before == "order" and depth == 0:
            return True
        before = part
    return False


def _parts(query: str) -> Iterator[str]:
    """The words and marks of a query in lower case, without comments and white space."""
    parts = (part for part in _PART.findall(query) if not part.startswith(("--", "/*")))
    return (part.lower() for part in parts if not part.isspace())


def rewrite(query: str, *, keep_distinct: bool) -> str:
    """The query as Spider's script runs it: without `DISTINCT`, `> =` as `>=`, and the current year as 2020.

    >>> rewrite("SELECT DISTINCT a FROM t WHERE b > = YEAR(CURDATE()) AND c = 'distinct'", keep_distinct=False)
    "SELECT  a FROM t WHERE b >= 2020 AND c = 'distinct'"
    """
    query = _SPACED.sub(r"\1=", query)
    if not keep_distinct:
        query = "".join(part for part in _PART.findall(query) if part.lower() != "distinct")
    return _CURRENT_YEAR.sub("2020 ", query)
