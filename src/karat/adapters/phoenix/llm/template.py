"""Prompts with placeholders: mustache (`{{answer}}`, `{{#documents}}…{{/documents}}`) or f-strings (`{answer}`).

A value is inserted as it is: it is not searched for placeholders, and nothing is escaped. Text stays text; anything
else is written as JSON. Mustache's variables, dotted names, sections and comments are supported; partials, lambdas and
other delimiters are not. A text without any `{{name}}` is an f-string, in which a brace that is text is doubled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from textwrap import dedent
from typing import Any, TypeAlias

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.models.request import Message

_NAME = r"(?:\.|[^\W\d]\w*(?:[ .-]\w+)*)"
_TAG = re.compile(
    rf"\{{\{{\{{\s*({_NAME})\s*\}}\}}\}}|\{{\{{\s*([#^/&>]?)\s*({_NAME})\s*\}}\}}|\{{\{{!.*?\}}\}}", re.DOTALL
)
_ALONE = re.compile(rf"^[ \t]*(\{{\{{\s*(?:[#^/]\s*{_NAME}\s*|!.*?)\}}\}})[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}

Part: TypeAlias = "str | _Placeholder | _Section"


@dataclass(frozen=True)
class _Placeholder:
    """A placeholder; its `path` is empty if it means the item of the section itself."""

    path: tuple[str, ...]
    form: str = ""
    conversion: str | None = None

    def render(self, value: Any) -> str:
        if self.conversion:
            value = Formatter().convert_field(value, self.conversion)
        return format(value if self.form and isinstance(value, int | float) else to_text(value), self.form)


@dataclass(frozen=True)
class _Section:
    """Parts rendered for each item of a list, or if a value is true; if inverted, only if it is false or empty."""

    path: tuple[str, ...]
    inverted: bool
    parts: list[Part] = field(default_factory=list)


class Template:
    r"""A prompt: one text (the user's message), or messages of `role` and `content` (a text, or a list of text parts).

    `fields`: the names it needs; True if the value is inserted as text, False if it may be anything (sections, and the
    first part of dotted names). `inner`: names that occur in sections alone: keys of the items, else of the record.

    Raises `karat.SpecError` for a template that is empty or does not parse.

    >>> template = Template("Is {{answer}} right?{{#facts}}\n- {{text}}{{/facts}}")
    >>> template.fields, template.inner
    ({'answer': True, 'facts': False}, ('text',))
    >>> template.render({"answer": 4, "facts": [{"text": "{{answer}}"}, {"text": "<b>"}]})[0]["content"]
    'Is 4 right?\n- {{answer}}\n- <b>'
    >>> Template("Is {answer} right?").render({"answer": ["a", 1]})
    [{'role': 'user', 'content': 'Is ["a", 1] right?'}]
    """

    def __init__(self, template: Any) -> None:
        template = getattr(template, "template", template)  # a template of Phoenix's
        messages = [{"role": "user", "content": template}] if isinstance(template, str) else template
        if not isinstance(messages, Sequence) or not messages:
            raise SpecError(f"a template is a text, or a list of messages; got {template!r:.60}")
        self._messages = [_message(message) for message in messages]
        self.fields: dict[str, bool] = {}
        inner: dict[str, None] = {}
        for _, parts in self._messages:
            for part, within in _placeholders(parts, within=False):
                if part.path and within:
                    inner[part.path[0]] = None
                elif part.path:
                    is_text = isinstance(part, _Placeholder) and len(part.path) == 1
                    self.fields[part.path[0]] = is_text and self.fields.get(part.path[0], True)
        self.inner = tuple(name for name in inner if name not in self.fields)

    def render(self, values: Mapping[str, Any]) -> list[Message]:
        """The messages with the values inserted; `karat.ColumnError` for a missing value.

        Inside a section a missing value is an empty text, because items may have different keys.
        """
        return [{"role": role, "content": "".join(_render(parts, (values,)))} for role, parts in self._messages]


def to_text(value: Any) -> str:
    """A value as text: text as it is, None as an empty text, anything else as JSON, or by `str` if JSON cannot."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):
        return str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's
        return value.tolist()
    raise TypeError


def _message(message: Any) -> tuple[str, list[Part]]:
    if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
        raise SpecError(f"a message is a dict with role and content; got {message!r:.60}")
    role, content = message["role"], message["content"]
    texts = [content] if isinstance(content, str) else [_text(part) for part in content]
    if not "".join(texts).strip():
        raise SpecError("Template cannot be empty")
    role = str(getattr(role, "value", role))
    return _ROLES.get(role, role), _parse(dedent("\n".join(texts)))


def _text(part: Any) -> str:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    raise SpecError(f"the parts of a message must be text, got {part!r:.60}")


def _parse(text: str) -> list[Part]:
    return _mustache(_ALONE.sub(r"\1", text)) if _TAG.search(text) else _f_string(text)


def _mustache(text: str) -> list[Part]:
    whole = _Section((), inverted=False)
    open_sections, end = [whole], 0
    for tag in _TAG.finditer(text):
        parts = open_sections[-1].parts
        parts.append(text[end : tag.start()])
        end, sigil, name = tag.end(), tag[2] or "", tag[1] or tag[3] or ""
        path = tuple(filter(None, name.split(".")))
        if sigil in ("#", "^"):
            section = _Section(path, inverted=sigil == "^")
            parts.append(section)
            open_sections.append(section)
        elif sigil == "/":
            if open_sections[-1].path != path or len(open_sections) == 1:
                raise SpecError(f"template: {tag[0]} does not close the section that is open")
            open_sections.pop()
        elif sigil == ">":
            raise SpecError(f"template: {tag[0]}: partials are not supported")
        elif name:
            parts.append(_Placeholder(path))
    if len(open_sections) > 1:
        raise SpecError(f"template: the section {'.'.join(open_sections[-1].path)!r} is not closed")
    return [*whole.parts, text[end:]]


def _f_string(text: str) -> list[Part]:
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise SpecError(f"template: {error} (in an f-string, write a brace that is text twice)") from None
    parts: list[Part] = []
    for literal, name, form, conversion in pieces:
        parts.append(literal)
        if name is not None:
            path = tuple(re.findall(r"[^.\[\]]+", name))
            if not path or not path[0].isidentifier() or "{" in (form or ""):
                raise SpecError(f"template: {{{name}}}: a name is expected (write a brace that is text twice)")
            parts.append(_Placeholder(path, form or "", conversion))
    return parts


def _placeholders(parts: list[Part], *, within: bool) -> Iterator[tuple[_Placeholder | _Section, bool]]:
    """Each placeholder and section, and whether it is inside a section."""
    for part in parts:
        if not isinstance(part, str):
            yield part, within
        if isinstance(part, _Section):
            yield from _placeholders(part.parts, within=True)


def _render(parts: list[Part], scopes: tuple[Any, ...]) -> Iterator[str]:
    """The text of the parts; a name is looked up in the innermost scope that has it."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, _Placeholder):
            yield part.render(_look_up(part.path, scopes))
        else:
            value = _look_up(part.path, scopes)
            value = value.tolist() if hasattr(value, "tolist") else value
            if part.inverted:
                items = [] if value else [scopes[-1]]
            else:
                items = list(value) if isinstance(value, list | tuple) else [value] if value else []
            for item in items:
                yield from _render(part.parts, (*scopes, item))


def _look_up(path: tuple[str, ...], scopes: tuple[Any, ...]) -> Any:
    if not path:
        return scopes[-1]
    value = next((scope for scope in reversed(scopes) if isinstance(scope, Mapping) and path[0] in scope), {})
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, Sequence) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif len(scopes) > 1:
            return None
        else:
            keys = map(str, value) if isinstance(value, Mapping) else ()
            raise ColumnError(f"template: {'.'.join(path)}: there is no {name!r}{did_you_mean(name, keys)}")
    return value
