"""What models write for JSON: texts in other quotes, keys without quotes, comments, a last comma, Python's words.

Every pattern here reads a text once, from its start to its end, whatever it holds.
"""

from __future__ import annotations

import re

_TEXTS = [('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’")]
_TEXT = "|".join(rf"{a}(?:\\.|[^\\{b}])*+(?:{b}|\Z)" for a, b in _TEXTS)
_COMMENT = r"//[^\n]*+|/\*.*?(?:\*/|\Z)"
_TOKEN = re.compile(
    rf"(?P<text>{_TEXT})|(?P<comment>{_COMMENT})|(?P<comma>,)(?=(?:\s|{_COMMENT})*+[\]}}])"
    rf"|(?<!\w)(?P<word>True|False|None)(?!\w|\s*:)|(?<!\w)(?P<key>[^\W\d]\w*+)(?=\s*:)|(?P<bracket>[{{}}])",
    re.DOTALL,
)
_CHARACTER = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\.|.', re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_PLAIN = {"\\'": "'", "\\\n": "", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def to_json(text: str) -> str:
    r"""The same value as JSON. A text without such things stays as it is; other text stays text.

    >>> print(to_json("{label: 'it\\'s', n: [1, None,], /* why */}"))
    {"label": "it's", "n": [1, null ]  }
    """
    return _TOKEN.sub(_convert, text)


def object_end(text: str, start: int) -> int | None:
    """Where the object ends that begins with the brace at `start`; None where it is not closed."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token["bracket"]:
            depth += 1 if token["bracket"] == "{" else -1
            if not depth:
                return token.end()
    return None


def _convert(token: re.Match[str]) -> str:
    if token["text"]:
        inner = token["text"][1:-1] if len(token["text"]) > 1 else ""
        return f'"{_CHARACTER.sub(_escape, inner)}"'
    if token["key"]:
        return f'"{token["key"]}"'
    return _WORDS.get(token["word"], token["bracket"] or " ")


def _escape(character: re.Match[str]) -> str:
    r"""A character of a text as JSON has it; a backslash that begins no escape sequence, as in `\(`, is itself."""
    escaped = character[0]
    return _PLAIN.get(escaped) or (f"\\{escaped}" if len(escaped) == 2 and escaped[1] not in '"\\/bfnrt' else escaped)
