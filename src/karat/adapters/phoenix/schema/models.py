"""pydantic's model classes as schemas, and schemas as pydantic's model classes; karat works without pydantic too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from karat.adapters.phoenix.schema.schema import InputSchema, Schema
from karat.core.errors import DataError


@dataclass(frozen=True)
class Pydantic:
    """A pydantic model class as a schema."""

    model: Any

    @property
    def required(self) -> tuple[str, ...]:
        """The fields without a default."""
        return tuple(name for name, each in self.model.model_fields.items() if each.is_required())

    @property
    def optional(self) -> tuple[str, ...]:
        """The fields with a default."""
        return tuple(name for name, each in self.model.model_fields.items() if not each.is_required())

    def validate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as the model validates them."""
        try:
            return dict(self.model.model_validate(dict(values)).model_dump())
        except ValueError as error:
            raise DataError(f"Input validation failed: {error}") from None

    def describe(self) -> dict[str, Any]:
        """The model's own JSON Schema."""
        return dict(self.model.model_json_schema())


def to_schema(schema: Any) -> InputSchema | None:
    """An `input_schema` argument as a schema: from a `Schema`, a pydantic model class, or None."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if hasattr(schema, "model_fields") and hasattr(schema, "model_validate"):
        return Pydantic(schema)
    raise TypeError(f"input_schema: a pydantic model class or a Schema is expected, got {schema!r:.80}")


def to_pydantic(schema: Any, name: str) -> Any:
    """A `Schema` as a pydantic model class; the schema itself if pydantic is not installed or cannot hold its names."""
    if not isinstance(schema, Schema):
        return schema
    fields = {field: (each, schema.defaults.get(field, ...)) for field, each in schema.annotations.items()}
    try:
        return import_module("pydantic").create_model(f"{name.capitalize()}Input", **fields)
    except (ModuleNotFoundError, NameError):
        return schema
