"""Judges: metrics that ask a language model to grade answers. Open `judge` first.

A judge is a TOML file in `prompts/` or the user's own (`rubric`). `prompt` writes the messages for a row, `panel` sends
them, `replies` reads the answers, `votes` combines them. Network access, limits, retries and the reply cache are in
`karat.models`, not here. `dialect` knows what other tools
call them. Importing this package makes `judge:NAME` known as a metric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.core.lazy import lazy_names
from karat.core.metric.registry import add_dialect, add_maker

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.judges.judge import Judge as Judge
    from karat.judges.rubric import own_judges as own_judges
    from karat.models.context import use_governor as use_governor

_HOMES = {".judge": "Judge", ".rubric": "own_judges", "karat.models.context": "use_governor"}
_get, __dir__, __all__ = lazy_names(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    """A judge by its name, `judge:NAME`, as a pickled judge asks for it; else a public name."""
    return _make(name.removeprefix("judge:")) if name.startswith("judge:") else _get(name)


def _make(name: str) -> Metric:
    from karat.judges.judge import Judge  # noqa: PLC0415  (imported with the first judge)

    return Judge(name)


def _translate(name: str) -> tuple[str, ...]:
    from karat.judges.dialect import translate  # noqa: PLC0415  (for unknown names only)

    return translate(name)


add_maker("judge", _make)
add_dialect(_translate)
