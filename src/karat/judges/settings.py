"""The settings of judges: the model, how often it is asked, and what is sent with each request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from types import MappingProxyType
from typing import Any

from karat.core.errors import SpecError
from karat.core.metric.setting import Setting
from karat.judges.replies.reader import ReplyMode
from karat.judges.toml_reader import TomlTable

_OURS = {"model", "messages", "stream", "n", "tools", "tool_choice", "response_format"}
"""The members of a request that karat sets itself, or whose replies it does not read."""


def settings_of(request: Mapping[str, Any]) -> dict[str, Setting]:
    """The settings that every judge has; a rubric's table `request` has other defaults of some."""
    return {name: replace(each, default=request.get(name, each.default)) for name, each in _SETTINGS.items()}


def sent_with(settings: Mapping[str, Any], sample: int) -> dict[str, Any]:
    """The members of the body of a request for a sample, beside the prompt and the form of the reply."""
    sent = {name: settings[name] for name in ("temperature", "max_tokens", "reasoning_effort")}
    sent |= {"seed": None if settings["seed"] is None else settings["seed"] + sample}
    return {name: value for name, value in sent.items() if value is not None} | dict(settings["extra_body"] or {})


def read_request(table: TomlTable) -> dict[str, Any]:
    """The table `request` of a rubric; `SpecError` for a wrong value."""
    kinds = {"max_tokens": int, "reasoning_effort": str, "timeout": float, "extra_body": dict}
    settings = {name: value for name, kind in kinds.items() if (value := table.take(name, kind, None)) is not None}
    for name, value in settings.items():
        try:
            check_timeout(value) if name == "timeout" else _SETTINGS[name].accept(value, table.name)
        except SpecError as error:
            raise SpecError(f"{table.path(name)}: {error}") from None
    return settings


def check_timeout(value: float) -> float:
    """The value; `SpecError` unless it is a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value > 0 and isfinite(value)):
        raise SpecError(f"timeout={value!r}: seconds above 0 are expected")
    return value


def _check_model(value: Any) -> None:
    names = [value] if isinstance(value, str) else value
    if value is None:
        return
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) and n.strip() for n in names):
        raise SpecError("the name of a model, or a list of names, is expected (a callable goes to Judge(model=…))")
    if len(set(names)) < len(names):
        raise SpecError("a model is in the list twice; samples=2 asks it twice")


def _check_temperature(value: Any) -> None:
    if value is not None and not 0 <= value < float("inf"):
        raise SpecError("a number from 0, or None for no temperature, is expected")


def _check_from_1(value: int | None) -> None:
    if value is not None and value < 1:
        raise SpecError("a whole number from 1 is expected")


def _check_extra_body(value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise SpecError("members of the body of a request are expected, as in {'top_p': 0.9}")
    if taken := sorted(_OURS & value.keys()):
        raise SpecError(f"karat sets {', '.join(taken)} itself")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"values of JSON are expected: {error}") from None


_SETTINGS = MappingProxyType(
    {
        "model": Setting("model", None, Any, _check_model),
        "temperature": Setting("temperature", 0.0, float | None, _check_temperature),
        "seed": Setting("seed", None, int | None),
        "samples": Setting("samples", 1, int, _check_from_1),
        "replies": Setting("replies", "mend", ReplyMode),
        "max_tokens": Setting("max_tokens", None, int | None, _check_from_1, optional=True),
        "reasoning_effort": Setting("reasoning_effort", None, str | None, optional=True),
        "extra_body": Setting("extra_body", None, Any, _check_extra_body, optional=True),
    }
)
