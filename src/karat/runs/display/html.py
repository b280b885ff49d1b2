"""Markup from texts that nobody has checked: what is not seen is shown, and nothing is taken for markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

UNSEEN = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff"
"""Characters that change what a reader sees and are not seen: controls, the direction of text, half characters."""
_UNSEEN = re.compile(f"[{UNSEEN}]")


def show(text: str) -> str:
    r"""A text as the content of an element; characters that are not seen are shown by their number.

    >>> show("a <b> \u202ec")
    'a &lt;b&gt; <span class="control">U+202E</span>c'
    """
    return _UNSEEN.sub(lambda found: f'<span class="control">U+{ord(found[0]):04X}</span>', escape(text))


def plain(text: str) -> str:
    """A text where no element may stand, as in a title or an attribute; characters that are not seen become U+FFFD."""
    return _UNSEEN.sub("\ufffd", escape(text))


def element(tag: str, attributes: Mapping[str, object] | None = None, *content: str) -> str:
    """An element; its content is markup. An attribute that is None or False is left out, one that is True has no value.

    >>> element("td", {"class": "num", "hidden": True, "id": None}, show("<1"))
    '<td class="num" hidden>&lt;1</td>'
    """
    written = [tag]
    for name, value in (attributes or {}).items():
        if value is not None and value is not False:
            written.append(name if value is True else f'{name}="{plain(str(value))}"')
    return f"<{' '.join(written)}>{''.join(content)}</{tag}>"
