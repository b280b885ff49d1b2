"""The metric of JSON Schema: whether a prediction follows a schema, and where it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Score, Text
from karat.core.errors import MissingExtra, SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.rows import Rows
from karat.data.storage.files import read_small
from karat.metrics.answers.json.parser import Invalid, parse


def _specialise(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the digest of the schema, which may be in a file; a schema that is none is refused."""
    text = _read(settings["schema"])
    _validator(text)
    return replace(definition, marks=MappingProxyType({"schema": sha256(text.encode()).hexdigest()[:16]}))


@metric(
    source="JSON Schema, https://json-schema.org/specification, as in jsonschema 4",
    reads_json=True,
    details=lambda _: {"violation": pa.string()},
    specialise=_specialise,
)
def json_schema(prediction: Text, *, schema: str | dict[str, Any] | bool = "", fences: bool = False) -> Score:
    """1 where the prediction is JSON that follows a JSON Schema, else 0.

    `schema` is the path of a file or the schema itself; its `$schema` names the draft, without one it is 2020-12. The
    detail `violation` is the path of the first violation and what is wrong there; `$` is the whole value. What is not
    JSON (see `valid_json`) scores 0. `format` is not checked, and no schema is fetched from the network.

    >>> schema = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    >>> json_schema(['{"price": 5}', '{"price": "5"}', "{}"], schema=schema).to_pylist()
    [1.0, 0.0, 0.0]
    """
    validator = _validator(_read(schema))
    violations = [_violation(validator, parse(text, fences=fences, exact=False)) for text in prediction.to_pylist()]
    column = pa.array(violations, pa.string())
    return Rows(np.asarray(column.is_null(), dtype=np.float64), details={"violation": column})


def _read(schema: Any) -> str:
    """The text of a schema."""
    if not schema and isinstance(schema, str):
        raise SpecError(
            "json_schema needs a schema: json_schema(schema='schema.json'), or the schema itself in its place"
        )
    if not isinstance(schema, str):
        return json.dumps(schema)
    try:
        return read_small(schema).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecError(f"json_schema: {schema}: {reason}; the path of a file with a JSON Schema is expected") from None


@lru_cache(maxsize=32)
def _validator(text: str) -> Any:
    try:
        from jsonschema import exceptions, validators  # noqa: PLC0415  (an optional dependency)
        from referencing import Registry  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtra("jsonschema", extra="json", need="json_schema") from None
    schema = parse(text, fences=False, exact=False)
    if isinstance(schema, Invalid) or not isinstance(schema, dict | bool):
        why = schema.why if isinstance(schema, Invalid) else "an object, or true or false, is expected"
        raise SpecError(f"json_schema: the schema is not JSON Schema: {why}")
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except exceptions.SchemaError as error:
        raise SpecError(f"json_schema: the schema is not valid at {error.json_path}: {error.message}") from None
    return kind(schema, registry=Registry())


def _violation(validator: Any, value: Any) -> str | None:
    """Where the first violation is, in the order of their paths, and what it is; None where there is none."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  (there where the validator is)

    if isinstance(value, Invalid):
        return f"not JSON: {value.why}"
    try:
        first = min(validator.iter_errors(value), key=lambda each: list(each.absolute_path), default=None)
    except Unresolvable as error:
        raise SpecError(f"json_schema: the schema refers to {error.ref}, which is not in it") from None
    return first and f"{first.json_path}: {first.message}"
