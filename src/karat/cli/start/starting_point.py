"""The files that `karat init` writes: a script, a task to fill in, and a GitHub workflow."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import chain, count
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.runs.survey.folder import DataFile
    from karat.runs.survey.trials import Proposals, Scorable

SCRIPT, TASK, WORKFLOW = "karat.sh", "task.py", ".github/workflows/karat.yml"
_HERE = Path()
_ANSWERS = ("exact_match", "token_f1")
_JUDGES = 3  # that are named for a file

_HEAD = """\
#!/bin/sh
# Written by `karat init`: scores the files in this folder. Run it with: sh {script}
# Edit it as you like. A line that begins with # does nothing until you remove the #.
set -e
cd -- "$(dirname -- "$0")"
now=$(date +%Y-%m-%d-%H%M%S)  # each time the runs have new names; `karat runs` lists them
"""
_TASK = '''\
# Your system, which karat calls for every row of {file}. Written by `karat init`.
#
#     karat experiment {script}:answer --data {quoted} -m exact_match -m token_f1


def answer({parameter}):
    """The answer to a question. Each parameter is a column; one with another name is the row, as a dict."""
    {first}return ""  # call your system here, and return its answer
'''
_WORKFLOW = """\
# Written by `karat init`: on a pull request, scores the answers, compares them with the last run of the main branch,
# writes a comment, and fails if they are worse. Everything that it can do is in docs/how-to/ci.md of karat.
name: karat
on:
  pull_request:
  push:
    branches: [main] # your main branch
permissions:
  contents: read
  actions: read # the run of the main branch, an artifact
  pull-requests: write # the comment
jobs:
  karat:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # - run: python your_system.py # writes the answers, if they are not in the repository
      - uses: OWNER/karat@main # the owner of the repository that you have karat from
        with:
          answers: {answers}
          metrics: |
{metrics}
          options: {options}
          # fail-under: | # gates: the lowest value that passes; here those of the first {rows} rows
{gates}
          # fail-unscored: "0.05" # the largest share of rows that may be without a score
"""


def make_files(folder: Path, found: Proposals) -> tuple[dict[Path, str], list[DataFile]]:
    """The text of each file to write, by its path, and the data files that are left out for their names.

    The workflow is in the repository that the folder is in, or else in the folder.
    """
    left_out = [file for file in found.found.files if not _is_plain(str(file.path), *file.columns)]
    systems = [
        kept
        for group in found.systems
        if (kept := [x for x in group if x.data not in left_out and x.gold not in left_out])
    ]
    questions = [file for file in found.questions if file not in left_out][:1]
    without = [(file, judges) for file, judges in found.without_gold if file not in left_out]
    files = dict[Path, str]()
    if systems or questions or without:
        files[folder / SCRIPT] = _write_script(systems, questions, without)
    for file in questions:
        files[folder / TASK] = _write_task(file)
    if systems:
        root = _find_repository(folder)
        files[root / WORKFLOW] = _write_workflow(systems[0][0], root)
    return files, left_out


def _is_plain(*names: str) -> bool:
    """Whether names can be written into a script and a workflow: no line breaks, nothing that GitHub evaluates."""
    return all(name.isprintable() and "${{" not in name for name in names)


def _write_script(
    systems: list[list[Scorable]], questions: list[DataFile], without: list[tuple[DataFile, list[str]]]
) -> str:
    names = iter(_name_runs([each.data for group in systems for each in group]))
    parts = [_HEAD.format(script=SCRIPT)]
    for group in systems:
        runs = [f'"{next(names)}-$now"' for _ in group]
        lines = list[str]()
        for each, run in zip(group, runs, strict=True):
            columns = ", ".join(f"{role} is {column}" for role, column in each.result.mapping.items())
            lines += [f"# {each.data.path}: {columns}", f"{_score(each)} --run {run}"]
        if len(group) > 1:
            lines += ["# is the difference real? Each is compared with the first", f"karat compare {' '.join(runs)}"]
            lines += ["# the same as a table for a paper, and as a page to read and to send"]
            lines += [f"# karat compare {' '.join(runs)} -o table.tex"]
            lines += [f"# karat report {' '.join(runs)} -o report.html"]
        first = group[0]
        spec, value = next(iter(first.result.values.items()))
        lines += [
            "# a gate: exit code 3 where the value is lower",
            f"# {_score(first)} --fail-under {spec}={value.value:.2f}",
        ]
        lines += _ask_judges(first.data, first.judges, *_join(first))
        parts.append("\n".join(lines) + "\n")
    for file in questions:
        data = _shell(file.path)
        lines = [f"# {file.path}: questions and gold, which your system answers in {TASK}: fill it in"]
        lines.append(f'karat experiment {TASK}:answer --data {data} {_metrics(_ANSWERS)} --run "{_name(file)}-$now"')
        parts.append("\n".join(lines) + "\n")
    for file, judges in without:
        lines = [f"# {file.path}: no gold was found for it. If it is in another file, with the same ids:"]
        lines.append(f"# karat score {_shell(file.path)} --gold FILE --on COLUMN {_metrics(_ANSWERS)}")
        parts.append("\n".join([*lines, *_ask_judges(file, judges)]) + "\n")
    if not systems and not questions:
        parts.append(f'echo "{SCRIPT}: nothing can be scored yet; edit this file" >&2\nexit 1\n')
    return "\n".join(parts)


def _score(each: Scorable) -> str:
    return " ".join(["karat score", _shell(each.data.path), *_join(each), _metrics(each.specs)])


def _join(each: Scorable, below: Path = _HERE) -> Iterator[str]:
    """The flags of its gold, which is in the folder `below`."""
    if each.gold is not None:
        yield f"--gold {_shell(below / each.gold.path)}"
    if each.on is not None:
        yield f"--on {shlex.quote(each.on)}"


def _metrics(specs: tuple[str, ...]) -> str:
    return " ".join(f"-m {shlex.quote(spec)}" for spec in specs)


def _ask_judges(file: DataFile, judges: list[str], *joined: str) -> list[str]:
    if not judges:
        return []
    scored = " ".join(["# karat score", _shell(file.path), *joined])
    head = "# judges ask a language model, which may cost money; --dry-run asks nothing, and says what it would cost"
    return [head, *(f"{scored} -m judge:{name} --model NAME --dry-run" for name in judges[:_JUDGES])]


def _shell(path: Path) -> str:
    """A path as a word of the shell that no command takes for an option."""
    text = path.as_posix()
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _name(file: DataFile) -> str:
    """The name of a run, from that of its file."""
    return re.sub(r"[^\w.+@-]+", "-", file.path.name.partition(".")[0], flags=re.ASCII).strip("-.+@") or "run"


def _name_runs(files: list[DataFile]) -> Iterator[str]:
    taken = set[str]()
    for file in files:
        name = _name(file)
        free = next(each for each in chain([name], (f"{name}-{n}" for n in count(2))) if each not in taken)
        taken.add(free)
        yield free


def _write_task(file: DataFile) -> str:
    column = file.roles["question"][0]
    plain = column.isidentifier() and not iskeyword(column) and column in file.columns
    first = (
        "" if plain else f"question = row[{column!r}]\n    " if column in file.columns else f"# row: see {column}\n    "
    )
    parts = {"file": file.path, "script": TASK, "quoted": _shell(file.path), "first": first}
    return _TASK.format(**parts, parameter=column if plain else "row")


def _find_repository(folder: Path) -> Path:
    """The root of the repository that a folder is in, where GitHub looks for workflows; else the folder."""
    whole = folder.resolve()
    return next((each for each in (whole, *whole.parents) if (each / ".git").exists()), folder)


def _write_workflow(first: Scorable, root: Path) -> str:
    below = first.data.folder.resolve().relative_to(root.resolve())
    indent = " " * 12
    values = ((spec, value.value) for spec, value in first.result.values.items())
    path = (below / first.data.path).as_posix()
    return _WORKFLOW.format(
        answers=json.dumps(f"./{path}" if path.startswith("-") else path, ensure_ascii=False),
        metrics="\n".join(indent + spec for spec in first.specs),
        options=json.dumps(" ".join(_join(first, below)), ensure_ascii=False),
        rows=first.result.n,
        gates="\n".join(f"          #   {spec}={value:.2f}" for spec, value in values if value is not None),
    )
