"""What a page works on: the runs of a folder, the tables that are open, and how a command names a run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from karat.core.errors import KaratError
from karat.core.metric.spec import parse
from karat.runs.compare.compare import compare
from karat.runs.compare.comparison import Compared
from karat.runs.compare.ranking.rank import rank
from karat.runs.compare.ranking.ranked import Ranked
from karat.runs.gold.people import DoubtfulRows
from karat.runs.labels.labels import Labels
from karat.runs.labels.rows_to_label import RowsToLabel
from karat.runs.labels.session import Session
from karat.runs.store.folders import runs_folder
from karat.runs.store.run import Run
from karat.viewer.page.catalog import Catalog
from karat.viewer.page.label_file import LabelFile
from karat.viewer.page.query import Query, explained
from karat.viewer.rows.display import mark_text
from karat.viewer.rows.recent import Recent
from karat.viewer.rows.relation import Relation
from karat.viewer.rows.table import RowTable, match_rows

Made = TypeVar("Made")
_TABLES, _COMPARISONS, _SESSIONS = 1, 32, 2  # that are kept


class Workspace:
    """The runs of a folder, for the page.

    `folder` is how the user named it; None where commands find it by themselves. `labels` is the file of labels by
    people; None where the page was opened without.
    """

    def __init__(self, folder: Path | None = None, labels: LabelFile | None = None) -> None:
        self.catalog, self.labels, self._folder = Catalog(), labels, folder
        self._sessions: Recent[tuple[RowsToLabel | DoubtfulRows, Session]] = Recent(_SESSIONS)
        self._tables: Recent[RowTable] = Recent(_TABLES)
        self._comparisons: Recent[Compared] = Recent(_COMPARISONS)
        self._rankings: Recent[Ranked] = Recent(_COMPARISONS)
        self._lock = Lock()

    def prepare(self) -> None:
        """Load what the first table needs, while the browser starts: a second of imports."""
        import_module("pyarrow.dataset")
        for run in self.catalog.describe():
            for metric in run["metrics"]:
                with suppress(KaratError):
                    parse(metric["spec"])
        mark_text("a", ["b"])
        Relation([]).close()

    def table(self, query: Query) -> RowTable:
        """The matched rows of the runs of a query; raises what `RowTable` raises."""
        runs, on, different = self.catalog.open(query.runs), query.on, query.different
        make = partial(match_rows, runs, on, allow_different=different)
        with explained():
            return self._tables.get((_version(runs), on, different), partial(self._alone, make))

    def compare(self, runs: Sequence[Run], chosen: dict[str, Any], human: Labels | None, version: int) -> Compared:
        """Runs compared by `karat.compare`; `version` tells labels of people from earlier ones."""
        make = partial(compare, *runs, human=human, **chosen)
        with explained():
            return self._comparisons.get((_version(runs), *chosen.values(), version), partial(self._alone, make))

    def rank(self, runs: Sequence[Run], chosen: dict[str, Any]) -> Ranked:
        """Runs ranked by `karat.rank`."""
        make = partial(rank, *runs, **chosen)
        with explained():
            return self._rankings.get((_version(runs), *chosen.values()), partial(self._alone, make))

    def label_rows(self, query: Query, file: LabelFile) -> tuple[RowsToLabel | DoubtfulRows, Session]:
        """The rows of a file's choice, else of the runs of a query, and the session in which they are labelled."""
        runs = [] if file.rows and not query.runs else self.catalog.open(query.runs)
        start = partial(file.open_session, file.rows or [run.name for run in runs])
        with explained():
            return self._sessions.get(file.rows or _version(runs), partial(self._alone, start))

    def command(self, *words: object, **options: object) -> str:
        """A command of karat, as it is typed; options that are None or false are left out.

        >>> Workspace().command("compare", "a", "b c", by="topic", on=None, allow_different=True)
        "karat compare a 'b c' --by topic --allow-different"
        >>> print(Workspace().command("show", "a", where="topic = 'x'"))
        karat show a --where "topic = 'x'"
        """
        for name, value in options.items():
            if value is not None and value is not False:
                words += (f"--{name.replace('_', '-')}", *(() if value is True else (value,)))
        return " ".join(["karat", *(_quote(str(word)) for word in words)])

    def clean(self, message: str) -> str:
        """A message without the folders of this machine, but for their own names."""
        folders = [Path(runs_folder()), Path(), *([] if self.labels is None else [self.labels.path.parent])]
        ways = (Path.absolute, os.path.abspath)  # the second one takes out ".."
        spelled = {str(spell(folder)) for folder in folders for spell in ways}
        for folder in sorted(spelled, key=len, reverse=True):
            start, name = rf"(?<![\w.~@+-]){re.escape(folder)}", Path(folder).name.replace("\\", r"\\")
            if name:  # not the root
                message = re.sub(f"{start}{re.escape(os.sep)}", "", message)
                message = re.sub(rf"{start}(?![\w@+-]|\.\w)", name, message)
        return message

    def _alone(self, make: Callable[[], Made]) -> Made:
        """What needs much memory is made one at a time; requests for what is there do not wait."""
        with self._lock:
            return make()

    def close(self) -> None:
        """Let go of all files: the rows that are labelled are in temporary ones."""
        self._tables, self._sessions = Recent(_TABLES), Recent(_SESSIONS)

    def name(self, run: Run) -> str:
        """How a command names a run."""
        return run.name if self._folder is None else str(self._folder / run.name)


def _quote(word: str) -> str:
    """A word for a shell: in the quotes that it does not hold itself."""
    return f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else shlex.quote(word)


def _version(runs: Sequence[Run]) -> tuple[tuple[str, str], ...]:
    """What tells these runs from others that had the same names before."""
    return tuple((run.name, run.manifest.created) for run in runs)
