"""One HTML file of it all, with a content security policy that allows its own style and script, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from karat.core.errors import DataError
from karat.data.write import check_folder
from karat.runs.table.html import element, plain, show
from karat.runs.table.notebook import html_table
from karat.runs.table.table import Table
from karat.viewer.report.bundle import bundle
from karat.viewer.report.rows import pack

_SYSTEMS = re.compile(rb'<meta name="karat-systems" content="([^"]*)"')
_HEAD = 1 << 16  # bytes in which the names of the systems stand


def check_page_path(path: Path) -> None:
    """Raise `DataError` for a name that is not a page's, and where no file can be written.

    >>> check_page_path(Path("report.pdf"))
    Traceback (most recent call last):
    ...
    karat.core.errors.DataError: report.pdf: a report is one HTML page: -o report.html (output="report.html"); a \
browser prints it as PDF, and karat compare -o writes tables to .md, .tex, .csv, .json
    """
    if path.suffix.lower() not in {".html", ".htm"}:
        page = path.with_suffix(".html") if path.name else Path("report.html")
        others = "a browser prints it as PDF, and karat compare -o writes tables to .md, .tex, .csv, .json"
        raise DataError(f'{path}: a report is one HTML page: -o {page} (output="{page}"); {others}')
    check_folder(path)


def refuse_replacing(path: Path, systems: Sequence[str]) -> None:
    """Raise `DataError` where a file is there that is not a report on these systems, in this order."""
    if not path.exists():
        return
    with path.open("rb") as file:
        match = _SYSTEMS.search(file.read(_HEAD))
    known: object = None
    with suppress(ValueError):
        known = json.loads(html.unescape(match[1].decode())) if match else None
    if known != list(systems):
        what = f"a report on {' and '.join(map(str, known))}" if isinstance(known, list) else "another page"
        remedy = "name another file (-o), or replace it with --overwrite (overwrite=True)"
        raise DataError(f"{path} is there already, {what}: {remedy}")


@dataclass(frozen=True)
class Head:
    """What is read before anything else, and without JavaScript: findings, each a metric and a sentence, and tables."""

    findings: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    note: str

    def markup(self) -> str:
        """The first finding as a paragraph, the others as a list, and the tables."""
        first, *others = (
            element("strong", None, show(metric)) + f": {show(sentence)}." for metric, sentence in self.findings
        )
        listed = element("ul", {"class": "sentences"}, *(element("li", None, each) for each in others))
        tables = (element("div", {"class": "scroll"}, html_table(each, "Figures")) for each in self.tables)
        rest = "With JavaScript, differences, rows and how everything was measured are here too."
        return (
            element("p", {"class": "standfirst"}, first)
            + (listed if others else "")
            + "".join(tables)
            + element("p", {"class": "note"}, show(self.note))
            + element("noscript", None, element("p", {"class": "note"}, rest))
        )


def make_document(title: str, kicker: str, head: Head, answers: Mapping[str, Any], systems: Sequence[str]) -> str:
    """The page: a title, what is read without JavaScript, and the page's modules with their data."""
    here = files("karat.viewer")
    places = ("style.css", "page/static/page.css", "report/report.css")
    style, script = "".join((here / place).read_text("utf-8") for place in places), bundle()
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    kickers, heading = element("p", {"class": "kicker"}, show(kicker)), element("h1", None, show(title))
    body = element(
        "div",
        {"class": "page"},
        element("header", {"class": "masthead"}, kickers, heading),
        element("p", {"id": "unread", "class": "reason", "role": "alert", "hidden": True}),
        element("main", {"id": "content"}, head.markup()),
        element("p", {"id": "status", "class": "hidden-label", "role": "status"}),
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta name="karat-systems" content="{plain(json.dumps(list(systems)))}">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            element("title", None, plain(title)),
            element("style", None, style),
            body,
            element("script", {"type": "application/json", "id": "data"}, pack(answers)),
            element("script", None, script),
            "</html>\n",
        ]
    )


def _hash(text: str) -> str:
    """The source of a content security policy that allows exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
