"""`PromptTemplate`: the messages of a prompt, with placeholders; and prompts that a Phoenix server keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from textwrap import dedent
from typing import Any, TypeAlias

from karat.adapters.phoenix.exceptions import PhoenixTemplateMappingError
from karat.adapters.phoenix.llm.template import Part, TemplateFormat, parse, placeholders, render
from karat.core.errors import SpecError
from karat.models.request import ChatMessage

PromptLike: TypeAlias = str | Sequence[Mapping[str, Any]]
Message: TypeAlias = dict[str, Any]
"""`role`, a `MessageRole`, and `content`: a text, or a list of parts `{"type": "text", "text": …}`."""


class MessageRole(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    AI = "assistant"
    SYSTEM = "system"


_ROLES = {role.value: role for role in MessageRole}
_ROLES |= {"human": MessageRole.USER, "ai": MessageRole.AI, "model": MessageRole.AI, "developer": MessageRole.SYSTEM}


class PromptTemplate:
    r"""A prompt: one text (the user's message), or messages of `role` and `content` (a text, or a list of text parts).

    `template_format`: mustache or f-string; by default each text is in the format that its placeholders have. The
    `template` may also be another `PromptTemplate`, in whose format it then is.

    Raises `SpecError`, a `ValueError`, for a template that is empty or does not parse; `TypeError` for a value
    that is neither text nor a list of messages.

    >>> template = PromptTemplate("Is {{answer}} right?{{#facts}}\n- {{text}}{{/facts}}")
    >>> template.variables, template.variable_types
    (['answer', 'facts'], {'answer': 'string', 'facts': 'section'})
    >>> template.render({"answer": 4, "facts": [{"text": "{{answer}}"}, {"text": "<b>"}]})[0]["content"]
    'Is 4 right?\n- {{answer}}\n- <b>'
    >>> PromptTemplate("Is {answer} right?").render({"answer": ["a", 1]})
    [{'role': <MessageRole.USER: 'user'>, 'content': 'Is ["a", 1] right?'}]
    """

    def __init__(self, template: Any, template_format: Any = None) -> None:
        if hasattr(template, "template"):  # a PromptTemplate, or a template of Phoenix's own
            template_format = template_format or getattr(template, "template_format", None)
            template = template.template
        if not isinstance(template, str | Sequence):
            raise TypeError(f"Template must be str or list of messages, got {template!r:.60}")
        if not template:
            raise SpecError("Template cannot be empty")
        self.template_format = None if template_format is None else TemplateFormat(template_format)
        self._template: Any = template
        messages = [{"role": "user", "content": template}] if isinstance(template, str) else template
        self._messages = [_message(message, number, self.template_format) for number, message in enumerate(messages)]
        self.fields: dict[str, bool] = {}
        """The names that it needs; True if the value is inserted as text, False if it may be anything."""
        inner: dict[str, None] = {}
        for part, within in (each for _, content in self._messages for text in content for each in placeholders(text)):
            if part.path and within:
                inner[part.field] = None
            elif part.path:
                self.fields[part.field] = part.is_text and self.fields.get(part.field, True)
        self.inner = tuple(name for name in inner if name not in self.fields)
        """Names that occur in sections alone: keys of the items, else of the record."""

    @property
    def template(self) -> Any:
        """The text or the messages, as they were given."""
        return self._template

    @property
    def variables(self) -> list[str]:
        """The names of the fields that it needs."""
        return list(self.fields)

    @property
    def variable_types(self) -> dict[str, str]:
        """For each field `string`, or `section` if its value may be anything."""
        return {name: "string" if is_text else "section" for name, is_text in self.fields.items()}

    def render(self, variables: Mapping[str, Any]) -> list[Message]:
        """The messages with the values inserted; `ColumnError` for a missing value.

        Inside a section a missing value is an empty text, because items may have different keys.
        """
        if not isinstance(variables, Mapping):
            raise TypeError(f"Variables must be a dictionary, got {type(variables).__name__}")
        rendered: list[Message] = []
        for (role, texts), is_list in zip(self._messages, self._lists(), strict=True):
            contents = [render(parts, variables) for parts in texts]
            parts = [{"type": "text", "text": text} for text in contents]
            rendered.append({"role": role, "content": parts if is_list else contents[0]})
        return rendered

    def _lists(self) -> list[bool]:
        """For each message, whether its content is a list of parts."""
        template = self._template
        return [False] if isinstance(template, str) else [not isinstance(each["content"], str) for each in template]


def _message(message: Any, number: int, form: TemplateFormat | None) -> tuple[MessageRole, list[list[Part]]]:
    if not isinstance(message, Mapping):
        raise TypeError(f"Message {number} must be a dict, got {message!r:.60}")
    for key in ("role", "content"):
        if key not in message:
            raise SpecError(f"Message {number} must have a '{key}' field")
    role, content = message["role"], message["content"]
    if not isinstance(content, str | Sequence):
        raise TypeError(f"Message {number}: the content must be str or list, got {content!r:.60}")
    texts = [content] if isinstance(content, str) else [_text(part, number) for part in content]
    if not "".join(texts).strip():
        raise SpecError(f"Template cannot be empty: message {number} is")
    return normalize_role(role), [parse(dedent(text), form) for text in texts]


def normalize_role(role: Any) -> MessageRole:
    """The role that a name stands for, in any case; `SpecError` for an unknown one.

    >>> normalize_role("Human")
    <MessageRole.USER: 'user'>
    """
    if not isinstance(role, str):
        raise SpecError(f"a role must be a string or MessageRole, got {role!r:.60}")
    name = role.strip().lower()
    if name not in _ROLES:
        raise SpecError(f"Unknown message role: {role!r}. The roles are {', '.join(sorted(_ROLES))}")
    return _ROLES[name]


def _text(part: Any, number: int) -> str:
    if isinstance(part, Mapping) and part.get("type", "text") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    raise SpecError(f"Message {number}: Unsupported content: Only 'text' is supported as a part, got {part!r:.60}")


def to_plain(prompt: PromptLike) -> list[ChatMessage]:
    """A text or messages as messages whose roles and contents are text, as models take them."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    plain: list[ChatMessage] = []
    for number, message in enumerate(messages):
        content = message["content"]
        text = content if isinstance(content, str) else "\n".join(_text(part, number) for part in content)
        plain.append({"role": normalize_role(message["role"]).value, "content": text})
    return plain


def phoenix_prompt_to_prompt_template(prompt_version: Any) -> PromptTemplate:
    """The template of a prompt that a Phoenix server keeps: `Client().prompts.get(…)`, or its data as a dict.

    Raises `PhoenixTemplateMappingError`, a `ValueError`, for a prompt that no `PromptTemplate` can be, as one with
    images or tools; `TypeError` for anything that is not a prompt.

    >>> template = {"type": "string", "template": "Rate {{answer}}."}
    >>> phoenix_prompt_to_prompt_template({"template_format": "MUSTACHE", "template": template}).variables
    ['answer']
    """
    dump = getattr(prompt_version, "_dumps", None)
    data = dump() if callable(dump) else prompt_version
    if not isinstance(data, Mapping):
        raise TypeError(f"prompt_version: a prompt of Phoenix's client or its data is expected, got {data!r:.60}")
    form, template = data.get("template_format"), data.get("template")
    if form not in (None, "NONE", *TemplateFormat.__members__):
        raise PhoenixTemplateMappingError(f"Unsupported prompt template format: {form!r}")
    kind = template.get("type") if isinstance(template, Mapping) else None
    key, declared, expected = _KINDS.get(kind, ("", "", object))
    if not isinstance(template, Mapping) or not key or data.get("template_type") not in (None, declared):
        described = f"type {kind!r} and template_type {data.get('template_type')!r}"
        raise PhoenixTemplateMappingError(
            f"a template of type string (STR) or chat (CHAT) is expected, got {described}"
        )
    content: Any = template.get(key)
    if not isinstance(content, expected) or (kind == "chat" and isinstance(content, str)):
        raise PhoenixTemplateMappingError(f"a {kind} template's {expected.__name__.lower()} '{key}' field is expected")
    try:
        if not isinstance(content, str):
            content = [_version_message(message, number) for number, message in enumerate(content)]
        return PromptTemplate(content, TemplateFormat.__members__.get(str(form)))
    except (SpecError, TypeError) as error:
        raise PhoenixTemplateMappingError(str(error)) from error


_KINDS: dict[Any, tuple[str, str, Any]] = {
    "string": ("template", "STR", str),
    "chat": ("messages", "CHAT", Sequence),
}


def _version_message(message: Any, number: int) -> Message:
    if not isinstance(message, Mapping) or not isinstance(role := message.get("role"), str):
        raise SpecError(f"Message {number} must be a dict with a role, got {message!r:.60}")
    try:
        return {"role": normalize_role(role).value, "content": message.get("content")}
    except SpecError as error:
        raise SpecError(f"Unsupported message role in message {number}: {error}") from None
