"""What could be scored in a folder, as scoring the first rows of its files shows."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from karat.cli.start.survey.comparable import fit_lengths, group_systems
from karat.cli.start.survey.folder import DataFile, Survey, survey
from karat.cli.start.survey.scorable import TASKS, Scorable, find_judges
from karat.core.errors import KaratError
from karat.data.roles import is_known_name, singular
from karat.runs.columns.ids import id_columns, show_column
from karat.runs.scoring.pipeline import score

_SUSPECTED, _NEAR = 8, 0.1  # columns that are tried as answers, and the least F1 of such
ROWS = 100  # that are scored of each file
MOST_TRIALS = 60

_OF_GOLD = re.compile(r"gold|truth|qrel|referenc|label|expect|key|(?<![a-z])(dev|test|val|validation)(?![a-z])")


@dataclass(frozen=True)
class Proposals:
    """What could be done with a folder.

    `systems`: files that can be scored; the files of one list answer the same questions and can be compared.
    `questions`: files with questions and gold that no file answers. `without_gold`: files of answers whose gold was
    not found, and the judges that could be asked about them. `unclear`: what could not be told, in sentences.
    """

    survey: Survey
    systems: list[list[Scorable]]
    questions: list[DataFile]
    without_gold: list[tuple[DataFile, list[str]]]
    unclear: list[str]


def propose(folder: Path) -> Proposals:
    """Find out what could be scored in a folder; reads it, and writes nothing.

    Raises `OSError` where the folder cannot be read.
    """
    surveyed = survey(folder)
    trials = _Trials(surveyed.files)
    alone = [each for file in surveyed.files for each in trials.score_alone(file)]
    joined = trials.score_joined({each.data.path for each in alone})
    scorable = [*alone, *joined]
    used = {each.data.path for each in scorable} | {each.gold.path for each in joined if each.gold}
    rest = [file for file in surveyed.files if file.path not in used]
    questions = [file for file in rest if _asks(file)]
    without = [file for file in rest if file.fills("prediction") and file not in questions and not _is_gold(file)]
    unclear = [*filter(None, map(_doubt, scorable)), *trials.unclear]
    unclear += [f"{file.path}: {trials.explain(file)}" for file in rest if file not in questions]
    unclear += filter(None, map(trials.suspect_systems, questions))
    if trials.left < 0:
        unclear.append(f"not every pair of files was tried, only {MOST_TRIALS}")
    judged = [(file, find_judges(file.roles.keys() - {"reference"})) for file in without]
    groups = [fit_lengths(group, trials.score_again) for group in group_systems(scorable, unclear)]
    return Proposals(surveyed, groups, questions, judged, unclear)


@dataclass
class _Trials:
    """Scores the first rows of files; `problems` has the first reason why one could not be scored."""

    files: list[DataFile]
    left: int = MOST_TRIALS
    problems: dict[Path, str] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)

    def score_alone(self, file: DataFile) -> Iterator[Scorable]:
        """The file with the metrics of all tasks at once, else with the metrics of each that can be scored."""
        tasks = [specs for roles, specs in TASKS.items() if all(map(file.fills, roles))]
        together = tuple(spec for specs in tasks for spec in specs)
        if together and (scorable := self._score(file, together)):
            yield from self._score_others(scorable)
        elif len(tasks) > 1:
            for each in filter(None, (self._score(file, specs) for specs in tasks)):
                yield from self._score_others(each)

    def score_joined(self, done: set[Path]) -> list[Scorable]:
        """The files that need the gold of another one."""
        return [
            each
            for (role, of_gold), specs in TASKS.items()
            for file in self.files
            if file.path not in done and file.fills(role)
            for scorable in self._find_gold(file, role, of_gold, specs, done)
            for each in self._score_others(scorable)
        ]

    def _find_gold(
        self, file: DataFile, role: str, of_gold: str, specs: tuple[str, ...], done: set[Path]
    ) -> Iterator[Scorable]:
        """The file with the gold that fits it best."""
        joins, both = list[Scorable](), list[DataFile]()
        for gold in self.files:
            if self.left < 0:
                break
            if gold is file or of_gold not in gold.as_gold or (_is_gold(file) and not _is_gold(gold)):
                continue
            joined = self._join(file, gold, specs)
            if joined is None:
                continue
            exchangeable = of_gold in file.as_gold and role in gold.roles and gold.path not in done
            both += [gold] if exchangeable and _is_gold(file) == _is_gold(gold) else []
            joins += [] if gold in both else [joined]
        if not joins:
            self.unclear += [
                f"{file.path}, {each.path}: which one holds the gold?" for each in both if file.path < each.path
            ]
            return

        def fit(each: Scorable) -> tuple[bool, bool, int]:
            gold = each.gold or file
            return _is_gold(gold), gold.path not in done, each.scored

        best = max(map(fit, joins))
        first, *others = (each for each in joins if fit(each) == best)
        if others and first.gold:
            names = " or ".join(str(each.gold.path) for each in others if each.gold)
            self.unclear.append(f"{file.path}: is its gold {first.gold.path}, as taken here, or {names}?")
        yield first

    def _join(self, file: DataFile, gold: DataFile, specs: tuple[str, ...]) -> Scorable | None:
        """The files joined by the id that matches most rows; rankings are joined by query, if they can be."""
        if specs == TASKS["retrieved", "relevant"] and (tried := self._score(file, specs, gold)):
            return tried
        scorable = list[Scorable]()
        for on in _find_ids(file, gold):
            if tried := self._score(file, specs, gold, on):
                scorable.append(tried)
                if tried.scored == tried.result.n:
                    break
        return max(scorable, key=lambda each: each.scored, default=None)

    def _score(
        self,
        file: DataFile,
        specs: tuple[str, ...],
        gold: DataFile | None = None,
        on: str | None = None,
        column: str | None = None,
    ) -> Scorable | None:
        """What the first rows give; None where they cannot be scored, or none of them has a score.

        `column` has the answers; by default, of a file with several systems, the first one's.
        """
        self.left -= 1
        if self.left < 0:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path = None if gold is None else gold.whole_path
                column = next(iter(file.systems), "") if column is None else column
                answers = {"prediction": column} if column else {}
                result = score(file.whole_path, specs, map=answers, gold=path, on=on, limit=ROWS)
                tried = Scorable(file, specs, result, gold, on, column)
        except (KaratError, OSError) as error:
            if gold is None:
                self.problems[file.path] = str(error).removeprefix(str(file.whole_path)).lstrip(":, ")
            return None
        return tried if tried.scored else None

    def _score_others(self, first: Scorable) -> Iterator[Scorable]:
        """The first system of a file, and its others."""
        yield first
        others = (column for column in first.data.systems if column != first.column)
        yield from filter(None, (self._score(first.data, first.specs, first.gold, first.on, each) for each in others))

    def score_again(self, each: Scorable, specs: tuple[str, ...]) -> Scorable | None:
        """The same rows with other metrics."""
        return self._score(each.data, specs, each.gold, each.on, each.column)

    def suspect_systems(self, file: DataFile) -> str:
        """A question where columns with other names hold what is near the gold: answers of systems, called after them.

        Columns are tried whose names say nothing, on the first rows.
        """
        specs = TASKS["prediction", "reference"]
        unknown = [name for name in file.columns if name.strip() and not is_known_name(name)][:_SUSPECTED]
        tried = (self._score(file, specs, column=name) for name in unknown)
        near = [each.column for each in tried if each and (each.result.values[specs[-1]].value or 0) >= _NEAR]
        if not near:
            return ""
        typed = " ".join(f"--predictions {shlex.quote(name)}" for name in near)
        return (
            f"{file.path}: are {', '.join(near)} the answers of systems? "
            f"karat score {shlex.quote(str(file.path))} {typed} "
            f"{' '.join(f'-m {spec}' for spec in specs)}"
        )

    def explain(self, file: DataFile) -> str:
        """Why a file could not be scored, and what to type."""
        if file.problem:
            return file.problem
        columns = f"the columns are {', '.join(map(show_column, file.columns))}"
        if not any(file.fills(role) for roles in TASKS for role in roles):
            typed = (
                "karat score --map prediction=COLUMN says which, --predictions COLUMN for each of several systems, and "
                'a column of scores is a metric: -m "column(NAME)"'
            )
            return f"no column has a name that says what to score; {columns}; {typed}"
        answers, gold = (file.roles.get(role, ()) for role in ("prediction", "reference"))
        if len(answers) == 1 and answers == gold:
            return f"does {answers[0]} hold the answers of a system, or the gold?"
        if file.path in self.problems:
            return self.problems[file.path]
        if any(file.fills(role) for role, _ in TASKS):
            return "no gold for it was found here: --gold FILE --on COLUMN names it; some judges need none"
        return f"gold of which answers? {columns}"


def _find_ids(file: DataFile, gold: DataFile) -> list[str]:
    """Columns that may join two files, the most likely first: of the same name, then of two."""
    ours, theirs = (
        [] if each.source is None else list(filter(None, id_columns(each.source.schema, {}))) for each in (file, gold)
    )
    same = [
        name for name in file.columns if name in gold.columns and singular(name).endswith("id") and name not in ours
    ]
    pairs = [f"{left}={right}" for left in ours[:1] for right in theirs[:1] if left != right]
    return list(dict.fromkeys([*(name for name in ours if name in gold.columns), *same, *pairs]))


def _is_gold(file: DataFile) -> bool:
    """Whether a file's name says that it holds gold."""
    return _OF_GOLD.search(file.path.stem.lower()) is not None


def _asks(file: DataFile) -> bool:
    """Whether a file has questions with their gold, and no answers; `answer` alone is gold where the file is."""
    answers, gold = (set(file.roles.get(role, ())) for role in ("prediction", "reference"))
    return "question" in file.roles and bool(gold) and answers <= gold and (gold > answers or _is_gold(file))


def _doubt(each: Scorable) -> str:
    """A sentence where nothing in the first rows is right."""
    if any(value.value for value in each.result.values.values()):
        return ""
    columns = ", ".join(f"{role} ← {column}" for role, column in each.result.mapping.items())
    rows = f"none of its first {each.result.n} rows is right"
    return f"{each.name}: {rows}: are these its columns, {columns}" + (
        f", and is {each.gold.path} its gold?" if each.gold else "?"
    )
