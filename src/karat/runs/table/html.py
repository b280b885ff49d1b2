"""HTML from untrusted texts: markup is escaped, and invisible characters are shown."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from karat.text.hidden import HIDDEN

_SHAPES = {"line", "path", "rect", "circle"}  # of SVG, which hold nothing


def show(text: str) -> str:
    r"""A text as the content of an element; characters that are not seen are shown by their number.

    >>> show("a <b> \u202ec")
    'a &lt;b&gt; <span class="control">U+202E</span>c'
    """
    whole = escape(text.replace("\r\n", "\n"))
    return HIDDEN.sub(lambda match: f'<span class="control">U+{ord(match[0]):04X}</span>', whole)


def plain(text: str) -> str:
    """A text where no element may stand, as in a title or an attribute; characters that are not seen become U+FFFD."""
    return HIDDEN.sub("\ufffd", escape(text))


def element(tag: str, attributes: Mapping[str, object] | None = None, *content: str) -> str:
    """An element; its content is markup. An attribute that is None or False is left out, one that is True has no value.

    >>> element("td", {"class": "num", "hidden": True, "id": None}, show("<1"))
    '<td class="num" hidden>&lt;1</td>'
    """
    written = [tag]
    for name, value in (attributes or {}).items():
        if value is not None and value is not False:
            written.append(name if value is True else f'{name}="{plain(str(value))}"')
    if tag in _SHAPES:
        return f"<{' '.join(written)}/>"
    return f"<{' '.join(written)}>{''.join(content)}</{tag}>"
