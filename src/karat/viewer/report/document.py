"""One HTML file of it all, with a content security policy that allows its own style and script, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from karat.runs.display.html import element, plain, show


def make_document(title: str, kicker: str, head: str, sections: Sequence[str]) -> str:
    """The page: a title, what comes first, and the sections in their order."""
    here = files("karat.viewer")
    style = (here / "style.css").read_text("utf-8") + (here / "report" / "report.css").read_text("utf-8")
    script = (here / "report" / "report.js").read_text("utf-8")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    masthead = element(
        "header",
        {"class": "masthead"},
        element("p", {"class": "kicker"}, show(kicker)),
        element("h1", None, show(title)),
        head,
    )
    body = element("main", {"class": "page"}, masthead, *(each for each in sections if each))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            element("title", None, plain(title)),
            element("style", None, style),
            body,
            element("script", {"type": "module"}, script),
            "</html>\n",
        ]
    )


def _hash(text: str) -> str:
    """The source of a content security policy that allows exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
