"""Phoenix's names of errors that its users catch."""

from __future__ import annotations

from karat.core.errors import SpecError


class PhoenixException(SpecError):
    """The base class of these errors."""


class PhoenixTemplateMappingError(PhoenixException):
    """A prompt of a Phoenix server cannot be a `PromptTemplate`."""
