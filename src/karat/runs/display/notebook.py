"""What a notebook shows: tables with their plots, in the colours of the notebook."""

from __future__ import annotations

from collections.abc import Sequence

from karat.runs.display.forest import Forest, forest_table
from karat.runs.display.html import element, show

_STYLE = """
.karat-shown { max-width: 68rem; font-variant-numeric: tabular-nums; }
.karat-shown table { width: 100%; border-collapse: collapse; margin: 0.5em 0; }
.karat-shown :is(th, td) { padding: 0.25em 0.75em 0.25em 0; text-align: left; background: none; }
.karat-shown :is(thead th, tbody tr) { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.karat-shown caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.karat-shown .num { text-align: right; white-space: nowrap; }
.karat-shown tbody th { overflow-wrap: break-word; min-width: 9em; }
.karat-shown .part th { font-weight: normal; padding-left: 1em; }
.karat-shown .strip { width: 40%; min-width: 11em; padding-top: 0; padding-bottom: 0; }
.karat-shown .plot { display: block; overflow: visible; }
.karat-shown .reach { stroke-dasharray: 2 3; }
.karat-shown .verdict { white-space: nowrap; }
.karat-shown .verdict::before { content: "○ "; }
.karat-shown .verdict.better::before { content: "▲ "; }
.karat-shown .verdict.worse::before { content: "▼ "; }
"""


def show_forests(heading: str, forests: Sequence[Forest], notes: Sequence[str]) -> str:
    """A heading, the plots and the notes, as markup that needs no other style sheet."""
    tables = (forest_table(forest, heading) for forest in forests)
    lines = (element("p", None, show(note)) for note in notes)
    title = element("p", None, element("strong", None, show(heading)))
    return element("div", {"class": "karat-shown"}, element("style", None, _STYLE), title, *tables, *lines)
