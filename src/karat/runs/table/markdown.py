"""Tables in Markdown, as GitHub and GitLab read it: for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from karat.runs.table.table import WORDS, Style, Table
from karat.text.hidden import HIDDEN

_MARKS = re.compile(r"([\\`*_\[\]~|$!])")
_LINKS = re.compile(r"@|#(?=\d)|:(?=//)|www(?=\.)", re.IGNORECASE)
_START = re.compile(r"^(\s*(?:[#+=-]*|\d+))([#+=.)-])(?=\s|$)")  # of a heading, a list or a line


def escape_markdown(text: str) -> str:
    r"""A text as text: no markup, no mention of a user, no link; line ends and invisible characters are shown.

    >>> print(escape_markdown("<b>*a*</b> | @all #1\n\u202e"))
    &lt;b&gt;\*a\*&lt;/b&gt; \| @&#8203;all #&#8203;1<br>U+202E
    """
    shown = HIDDEN.sub(lambda match: f"U+{ord(match[0]):04X}", text.replace("\r\n", "\n"))
    shown = _START.sub(r"\1\\\2", _MARKS.sub(r"\\\1", escape(shown, quote=False)))
    return _LINKS.sub(r"\g<0>&#8203;", shown).replace("\n", "<br>").replace("\t", " ")


def markdown_table(table: Table) -> Iterator[str]:
    """The lines of a table, with a column of verdicts where there are any; what a test supports is bold."""
    style = Style(escape_markdown, "**{}**".format, "<sup>{}</sup>".format)
    names = [*table.headings(style), *(["verdict"] if table.judged else [])]
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * table.names}{'---:|' * (len(names) - table.names)}"
    for row, cells in zip(table.rows, table.texts(style), strict=True):
        verdict = [WORDS[row.kind]] if table.judged else []
        yield f"| {'&emsp;' if row.part else ''}{' | '.join([*cells, *verdict])} |"


def fold(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that are shown when a reader opens them."""
    yield from ("", "<details>", f"<summary>{escape(summary)}</summary>", "", *lines, "", "</details>")


def fit(lines: Iterable[str], most: int = 10_000) -> Iterator[str]:
    """Lines of together at most so many characters, and how many more there are: a comment has at most 65,536."""
    used = left = 0
    for line in lines:
        used += len(line)
        if used <= most:
            yield line
        else:
            left += 1
    if left:
        yield from ("", f"… and {left:,} more")
