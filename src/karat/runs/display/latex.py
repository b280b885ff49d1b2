r"""Tables in LaTeX, for papers: a `tabular` with the rules of `booktabs`, and notes below it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from karat.runs.display.forest import Forest, Line
from karat.text.hidden import HIDDEN

_SPELLED = {
    **{mark: f"\\{mark}" for mark in "{}$&#_%"},
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "−": "$-$", "±": r"$\pm$", "·": r"$\cdot$", "↳": r"$\hookrightarrow$", "–": "--",
    "…": r"\dots{}", "≤": r"$\leq$", "†": r"$^\dagger$", "\n": " ",
}  # fmt: skip
_SPECIAL = re.compile(f"[{re.escape(''.join(_SPELLED))}]|-(?=-)")
_DAGGER = r"\rlap{$^\dagger$}"  # takes no room, so that figures stay aligned


def escape_latex(text: str) -> str:
    r"""A text as text: no command, no mathematics, no ligature of marks.

    >>> print(escape_latex("f1_score(k='5%') {x} −1"))
    f1\_score(k=\textquotesingle{}5\%\textquotesingle{}) \{x\} $-$1
    """
    shown = HIDDEN.sub(lambda found: f"U+{ord(found[0]):04X}", text)
    return _SPECIAL.sub(lambda found: _SPELLED.get(found[0], "-{}"), shown)


def latex_table(table: Forest, notes: Sequence[str], *, plus_minus: bool = False) -> Iterator[str]:
    r"""The lines of a table; with `plus_minus` ± half the width of an interval takes the place of its ends.

    What a test supports is bold, a value of which no difference could be shown has a dagger.

    >>> from karat.runs.display.forest import Forest, Line
    >>> line = Line("f1", 0.5, 0.4, 0.6, ("0.50", "0.40 to 0.60"), half="0.10")
    >>> table = Forest(("metric", "", "value", "95 % interval"), (line,))
    >>> print("\n".join(latex_table(table, [], plus_minus=True)))
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    metric & value $\pm$ half the 95 \% interval \\
    \midrule
    f1 & 0.50 $\pm$ 0.10 \\
    \bottomrule
    \end{tabular}
    """
    at, names = table.estimate, [escape_latex(name) for name in (table.headings[0], *table.headings[2:])]
    if plus_minus:
        names[at + 1 : at + 3] = [rf"{names[at + 1]} $\pm$ half the {names[at + 2]}"]
    yield r"% needs \usepackage{booktabs}"
    yield rf"\begin{{tabular}}{{l{'r' * (len(names) - 1)}}}"
    yield r"\toprule"
    yield rf"{' & '.join(names)} \\"
    yield r"\midrule"
    for line in table.lines:
        label = (r"\quad " if line.part else "") + escape_latex(line.label)
        yield rf"{' & '.join([label, *_cells(line, at, plus_minus=plus_minus)])} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    if notes:
        yield rf"\par\smallskip{{\footnotesize {' '.join(map(escape_latex, notes))}\par}}"


def _cells(line: Line, at: int, *, plus_minus: bool) -> list[str]:
    cells = [escape_latex(cell) for cell in line.cells]
    if line.strong is not None:
        cells[line.strong] = rf"\textbf{{{cells[line.strong]}}}"
    if plus_minus and cells:
        half = rf" $\pm$ {escape_latex(line.half)}" if line.half else ""
        cells[at : at + 2] = [cells[at] + half]
    if line.kind == "unclear":
        cells[at] += _DAGGER
    return cells
