"""What an engine is: it carries out tasks somewhere, in any order, and gives what comes back."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from karat.core.errors import DataError
from karat.data.source import Part

if TYPE_CHECKING:
    from karat.runs.scoring.tasks.task import Advance, Recipe
    from karat.runs.store.parts import Done


@dataclass(frozen=True)
class Failed:
    """A task that could not be carried out, and why."""

    task: int
    error: Exception


def portable_error(error: Exception) -> Exception:
    """The error, or a `DataError` with its text where it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:  # noqa: BLE001  (pickling calls anything)
        return DataError(f"{type(error).__name__}: {error}")
    return error


class Engine(Protocol):
    """Carries out tasks: calls `karat.runs.scoring.tasks.task.score_part` for each of them, anywhere.

    `workers` is how many tasks are carried out at the same time, None where that is not known: tasks are then of about
    a million rows.
    """

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int | None: ...

    def run(self, recipe: Recipe, tasks: Mapping[int, Part], advance: Advance) -> Iterator[Done | Failed]:
        """Yield what comes back from each task, in any order.

        `advance` may be called with rows as they are scored; rows of tasks whose rows it was not called with are
        counted when the task is done. A task whose process dies is carried out again.
        """
        ...
