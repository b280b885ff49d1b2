"""Characters that a terminal obeys or hides, shown as text."""

from __future__ import annotations


def show_controls(text: str) -> str:
    r"""The text with each character that is invisible or moves the cursor as its code point; newlines stay.

    >>> show_controls("\x1b[2J \u202eevil"), show_controls("two\r\nlines")
    ('<U+001B>[2J <U+202E>evil', 'two\nlines')
    """
    from karat.text.hidden import HIDDEN  # noqa: PLC0415  (--help of all commands imports this file, and no room)

    return HIDDEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n").replace("\t", " "))
