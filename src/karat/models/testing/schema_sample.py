"""A value that fits a JSON Schema: what a fake model says when nothing else was asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any


def sample(schema: Mapping[str, Any], draw: Random, root: Mapping[str, Any] | None = None) -> Any:
    """A value that fits, drawn by `draw`; of a string only its length is looked at.

    >>> schema = {"type": "object", "properties": {"label": {"enum": ["yes", "no"]}, "why": {"type": "string"}}}
    >>> sample(schema, Random(1))
    {'label': 'yes', 'why': 'fake'}
    """
    root = schema if root is None else root
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#").split("/")[1:]:
            target = target[step]
        return sample(target, draw, root)
    if "const" in schema:
        return schema["const"]
    for several in ("enum", "anyOf", "oneOf"):
        if several in schema:
            chosen = draw.choice(schema[several])
            return chosen if several == "enum" else sample(chosen, draw, root)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match draw.choice(kind) if isinstance(kind, list) else kind:
        case "object":
            return {name: sample(each, draw, root) for name, each in schema.get("properties", {}).items()}
        case "array":
            least = schema.get("minItems", 1)
            most = max(least, schema.get("maxItems", least + 2))
            return [sample(schema.get("items", {}), draw, root) for _ in range(draw.randint(least, most))]
        case "integer" | "number" as kind:
            low = schema.get("minimum", min(0, schema.get("maximum", 0)))
            high = schema.get("maximum", low + 1)
            return draw.randint(low, high) if kind == "integer" else draw.uniform(low, high)
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
        case _:
            return "fake".ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
