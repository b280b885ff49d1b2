"""What a person sees who labels a row: question, contexts, gold and answer, under names that say no system."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from pathlib import PurePath

from karat.core.errors import ColumnError, did_you_mean
from karat.data.roles import matches_role, singular
from karat.runs.labels.layout import LABELS
from karat.runs.store.run import Run

ROLES = {"question": "question", "contexts": "contexts", "reference": "gold", "prediction": "answer"}
"""The roles that are shown, in order, and what each is called where its column has a name of the user's own."""
_NEEDED = {"question": ("question", "contexts"), "answer": ("prediction",), "gold": ("reference",)}


def run_columns(run: Run) -> dict[str, str]:
    """The column of each role that a person needs to see: as the run was scored, else by its name."""
    scores = {metric.column for metric in run.manifest.metrics}
    return assign_roles([name for name in run.schema.names if name not in scores], run.manifest.mapping)


def assign_roles(names: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """The column of each role that is shown: the one that is known, else by its name.

    Where a name fits several roles, as many roles as can be get a column.

    >>> assign_roles(["id", "question", "answer", "gold", "label"], {})
    {'question': 'question', 'reference': 'gold', 'prediction': 'answer'}
    """
    mapping = {role: name for role, name in known.items() if role in ROLES}
    free = [name for name in names if name not in mapping.values() and singular(name) not in LABELS]
    roles = [role for role in ROLES if role not in mapping]
    fitting = [[*(name for name in free if matches_role(role, name)), None] for role in roles]
    ways = (way for way in product(*fitting) if len({*filter(None, way)}) == len(way) - way.count(None))
    best = min(
        ways, key=lambda way: (way.count(None), dict(zip(roles, way, strict=True)).get("prediction", "") is None)
    )
    assigned = mapping | {role: name for role, name in zip(roles, best, strict=True) if name is not None}
    return {role: assigned[role] for role in ROLES if role in assigned}


def check_shown(roles: Collection[str], names: Iterable[str], where: str, *, every: bool) -> None:
    """Raise `ColumnError` where these roles do not let a person judge an answer.

    `every`: question, answer and gold are expected; else the answer, and any of the others: the rows are of a run or of
    a proposal, which has no more.
    """
    missing = [name for name, any_of in _NEEDED.items() if not set(any_of) & set(roles)]
    if not every and ("answer" not in missing) and len(missing) < len(_NEEDED) - 1:
        return
    if missing:
        expected = "whoever labels a row has to see question, answer and gold"
        problem = f"no column is known to be the {', the '.join(missing)}; its columns are {', '.join(names)}"
        remedy = "name all columns that are to be shown: --show COLUMN --show COLUMN (in Python, show=)"
        raise ColumnError(f"{where}: {expected}, but {problem}: {remedy}")


def title_columns(columns: Mapping[str, str | None], systems: Iterable[str]) -> dict[str, str]:
    """What each column is called where rows are labelled; `columns` says which have which role.

    A column with one of the usual names of its role keeps it; a name of the user's own may be a system's name.

    >>> title_columns({"query": "question", "answer_gpt4": "prediction", "note": None, "gpt4 time": None}, ["gpt4.csv"])
    {'query': 'query', 'answer_gpt4': 'answer', 'note': 'note', 'gpt4 time': 'column 4'}
    """
    stems = {PurePath(system).name.split(".")[0].casefold() for system in systems}
    revealing = re.compile("|".join(rf"(?<![^\W_]){re.escape(stem)}(?![^\W_])" for stem in stems if stem) or r"(?!)")
    titles = dict[str, str]()
    for place, (column, role) in enumerate(columns.items(), 1):
        title = column
        if role is not None and not matches_role(role, column):
            title = ROLES[role]
        elif role is None and revealing.search(column.casefold()):
            title = f"column {place}"
        titles[column] = title if title not in titles.values() else f"{title} {place}"
    return titles


def find_role(column: str) -> str | None:
    """The role that a column's name says, if only in its first words, as in `answer_gpt4`.

    >>> find_role("golden_answer"), find_role("answer_gpt4"), find_role("topic")
    ('reference', 'prediction', None)
    """
    exact = (role for role in reversed(ROLES) if matches_role(role, column))
    words = re.split(r"[\W_]+", singular(column))
    starts = ("_".join(words[:end]) for end in range(len(words) - 1, 0, -1))
    return next(exact, None) or next(("prediction" for each in starts if matches_role("prediction", each)), None)


def check_columns(columns: Iterable[str], names: Sequence[str], where: str) -> None:
    """Raise `ColumnError`, with the nearest name, for a column that is not there."""
    for column in columns:
        if column not in names:
            raise ColumnError(f"{where}: there is no column {column!r}{did_you_mean(column, names)}")
