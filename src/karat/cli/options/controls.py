"""Characters that a terminal obeys or hides, shown as text."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def show_controls(text: str) -> str:
    r"""The text with each character that is invisible or moves the cursor as its code point; newlines stay.

    >>> show_controls("\x1b[2J \u202eevil"), show_controls("two\r\nlines")
    ('<U+001B>[2J <U+202E>evil', 'two\nlines')
    """
    return _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n").replace("\t", " "))
