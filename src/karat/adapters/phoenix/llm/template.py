"""Texts with placeholders: mustache (`{{answer}}`, `{{#documents}}…{{/documents}}`) or f-strings (`{answer}`).

A value is inserted as it is: it is not searched for placeholders, and nothing is escaped. Text stays text; anything
else is written as JSON. Mustache's variables, dotted names, sections and comments are supported; partials, lambdas and
other delimiters are not. In an f-string a brace that is text is doubled, and a dotted name is first the name of a
field, as of the columns of spans, then the path to a value.

>>> parts = parse("Is {{answer}} right?{{#facts}} {{text}}{{/facts}}")
>>> render(parts, {"answer": 4, "facts": [{"text": "{{answer}}"}, {"text": "<b>"}]})
'Is 4 right? {{answer}} <b>'
>>> render(parse("{attributes.input.value}"), {"attributes.input.value": "Paris?"})
'Paris?'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import Any, TypeAlias

from karat.adapters.phoenix.schema.text import to_json_text
from karat.core.errors import ColumnError, SpecError, did_you_mean

_NAME = r"(?:\.|[^\W\d]\w*(?:[ .-]\w+)*)"
_ANY = r"[^{}#^/&>!\s][^{}]*?"
_PATTERN = r"\{\{\{\s*(%s)\s*\}\}\}|\{\{\s*([#^/&>]?)\s*(%s)\s*\}\}|\{\{!.*?\}\}"
_TAG, _ANY_TAG = (re.compile(_PATTERN % (name, name), re.DOTALL) for name in (_NAME, _ANY))
_ALONE = re.compile(rf"^[ \t]*(\{{\{{\s*(?:[#^/]\s*{_NAME}\s*|!.*?)\}}\}})[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"(?<!\{)(?:\{\{)*\{(?!(?:True|False|None)\})[^\W\d]\w*(?:[ .\[!:-][^{}]*)?\}")

Part: TypeAlias = "str | Placeholder | Section"


class TemplateFormat(StrEnum):
    """How placeholders are written: `{{name}}` or `{name}`."""

    MUSTACHE = "mustache"
    F_STRING = "f-string"


@dataclass(frozen=True)
class Placeholder:
    """A placeholder; its `path` is empty if it means the item of the section itself.

    `field`: the name that it reads of a record. `is_text`: whether that value is inserted whole.
    """

    path: tuple[str, ...]
    field: str
    is_text: bool
    form: str = ""
    conversion: str | None = None

    def render(self, value: Any) -> str:
        if self.conversion:
            value = Formatter().convert_field(value, self.conversion)
        return format(value if self.form and isinstance(value, int | float) else to_text(value), self.form)


@dataclass(frozen=True)
class Section:
    """Parts rendered for each item of a list, or if a value is true; if inverted, only if it is false or empty."""

    path: tuple[str, ...]
    inverted: bool
    parts: list[Part] = field(default_factory=list)
    is_text = False

    @property
    def field(self) -> str:
        return self.path[0]


def to_text(value: Any) -> str:
    """A value as text: None as an empty text, text as it is, anything else as JSON, or by `str` if JSON cannot."""
    return "" if value is None else to_json_text(value)


def parse(text: str, template_format: TemplateFormat | None = None) -> list[Part]:
    """The parts of a text in this format, by default in the one that its placeholders have.

    Raises `SpecError` for a text that is not in that format.
    """
    if template_format is None and not _TAG.search(text) and _FIELD.search(text):
        template_format = TemplateFormat.F_STRING
    if template_format is TemplateFormat.F_STRING:
        return _f_string(text)
    return _mustache(_ALONE.sub(r"\1", text), _ANY_TAG if template_format else _TAG)


def render(parts: Sequence[Part], values: Mapping[str, Any]) -> str:
    """The text with the values inserted; `ColumnError` for a missing value.

    Inside a section a missing value is an empty text, because items may have different keys.
    """
    return "".join(_render(parts, (values,)))


def _mustache(text: str, pattern: re.Pattern[str]) -> list[Part]:
    whole = Section((), inverted=False)
    open_sections, end = [whole], 0
    for tag in pattern.finditer(text):
        parts = open_sections[-1].parts
        parts.append(text[end : tag.start()])
        end, sigil, name = tag.end(), tag[2] or "", tag[1] or tag[3] or ""
        path = tuple(filter(None, name.split(".")))
        if sigil in ("#", "^"):
            section = Section(path, inverted=sigil == "^")
            parts.append(section)
            open_sections.append(section)
        elif sigil == "/":
            if open_sections[-1].path != path or len(open_sections) == 1:
                raise SpecError(f"template: {tag[0]} does not close the section that is open")
            open_sections.pop()
        elif sigil == ">":
            raise SpecError(f"template: {tag[0]}: partials are not supported")
        elif name:
            parts.append(Placeholder(path, (path or ("",))[0], is_text=len(path) == 1))
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
            whole, *_ = name.partition("[")
            path = tuple(re.findall(r"[^.\[\]]+", name))
            if not re.fullmatch(r"\w[\w .-]*", whole) or "{" in (form or ""):
                raise SpecError(f"template: {{{name}}}: a name is expected (write a brace that is text twice)")
            parts.append(Placeholder(path, whole, whole == name, form or "", conversion))
    return parts


def placeholders(parts: Sequence[Part], *, within: bool = False) -> Iterator[tuple[Placeholder | Section, bool]]:
    """Each placeholder and section, and whether it is inside a section."""
    for part in parts:
        if not isinstance(part, str):
            yield part, within
        if isinstance(part, Section):
            yield from placeholders(part.parts, within=True)


def _render(parts: Sequence[Part], scopes: tuple[Any, ...]) -> Iterator[str]:
    """The text of the parts; a name is looked up in the innermost scope that has it."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Placeholder):
            yield part.render(_look_up(part, scopes))
        else:
            value = _look_up(part, scopes)
            value = value.tolist() if hasattr(value, "tolist") else value
            if part.inverted:
                items = [] if value else [scopes[-1]]
            else:
                items = list(value) if isinstance(value, list | tuple) else [value] if value else []
            for item in items:
                yield from _render(part.parts, (*scopes, item))


def _look_up(part: Placeholder | Section, scopes: tuple[Any, ...]) -> Any:
    if not part.path:
        return scopes[-1]
    if part.field in scopes[0] and part.field != part.path[0]:  # a column of a dotted name
        value, path = scopes[0][part.field], part.path[part.field.count(".") + 1 :]
    else:
        holders = (scope for scope in reversed(scopes) if isinstance(scope, Mapping) and part.path[0] in scope)
        value, path = next(holders, {}), part.path
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, Sequence) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif not isinstance(value, Mapping) and not name.startswith("_") and hasattr(value, name):
            value = getattr(value, name)
        elif len(scopes) > 1:
            return None
        else:
            keys = map(str, value) if isinstance(value, Mapping) else ()
            raise ColumnError(f"template: {'.'.join(part.path)}: there is no {name!r}{did_you_mean(name, keys)}")
    return value
