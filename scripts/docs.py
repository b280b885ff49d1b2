"""Write what the pages of docs/ take from the code: five generated pages, and the output of the commands shown.

- reference/metrics.md, edge-cases.md and cli.md follow from the definitions of the metrics and of the commands,
  reference/names.md from the table of other tools' names, reference/json.md from the schemas of what commands print.
- In every page, the commands of a ```console block run in order, in a folder of the page's own with `examples` in it.
  Their output replaces the one shown; `...` in an output shown stands for any text and stays.

Run it after changing a metric or a command. The tests fail where a page is stale.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
from click.testing import CliRunner

from karat.cli.main import main
from karat.cli.options.printed import PRINTED, load_schema
from karat.core.columns.kinds import TEXT, TEXTS
from karat.core.metric.metric import Metric
from karat.core.metric.registry import all_metrics
from karat.judges import Judge, own_judges
from karat.metrics.names.other_tools import all_names

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- Written by scripts/docs.py from the definitions; edit those. -->"
WIDTH = 98

TASKS = {  # the headings of the reference, and the modules of karat.metrics whose metrics stand under each
    "Short answers": ("text.match", "text.overlap"),
    "Longer texts and translation": ("text.bleu", "text.rouge", "text.translation"),
    "Edit distance and error rates": ("text.edit",),
    "Choices and labels": ("answers.multiple_choice", "answers.label"),
    "SQL": ("answers.sql.",),
    "Numbers, mathematics and JSON": ("answers.",),
    "Retrieval": ("retrieval.",),
    "Tool calls": ("tools.",),
    "Similarity of meaning": ("similarity.",),
    "Support by contexts": ("support.",),
    "Scores that exist": ("scores.",),
    "Others": ("",),
}
LABELS = {"labels": ["Paris", "Lyon"]}
NEEDED: dict[str, dict[str, Any]] = {
    "matches_regex": {"pattern": "Paris"},
    "label_precision": LABELS,
    "label_recall": LABELS,
    "label_f": LABELS,
    "column": {"name": "gpt4"},
    "json_schema": {"schema": {"type": "number"}},
    "percentile": {"name": "gpt4"},
}
CASES = {
    "equal": ("Paris", ["Paris"]),
    "other case": ("paris", ["Paris"]),
    "full stop": ("Paris.", ["Paris"]),
    "second reference": ("Paris", ["Lyon", "Paris"]),
    "1 in 15": ("15", ["1"]),
    "thousands": ("1,234", ["1234"]),
    "-5 for 5": ("-5", ["5"]),
    "only articles": ("the", ["a"]),
    "both empty": ("", [""]),
    "empty prediction": ("", ["Paris"]),
    "empty reference": ("Paris", [""]),
    "no reference": ("Paris", []),
    "null": (None, ["Paris"]),
}
ELSEWHERE = (  # metric, what it does, what the script of another does
    ("`wer`", "splits words at all white space", "jiwer splits at blanks alone: a tab is part of a word"),
    ("`drop_f1`", "a row whose gold answers are all blank is unscored", "DROP's script gives it 0"),
    ("logs of Inspect", "white space around targets is dropped", "the log has it; Inspect's `match` drops it too"),
    ("`locomo_f1`", "compares whole answers, and the best gold answer counts",
     "REMem compares what precedes the first comma with the first gold answer: `compared='first'`"),
    ("`locomo_f1`", "without gold, a row of categories 1 to 4 is unscored", "REMem ends with an error"),
    ("`QAMem0LLMJudge`", "reads any JSON reply; a row without a verdict is an error",
     "REMem counts the literal `{\"label\": \"CORRECT\"}` alone, all else as 0: `unreadable='wrong'` for the second"),
    ("`QALongMemEvalLLMJudge`", "judges every row", "REMem ends with an error at the second row"),
    ("`preset:spider`", "a row whose gold query fails is unscored; a query has 60 seconds",
     "Spider's script ends with an error; its limit of 60 seconds does not interrupt a query"),
    ("`preset:spider`", "1 and 1.0 are equal", "in Spider's script not always, in rows of several columns"),
    ("`preset:bird`", "a row whose gold query fails is unscored; a query has 30 seconds",
     "BIRD's script gives it 0; both queries have 30 seconds together"),
    ("`sql_match`", "a result of more than `most_rows` rows is not read", "the scripts of Spider and BIRD read all"),
    ("`judge:nuggets`", "a row without a vital nugget, or without any, is unscored",
     "nuggetizer gives it 0: `empty='zero'`, as in `preset:nuggetizer`"),
    ("`UnifiedBenchDatasetEvaluator`", "gold `1` is not in “21”; “A good answer is B” chooses B; labels count from 0",
     "DataFlow: either text may contain the other, A is chosen, label 4 of 4 choices is 3: `rules='dataflow'`"),
    ("`AgenticRAGQAF1SampleEvaluator`", "a row without answer or gold has no score", "DataFlow: 0, `missing='zero'`"),
    ("`BleuSampleEvaluator`", "BLEU of the order asked for", "DataFlow writes that of order 1: `score='bleu_1'`"),
    ("`RetrievalRecallLocomo`", "has the keys of `RetrievalRecall`", "the same in REMem: one overwrites the other"),
)  # fmt: skip
NAMED = {  # what a kind of name of another tool means
    "spec": "`{}`",
    "preset": "`preset:{}`",
    "judge": "`judge:{}`, with a model",
    "note": "not here: {}",
    "which": "{}: say which",
    "same": "another metric has the name: {}",
}
EXIT_CODES = {
    0: "done",
    1: "the command could not run, or nothing was scored: every call of a judge failed, or no row has a score",
    2: "wrong usage",
    3: "a value is below its `--fail-under`, or `--fail-unless-no-worse` is not shown",
    4: "a system is worse, with `--fail-if-worse`",
    5: "the scores could not be logged to Phoenix",
    6: "a cap, `--max-calls` or `--budget`, was reached: not everything was asked, and `--resume` goes on",
    130: "interrupted by Ctrl-C",
}


def pages() -> dict[str, str]:
    """The text of each generated page, by name."""
    return {
        "metrics.md": metrics_page(),
        "names.md": names_page(),
        "edge-cases.md": edge_case_page(),
        "cli.md": cli_page(),
        "json.md": json_page(),
    }


def by_task() -> dict[str, list[Metric]]:
    """The metrics of karat itself under their headings."""
    tasks: dict[str, list[Metric]] = {heading: [] for heading in TASKS}
    for metric in all_metrics():
        room, _, module = metric.definition.function.__module__.partition("karat.metrics.")
        if not room:
            heading = next(each for each, prefixes in TASKS.items() if module.startswith(prefixes))
            tasks[heading].append(metric)
    return {heading: metrics for heading, metrics in tasks.items() if metrics}


def metrics_page() -> str:
    """Every metric: summary, columns, settings, range, source, example."""
    parts = ["# Metrics", "", NOTE, ""]
    parts += _wrapped(
        "Every metric with its settings, its source and an example. `karat metrics NAME` prints the same. "
        "[Settings](settings.md) explains the settings that many metrics have. [Edge cases](edge-cases.md) shows "
        "what each metric gives for empty texts, nulls and the like."
    )
    for heading, metrics in by_task().items():
        parts += ["", f"## {heading}", "", "| metric | is |", "|---|---|"]
        parts += [f"| [`{metric.name}`](#{metric.name}) | {metric.definition.summary} |" for metric in metrics]
        for metric in metrics:
            parts += ["", *_section(metric)]
    parts += ["", "## Judges", ""]
    parts += _wrapped(
        "A judge is a metric that asks a language model: [Judges](../how-to/judges.md). "
        "`karat metrics judge:NAME` prints its prompt."
    )
    parts += ["", "| judge | is | columns |", "|---|---|---|"]
    for name in own_judges():
        definition = Judge(name, model="any").definition
        columns = ", ".join(f"`{role}`" for role in definition.columns)
        parts.append(f"| `judge:{name}` | {definition.summary} | {columns} |")
    return "\n".join(parts) + "\n"


def _section(metric: Metric) -> list[str]:
    definition = metric.definition
    text, _, example = definition.documentation.partition(">>> ")
    settings = [
        f"| `{setting.name}` | `{setting.default!r}` | {', '.join(f'`{c!r}`' for c in setting.choices)} |"
        for setting in definition.settings.values()
    ]
    low, high = ("−∞" if definition.low is None else f"{definition.low:g}"), definition.high
    columns = ", ".join(f"`{role}` ({kind.name})" for role, kind in definition.columns.items())
    names = ", ".join(f"`{alias}`" for alias in definition.aliases)
    better = "more is better" if definition.direction == "maximize" else "less is better"
    return [
        f"### {metric.name}",
        "",
        *_wrapped(text.strip()),
        "",
        "```python",
        f">>> from karat.metrics import {metric.name}",
        *f">>> {example}".strip().splitlines(),
        "",
        "```",
        "",
        *_wrapped(f"- Columns: {columns}", indent="  "),
        f"- Range: {low} to {'∞' if high is None else f'{high:g}'}; {better}",
        *(_wrapped(f"- Other names: {names}", indent="  ") if names else []),
        f"- Version: {definition.version}",
        *_wrapped(f"- Source: {definition.source}", indent="  "),
        *(["", "| setting | default | choices |", "|---|---|---|", *settings] if settings else []),
    ]


def _wrapped(text: str, indent: str = "") -> Iterator[str]:
    """The paragraphs of a text in lines of at most `WIDTH`; lists, tables and indented lines as they are."""
    for paragraph in re.split(r"(\n\s*\n)", text):
        if not paragraph.strip():
            yield ""
        elif re.search(r"^(\s|[-*|]|\d+\.|```)", paragraph, re.MULTILINE) and not indent:
            yield from paragraph.splitlines()
        else:
            whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), " ".join(paragraph.split()))
            for line in textwrap.wrap(
                whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            ):
                yield line.replace("\0", " ")


def names_page() -> str:
    """What the names of metrics in other tools mean here."""
    names = all_names()
    parts = ["# Names of other tools", "", NOTE, ""]
    parts += _wrapped(
        f"{len({each.name for each in names}):,} names that other tools have for metrics, and what each means here. "
        "Upper case, `_`, `-` and blanks do not count, and `@10`, `_10` or `_at_10` is a cut-off. A name is read as a "
        "metric only where the tool's definition is karat's; a run records karat's name. For any other name an error "
        "says what this page says. trec_eval's and ir_measures' own spellings, such as `P.5,10`, are read too."
    )
    for tool in dict.fromkeys(each.tool for each in names):
        rows: dict[str, list[str]] = {}
        for each in (each for each in names if each.tool == tool):
            rows.setdefault(NAMED[each.kind].format(each.text), []).append(f"`{each.name}`")
        parts += ["", f"## {tool}", "", "| name | here |", "|---|---|"]
        parts += [f"| {', '.join(found)} | {text} |" for text, found in rows.items()]
    return "\n".join(parts) + "\n"


def edge_case_page() -> str:
    """What every metric of texts gives where it is not obvious."""
    parts = ["# Edge cases", "", NOTE, ""]
    parts += _wrapped(
        "What each metric gives, with its default settings, for a prediction and its references. "
        "An empty cell is a row that is unscored: it has a reason instead of a score."
    )
    parts += ["", "| case | prediction | references |", "|---|---|---|"]
    parts += [f"| {name} | `{prediction!r}` | `{references!r}` |" for name, (prediction, references) in CASES.items()]
    for heading, metrics in by_task().items():
        found = [
            metric.using(**NEEDED.get(metric.name, {}))
            for metric in metrics
            if set(metric.definition.columns.values()) <= {TEXT, TEXTS}
            and "database" not in metric.definition.columns  # whose texts are queries
            and not metric.definition.remote  # a model's answer depends on the model
        ]
        if found:
            parts += ["", f"## {heading}", "", "| metric | " + " | ".join(CASES) + " |", "|---|" + "---|" * len(CASES)]
            parts += [f"| `{metric.spec}` | {' | '.join(_scores(metric))} |" for metric in found]
    parts += ["", "## Where a script does otherwise", "", "| what | here | there |", "|---|---|---|"]
    parts += [f"| {' | '.join(row)} |" for row in ELSEWHERE]
    return "\n".join(parts) + "\n"


def _scores(metric: Metric) -> list[str]:
    predictions, references = zip(*CASES.values(), strict=True)
    choices = pa.array([["Paris", "Lyon"]] * len(references))
    columns = {"prediction": pa.array(predictions), "reference": pa.array(references), "choices": choices}
    scores = metric(**{role: columns[role] for role in metric.definition.columns})
    return ["" if score is None else f"{score:.4g}" for score in scores.to_pylist()]


def cli_page() -> str:
    """The help of every command, and the exit codes."""
    parts = ["# Command line", "", NOTE, "", "Each command's help, as `karat COMMAND --help` prints it."]
    parts += ["", "## Exit codes", "", "| code | meaning |", "|---|---|"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    context = click.Context(main, info_name="karat", terminal_width=WIDTH, **main.context_settings)
    commands: dict[str, Any] = {"": main} | {
        name: main.get_command(context, name) for name in main.list_commands(context)
    }
    for name, command in commands.items():
        inner = click.Context(command, info_name=name, parent=context) if name else context
        parts += ["", f"## {f'karat {name}'.strip()}", "", "```text", command.get_help(inner), "```"]
        for verb, under in sorted(getattr(command, "commands", {}).items()) if name else ():
            innermost = click.Context(under, info_name=verb, parent=inner)
            parts += ["", f"### karat {name} {verb}", "", "```text", under.get_help(innermost), "```"]
    return "\n".join(parts) + "\n"


def json_page() -> str:
    """What each command prints with --json, and what is in several of these."""
    parts = ["# JSON", "", NOTE, ""]
    parts += _wrapped(
        "What commands print with `--json`. `karat schema COMMAND` prints the same as a "
        "[JSON Schema](https://json-schema.org), to which the tests hold every output. A property marked * is there "
        "only where it applies, all others always. Objects have no other properties."
    )
    shared: dict[str, Any] = {}
    for command in PRINTED:
        schema = load_schema(command)
        shared |= schema.get("$defs", {})
        parts += ["", f"## karat {command}", "", *_members(schema)]
    parts += ["", "## Parts of several"]
    for name, schema in sorted(shared.items()):
        parts += ["", f"### {name}", "", *_members(schema)]
    return "\n".join(parts) + "\n"


def _members(schema: dict[str, Any]) -> list[str]:
    """A schema as a table of its properties; a line where it has none."""
    about = [
        line for part in filter(None, schema.get("description", "").split("\n\n")) for line in (*_wrapped(part), "")
    ]
    if "properties" not in schema:
        return [*about, *_wrapped(_kind(schema))]
    rows = [f"| {path} | {_kind(each)} |" for path, each in _walk(schema, "")]
    return [*about, "| property | type |", "|---|---|", *rows]


def _walk(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The path and the schema of each property, those of properties too."""
    for name, each in schema.get("properties", {}).items():
        inner, here = each, f"{path}.{name}" if path else name
        yield f"`{here}`{'' if name in schema['required'] else ' *'}", each
        while deeper := inner.get("items") or inner.get("additionalProperties"):
            inner, here = deeper, here + ("[]" if "items" in inner else ".NAME")
        yield from _walk(inner, here)


def _kind(schema: dict[str, Any]) -> str:
    """The type of a value in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if (choices := schema.get("anyOf") or schema.get("oneOf")) is not None:
        return " or ".join(map(_kind, choices))
    if "prefixItems" in schema:
        return f"array of {', '.join(map(_kind, schema['prefixItems']))}"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kinds = schema.get("type", "any")
    kind = kinds if isinstance(kinds, str) else " or ".join(kinds)
    inner = schema.get("items") or schema.get("additionalProperties")
    return f"{kind} of {_kind(inner)}" if inner else kind


def run_commands(page: str) -> str:
    """A page with the output of the commands in its console blocks made anew."""
    if "```console" not in page:
        return page
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "page"
        folder.mkdir()
        (folder / "examples").symlink_to(ROOT / "examples")
        program = folder.parent / "karat"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m karat "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        variables = {"PATH": f"{program.parent}:{os.environ['PATH']}", "KARAT_RUNS": None}

        def block(found: re.Match[str]) -> str:
            """One console block, with the output of each of its commands."""
            text = ""
            for shown in re.split(r"^\$ ", found[1], flags=re.MULTILINE)[1:]:
                line, _, output = shown.partition("\n")
                text += f"$ {line}\n{_same_or_new(output, _run(line, folder, variables), folder)}"
            return f"```console\n{text}```"

        return re.sub(r"^```console\n(.*?)^```", block, page, flags=re.DOTALL | re.MULTILINE)


def _run(line: str, folder: Path, variables: dict[str, str | None]) -> str:
    """What a command prints: in this process, which is faster, unless it needs a shell."""
    if line.startswith("karat ") and not re.search(r"[|<>;&$]", line):
        with contextlib.chdir(folder):
            return CliRunner(env=variables).invoke(main, shlex.split(line)[1:]).output
    return subprocess.run(  # noqa: S603
        ["/bin/bash", "-c", line],
        cwd=folder,
        env={name: value for name, value in {**os.environ, **variables}.items() if value is not None},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    ).stdout


def _same_or_new(shown: str, printed: str, folder: Path) -> str:
    """What the page shows, where that is what was printed but for spaces and `...`; else what was printed."""

    def squeeze(text: str) -> str:
        return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())

    pattern = ".*?".join(re.escape(part) for part in squeeze(shown).split("..."))
    if re.fullmatch(pattern, squeeze(printed), re.DOTALL):
        return shown
    varying = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "...", printed.replace(str(folder), "..."))
    return "".join(f"{line.rstrip()}\n" for line in varying.splitlines())


def written_pages() -> list[Path]:
    """README.md and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


if __name__ == "__main__":
    for page, text in pages().items():
        (REFERENCE / page).write_text(text, encoding="utf-8")
    for path in written_pages():
        before = path.read_text("utf-8")
        if (after := run_commands(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(f"changed: {path.relative_to(ROOT)}")
