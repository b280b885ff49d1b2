"""Phoenix's evaluators, extended: karat's metrics and judges as evaluators, frames scored fast, scores logged once.

>>> from karat.adapters.phoenix import exact_match
>>> scores = exact_match.evaluate({"output": "Paris", "expected": "Paris"})
>>> scores[0].score, scores[0].kind
(1.0, 'code')

Every name of `phoenix.evals` and of its modules is there under this package's name too (`modules.py`). karat's own are
the names below: `as_evaluator` (`metric_evaluator.py`), `evaluate_dataframe` (`frame/`), which sends the requests
of Phoenix's own evaluators through karat's governor (`governed.py`), `experiment_evaluator`, and a running server
(`server/`). Scoring and judging live in `karat.core` and `karat.judges`. Open `metric_evaluator.py` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.adapters.phoenix import modules
from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.adapters.phoenix.bind import bind_evaluator as bind_evaluator
    from karat.adapters.phoenix.experiment import experiment_evaluator as experiment_evaluator
    from karat.adapters.phoenix.frame.evaluate import EvaluationStopped as EvaluationStopped
    from karat.adapters.phoenix.frame.evaluate import async_evaluate_dataframe as async_evaluate_dataframe
    from karat.adapters.phoenix.frame.evaluate import evaluate_dataframe as evaluate_dataframe
    from karat.adapters.phoenix.metric_evaluator import as_evaluator as as_evaluator
    from karat.adapters.phoenix.server.connection import ServerError as ServerError
    from karat.adapters.phoenix.server.connection import spans as spans
    from karat.adapters.phoenix.server.frame_annotations import to_annotation_dataframe as to_annotation_dataframe
    from karat.adapters.phoenix.server.outbox import NotLogged as NotLogged
    from karat.adapters.phoenix.server.outbox import log_annotations as log_annotations
    from karat.adapters.phoenix.server.outbox import send_annotations as send_annotations

    def __getattr__(name: str) -> Any: ...
else:
    _own, _, __all__ = lazy_names(
        __name__,
        {
            ".bind": "bind_evaluator",
            ".experiment": "experiment_evaluator",
            ".frame.evaluate": "EvaluationStopped async_evaluate_dataframe evaluate_dataframe",
            ".metric_evaluator": "as_evaluator",
            ".server.connection": "ServerError spans",
            ".server.frame_annotations": "to_annotation_dataframe",
            ".server.outbox": "NotLogged log_annotations send_annotations",
        },
    )

    def __getattr__(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        modules.load_evals()
        return _own(name) if name in __all__ else modules.find(name)

    def __dir__() -> list[str]:
        return sorted({*__all__, *modules.load_evals().__all__})
