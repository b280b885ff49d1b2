r"""Tables in LaTeX, for papers: a `tabular` with the rules of `booktabs`, and notes below it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from karat.core.errors import SpecError
from karat.runs.table.table import Style, Table
from karat.text.hidden import HIDDEN

_SPELLED = {
    **{mark: f"\\{mark}" for mark in "{}$&#_%"},
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "−": "$-$", "±": r"$\pm$", "·": r"$\cdot$", "↳": r"$\hookrightarrow$", "–": "--",
    "…": r"\dots{}", "≤": r"$\leq$", "†": r"$^\dagger$", "\n": " ",
}  # fmt: skip
_SPECIAL = re.compile(f"[{re.escape(''.join(_SPELLED))}]|-(?=-)")


def escape_latex(text: str) -> str:
    r"""A text as text: no command, no mathematics, no ligature of marks.

    >>> print(escape_latex("f1_score(k='5%') {x} −1"))
    f1\_score(k=\textquotesingle{}5\%\textquotesingle{}) \{x\} $-$1
    """
    shown = HIDDEN.sub(lambda match: f"U+{ord(match[0]):04X}", text)
    return _SPECIAL.sub(lambda match: _SPELLED.get(match[0], "-{}"), shown)


def latex_table(table: Table, *, plus_minus: bool = False) -> Iterator[str]:
    r"""The lines of a table; with `plus_minus` ± half the width of an interval takes the place of its ends.

    What a test supports is bold, a value of which no difference could be shown has a dagger. A table with a label is a
    float with a caption.

    >>> from karat.runs.table.table import Cell, Column, Row
    >>> columns = Column("metric", name=True), Column("value", "95 % interval")
    >>> table = Table(columns, (Row(("f1", Cell("0.50", "0.40 to 0.60", "0.10"))),))
    >>> print("\n".join(latex_table(table, plus_minus=True)))
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    metric & value $\pm$ half the 95 \% interval \\
    \midrule
    f1 & 0.50 $\pm$ 0.10 \\
    \bottomrule
    \end{tabular}
    """
    style = Style(escape_latex, r"\textbf{{{}}}".format, _raise, plus_minus)
    names = table.headings(style)
    yield r"% needs \usepackage{booktabs}"
    if table.label:
        yield from (r"\begin{table}", r"\centering")
        yield rf"\caption{{{escape_latex(table.caption)}}}"
        yield rf"\label{{{check_label(table.label)}}}"
    yield rf"\begin{{tabular}}{{{'l' * table.names}{'r' * (len(names) - table.names)}}}"
    yield r"\toprule"
    yield rf"{' & '.join(names)} \\"
    yield r"\midrule"
    for row, cells in zip(table.rows, table.texts(style), strict=True):
        indent = r"\quad " if row.part else ""
        yield rf"{indent}{' & '.join(cells)} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    if table.notes:
        yield rf"\par\smallskip{{\footnotesize {' '.join(map(escape_latex, table.notes))}\par}}"
    if table.label:
        yield r"\end{table}"


def _raise(mark: str) -> str:
    """A raised mark; the mark of a difference that could not be shown takes no room, so that figures stay aligned."""
    return rf"\rlap{{{mark}}}" if "dagger" in mark else rf"\textsuperscript{{{mark}}}"


def check_label(label: str) -> str:
    r"""The label of a table; `SpecError` where `\ref` could not name it.

    >>> check_label("tab:main")
    'tab:main'
    """
    if not re.fullmatch(r"[A-Za-z0-9:._/-]+", label):
        raise SpecError(f"label {label!r}: expected letters, digits and : . _ / - as in tab:results")
    return label
