"""The files that `karat init` writes: a script, options of commands, a task to fill in, and a GitHub workflow."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, count, groupby
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

from karat.core.version import __version__
from karat.data.storage.file_names import drop_ending

if TYPE_CHECKING:
    from karat.cli.start.survey.folder import DataFile
    from karat.cli.start.survey.scorable import Scorable
    from karat.cli.start.survey.trials import Proposals

SCRIPT, OPTIONS, TASK, WORKFLOW = "karat.sh", "karat.toml", "task.py", ".github/workflows/karat.yml"
_HERE = Path()
_ANSWERS = ("em", "f1")
_JUDGES = 3  # that are named for a file
_JUDGE = "correctness"  # where the columns do not say which

_HEAD = """\
#!/bin/sh
# Written by `karat init`: scores the files in this folder. Run it with: sh {script}
# Edit it as you like. A line that begins with # does nothing until you remove the #.
set -e
cd -- "$(dirname -- "$0")"
now=$(date +%Y-%m-%d-%H%M%S)  # each time the runs have new names; `karat runs` lists them
"""
_OPTIONS = """\
# Options of karat's commands in this folder, so that `karat score FILE` is enough; what is typed wins. Written by
# `karat init`. A line that begins with # does nothing until you remove the #. All keys: karat schema {options}
# model = "NAME"                           # of judges
# base-url = "http://localhost:8000/v1"    # where it is; the key is in $OPENAI_API_KEY
# max-calls = 500
[score]
metric = {metrics}
# fail-under = {{ {gate} }}
"""
_TASK = '''\
# Your system, which karat calls for every row of {file}. Written by `karat init`.
#
#     karat experiment {script}:answer --data {quoted} -m em -m f1


def answer({parameter}):
    """The answer to a question. Each parameter is a column; one with another name is the row, as a dict."""
    {first}raise NotImplementedError  # call your system here, and return its answer
'''
_WORKFLOW = """\
# Written by `karat init`: scores the answers, compares them with the last run of the main branch that passed, and fails
# if they are worse. Values and comparison are in the summary of the job, also where it fails. Edit it as you like.
# docs/how-to/ci.md of karat has more: gates, and an action that also writes a comment.
name: karat
on:
  pull_request:
  push:
    branches: [main] # your main branch
  schedule:
    - cron: "17 5 * * 1" # Mondays: a model behind an address may change though no code does
  workflow_dispatch:
permissions:
  contents: read
jobs:
  karat:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: {install} # or the address of a repository: git+https://...
      # - run: python your_system.py # writes the answers, if they are not in the repository
      - uses: actions/cache/restore@v4 # the last run of the main branch that passed
        with:
          path: karat-runs/candidate
          key: karat-${{{{ github.run_id }}}}
          restore-keys: karat-
      - run: test ! -d karat-runs/candidate || mv karat-runs/candidate karat-runs/baseline
      # the lowest value that passes is a flag of this command, such as --fail-under {gate}
      - run: {score}
      # a judge asks a language model, which costs money: here once a week, 500 calls at most; pip needs karat[judge]
      # - if: github.event_name == 'schedule'
      #   env:
      #     OPENAI_API_KEY: ${{{{ secrets.OPENAI_API_KEY }}}}
      #   run: {judge}
      - if: ${{{{ !cancelled() }}}} # also where a gate is not passed
        run: |
          code=0
          if [ ! -d karat-runs/candidate ]; then
            echo "Nothing was scored: the log of the job says why." > summary.md
          elif [ -d karat-runs/baseline ]; then
            karat compare baseline candidate --percent --fail-if-worse -o summary.md || code=$?
          fi
          [ -f summary.md ] || karat runs export candidate --percent -o summary.md
          [ ! -d karat-runs/judged ] || karat runs export judged --percent -o judged.md
          cat summary.md $(ls judged.md 2> /dev/null) >> "$GITHUB_STEP_SUMMARY"
          exit $code
      - if: github.ref_name == github.event.repository.default_branch # and all before has passed
        uses: actions/cache/save@v4
        with:
          path: karat-runs/candidate
          key: karat-${{{{ github.run_id }}}}
"""


def make_files(folder: Path, proposals: Proposals) -> tuple[dict[Path, str], list[DataFile]]:
    """The text of each file to write, by its path, and the data files that are left out for their names.

    The workflow is in the repository that the folder is in, or else in the folder.
    """
    left_out = [file for file in proposals.survey.files if not _is_plain(str(file.path), *file.columns)]
    systems = [
        kept
        for group in proposals.systems
        if (kept := [x for x in group if x.data not in left_out and x.gold not in left_out])
    ]
    questions = [file for file in proposals.questions if file not in left_out][:1]
    without = [(file, judges) for file, judges in proposals.without_gold if file not in left_out]
    files = dict[Path, str]()
    if systems or questions or without:
        files[folder / SCRIPT] = _write_script(systems, questions, without)
    if systems:
        files[folder / OPTIONS] = _write_options(systems[0][0])
    for file in questions:
        files[folder / TASK] = _write_task(file)
    root = _find_repository(folder)
    below = folder.resolve().relative_to(root.resolve())
    if systems and _is_plain(str(below)):
        files[root / WORKFLOW] = _write_workflow(systems[0][0], below)
    return files, left_out


def _is_plain(*names: str) -> bool:
    """Whether names can be written into a script and a workflow: no line breaks, nothing that GitHub evaluates."""
    return all(name.isprintable() and "${{" not in name for name in names)


def _write_script(
    systems: list[list[Scorable]], questions: list[DataFile], without: list[tuple[DataFile, list[str]]]
) -> str:
    names = iter(_name_runs([files[0].data for group in systems for files in _by_file(group)]))
    from karat.runs.scoring.wide import name_columns, name_run  # noqa: PLC0415  (heavy)

    parts = [_HEAD.format(script=SCRIPT)]
    for group in systems:
        runs, lines = list[str](), list[str]()
        for several in _by_file(group):
            name, own = next(names), name_columns([each.column for each in several if each.column])
            runs += [f'"{name_run(f"{name}-$now", each)}"' for each in own] or [f'"{name}-$now"']
            lines += [f"# {each.data.path}: {_describe(each)}" for each in several]
            lines.append(f'{_score(*several)} --run "{name}-$now"')
        lines += [f"# {each.name}: {each.note}" for each in group if each.note]
        if len(_by_file(group)) > 1:
            lines += ["# is the difference real? Each is compared with the first", f"karat compare {' '.join(runs)}"]
        if len(group) > 1:
            lines += ["# the same as a table for a paper, and as a page to read and to send"]
            lines += [f"# karat compare {' '.join(runs)} -o table.tex"]
            lines += [f"# karat report {' '.join(runs)} -o report.html"]
        first = group[0]
        spec, value = next(iter(first.result.values.items()))
        lines += [
            "# a gate: exit code 3 where the value is lower",
            f"# {_score(first)} --fail-under {shlex.quote(spec)}={value.value:.2f}",
        ]
        lines += _ask_judges(_read(_HERE, *_by_file(group)[0]), first.judges)
        parts.append("\n".join(lines) + "\n")
    for file in questions:
        data = _shell(file.path)
        lines = [f"# {file.path}: questions and gold, which your system answers in {TASK}: fill it in"]
        lines.append(f'karat experiment {TASK}:answer --data {data} {_metrics(_ANSWERS)} --run "{_name(file)}-$now"')
        parts.append("\n".join(lines) + "\n")
    for file, judges in without:
        lines = [f"# {file.path}: no gold was found for it. If it is in another file, with the same ids:"]
        lines.append(f"# karat score {_shell(file.path)} --gold FILE --on COLUMN {_metrics(_ANSWERS)}")
        parts.append("\n".join([*lines, *_ask_judges(f"karat score {_shell(file.path)}", judges)]) + "\n")
    if not systems and not questions:
        parts.append(f'echo "{SCRIPT}: nothing can be scored yet; edit this file" >&2\nexit 1\n')
    return "\n".join(parts)


def _write_options(first: Scorable) -> str:
    spec, value = next(iter(first.result.values.items()))
    gate = f"{json.dumps(spec)} = {value.value:.2f}"
    return _OPTIONS.format(options=OPTIONS, metrics=json.dumps(list(first.specs)), gate=gate)


def _by_file(group: Sequence[Scorable]) -> list[list[Scorable]]:
    """The systems of each file."""
    return [list(several) for _, several in groupby(group, key=lambda each: each.data.path)]


def _describe(each: Scorable) -> str:
    return ", ".join(f"{role} is {column}" for role, column in each.result.mapping.items())


def _score(*systems: Scorable, below: Path = _HERE) -> str:
    """The command that scores the systems of a file, from the folder above `below`."""
    return f"{_read(below, *systems)} {_metrics(systems[0].specs)}"


def _read(below: Path, *systems: Scorable) -> str:
    """The command without its metrics."""
    first, *others = systems
    flag = "--predictions " if others else "--map prediction="
    columns = (f"{flag}{shlex.quote(each.column)}" for each in systems if each.column)
    return " ".join(["karat score", _shell(below / first.data.path), *columns, *_join(first, below)])


def _join(each: Scorable, below: Path = _HERE) -> Iterator[str]:
    """The flags of its gold, which is in the folder `below`."""
    if each.gold is not None:
        yield f"--gold {_shell(below / each.gold.path)}"
    if each.on is not None:
        yield f"--on {shlex.quote(each.on)}"


def _metrics(specs: tuple[str, ...]) -> str:
    return " ".join(f"-m {shlex.quote(spec)}" for spec in specs)


def _ask_judges(command: str, judges: list[str]) -> list[str]:
    if not judges:
        return []
    head = "# judges ask a language model, which may cost money; --dry-run asks nothing, and says what it would cost"
    return [head, *(f"# {command} -m judge:{name} --model NAME --dry-run" for name in judges[:_JUDGES])]


def _shell(path: Path) -> str:
    """A path as a word of the shell that no command takes for an option."""
    text = path.as_posix()
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _name(file: DataFile) -> str:
    """The name of a run, from its file's name."""
    return re.sub(r"[^\w.+@-]+", "-", drop_ending(file.path.name), flags=re.ASCII).strip("-.+@") or "run"


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


def _write_workflow(first: Scorable, below: Path) -> str:
    spec, value = next(iter(first.result.values.items()))
    score = json.dumps(f"{_score(first, below=below)} --run candidate", ensure_ascii=False)
    install = json.dumps(f"pip install {shlex.quote(_requirement())}")
    command = (
        f"{_read(below, first)} -m judge:{(first.judges or [_JUDGE])[0]} --model NAME --max-calls 500 --run judged"
    )
    judge = json.dumps(command, ensure_ascii=False)
    return _WORKFLOW.format(install=install, score=score, judge=judge, gate=f"{spec}={value.value:.2f}")


def _requirement() -> str:
    """What pip installs this karat by: its version, or the commit of the repository that it was installed from."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415  (slow to import)

    with suppress(PackageNotFoundError):
        origin = json.loads(distribution("karat").read_text("direct_url.json") or "{}")
        if "vcs_info" in origin:
            return f"karat @ {origin['vcs_info']['vcs']}+{origin['url']}@{origin['vcs_info']['commit_id']}"
    return f"karat=={__version__}"
