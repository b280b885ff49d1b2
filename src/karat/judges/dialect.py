"""Names of judges without `judge:`; the names of other tools are in `karat.metrics.names`."""

from __future__ import annotations

import re

from karat.core.metric.registry import asks_a_model, known_names
from karat.judges.rubric import own_judges


def translate(text: str) -> tuple[str, ...]:
    """No spec; raises `SpecError`, with what to type, for the name of a judge: asking a model is never guessed."""
    name = text.partition("(")[0].strip()
    plain = re.sub(r"[_ -]", "", name).lower()
    own = {name.replace("_", ""): name for name in own_judges()}
    if plain not in own or name in known_names():
        return ()
    raise asks_a_model(name, own[plain])
