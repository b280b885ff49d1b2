"""A random value that matches a JSON Schema, for fake models without a script."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any


def sample_value(schema: Mapping[str, Any], random: Random, root: Mapping[str, Any] | None = None) -> Any:
    """A random value that matches the schema. Of the constraints on strings only the length is supported.

    >>> schema = {"type": "object", "properties": {"label": {"enum": ["yes", "no"]}, "why": {"type": "string"}}}
    >>> sample_value(schema, Random(1))
    {'label': 'yes', 'why': 'fake'}
    """
    root = schema if root is None else root
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
            target = target[step]
        return sample_value(target, random, root)
    if "const" in schema:
        return schema["const"]
    for keyword in ("enum", "anyOf", "oneOf"):
        if keyword in schema:
            chosen = random.choice(schema[keyword])
            return chosen if keyword == "enum" else sample_value(chosen, random, root)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match random.choice(kind) if isinstance(kind, list) else kind:
        case "object":
            return {name: sample_value(each, random, root) for name, each in schema.get("properties", {}).items()}
        case "array":
            least = schema.get("minItems", 1)
            most = max(least, schema.get("maxItems", least + 2))
            return [sample_value(schema.get("items", {}), random, root) for _ in range(random.randint(least, most))]
        case "integer" | "number" as kind:
            low = schema.get("minimum", min(0, schema.get("maximum", 0)))
            high = schema.get("maximum", low + 1)
            return random.randint(low, high) if kind == "integer" else random.uniform(low, high)
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
        case _:
            return "fake".ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
