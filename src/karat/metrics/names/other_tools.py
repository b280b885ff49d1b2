"""The names that other tools have for metrics, translated into specs, or answered by what to type instead.

The names are data: `other_tools.toml` says what each key of a tool means.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from karat.core.errors import SpecError
from karat.core.metric.registry import PRESET, add_dialect, asks_a_model, find, find_preset, is_known, known_names

_SPEC = re.compile(
    r"([A-Za-z](?:[\w ,.:/+*^-]*?[\w+*^])??(?:@k)?)((?:_at_|[@_^])?\d+)?(\(.*\))?(@\d+)?", re.ASCII | re.DOTALL
)


@dataclass(frozen=True)
class Name:
    """What one tool calls a metric: a spec or a preset of karat's, or the text that says what to type instead."""

    tool: str
    name: str
    kind: str  # spec, preset, judge, note, which or same
    text: str


def translate(text: str) -> tuple[str, ...]:
    """The spec of the metric of that name: a name of another tool, or one of karat in another spelling.

    Raises `SpecError` for a name that stands for two metrics, that asks a model, or that karat does not have; none for
    an unknown name.

    >>> translate("rougeL"), translate("EM"), translate("ROUGE-1"), translate("hit@10"), translate("ndcg_at_5")
    (('rouge_l',), ('em',), ('rouge_n(n=1)',), ('hit_rate@10',), ('ndcg@5',))
    >>> translate("Token-F1(normalize=none)"), translate("pass^4"), translate("sharpe")
    (('token_f1(normalize=none)',), ('pass_all@4',), ())
    """
    if (match := _SPEC.fullmatch(text.strip())) is None:
        return ()
    name, number, settings, cutoff = match.groups()
    if spec := _find(name + (number or "")):
        number = None
    elif not (spec := _find(f"{name}^" if number and number[0] == "^" else name)):
        return ()
    if len(spec) > 1:
        return () if number or settings or cutoff else spec
    if number and cutoff:
        return ()
    at = re.sub(r"\D", "", number or cutoff or "")
    if at and (ranked := _tools()["ranked"].get(find(spec[0]).name if is_known(spec[0]) else "")):
        raise SpecError(f"{text}: {spec[0]} has no cut-off; for rankings it is {ranked}@{at}")
    both = f"{spec[0]}{settings or ''}".replace(")(", ", ", 1) if spec[0].endswith(")") else spec[0] + (settings or "")
    return (both + (f"@{at}" if at else ""),)


def all_names() -> list[Name]:
    """Every name of every tool, in the order of the table."""
    texts = {kind: _tools()[kind] for kind in ("note", "which", "same")}
    entries = []
    for tool, keys in _tools().items():
        for key, names in keys.items() if tool not in (*texts, "ranked") else ():
            kind, colon, text = key.partition(":")
            kind, text = (kind, text) if colon else ("spec", key)
            entries += [Name(tool, name, kind, texts[kind][text] if kind in texts else text) for name in names]
    return entries


@cache
def _tools() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("karat.metrics.names") / "other_tools.toml").read_text("utf-8"))


@cache
def _names() -> dict[str, Name]:
    return {_fold(each.name): each for each in all_names() if each.kind != "same"}


def _find(name: str) -> tuple[str, ...]:
    """The specs of a name without settings; raises `SpecError` where there is something to say instead."""
    plain = _fold(name)
    own = {_fold(each): each for each in sorted(known_names(), reverse=True)}
    if (entry := _names().get(plain)) is None or plain in own:
        return (own[plain],) if plain in own else ()
    if entry.kind == "note":
        raise SpecError(f"{name} is not among karat's metrics: {entry.text}")
    if entry.kind == "which":
        raise SpecError(f"{name} may be {entry.text}: say which")
    if entry.kind == "judge":
        raise asks_a_model(name, entry.text)
    preset = find_preset(PRESET + entry.text) if entry.kind == "preset" else None
    return preset.specs if preset else (entry.text,)


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9+^]", "", name.lower())


add_dialect(translate)
