"""The flags of `karat judge --exam`, and what it prints: answers of known truth, and a judge's errors by class."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.completion import FILE, OUT
from karat.cli.options.gates import UNDER, fail
from karat.cli.options.models import ask_models
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import exit_if_capped, option_group, progress_bar
from karat.cli.options.sections import options_under

if TYPE_CHECKING:
    from karat.cli.options.governor import ModelOptions
    from karat.runs.judge.exam.figures import Exam
    from karat.runs.judge.exam.paper import Paper

_under = options_under("The exam, from gold alone")
_QUESTIONS = 200
_READ = ("gold", "on", "where", "limit", "human")  # the options that say which rows are read
_OF_ROWS = ("columns", "by", "cluster", "ask", "rewordings", "answer", "author", "own", "calibration")
_LONG = 300  # characters of a text that are shown


def _read_gates(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    gates = []
    for text in texts:
        name, _equals, number = text.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise click.UsageError(f"--fail-accepts {text!r}: expected a share from 0 to 1, or CLASS=SHARE")
        gates.append((name, share))
    return tuple(gates)


_OPTIONS = [
    _under(
        "--exam", "questions", type=Whole(min=1), is_flag=False, flag_value=_QUESTIONS, metavar="[N]",
        help=f"Make answers of known truth from the gold of N questions, {_QUESTIONS} by default, and ask about these.",
    ),
    _under(
        "--exam-class", "classes", multiple=True, metavar="NAME",
        help="Only these answers: right, wrong, pressure, or a class of these.",
    ),
    _under("--width", type=Real(0, 1, min_open=True), metavar="W",
           help="Also how many questions give each share an interval of this width, from end to end."),
    _under(
        "--fail-accepts", "accepts", multiple=True, metavar="[CLASS=]SHARE", callback=_read_gates,
        help="Exit with 3 if a larger share of the wrong answers (of this class) is accepted.",
    ),
    _under(
        "--certify", type=Real(0, 1, min_open=True, max_open=True), metavar="LIMIT",
        help="Test for each class of wrong answers that less than this share of them is accepted.",
    ),
    _under("--keep-certificate", type=FILE, help="With --certify: write what was certified, and of which judge."),
    _under("--keep-exam", "kept", type=OUT, help="Write all answers of the exam, with their scores, to this file."),
]  # fmt: skip


@dataclass(frozen=True)
class ExamOptions:
    """The options of an exam; `questions` is None without one."""

    questions: int | None
    classes: tuple[str, ...]
    width: float | None
    accepts: tuple[tuple[str, float], ...]
    certify: float | None
    keep_certificate: str | None
    kept: str | None

    def check(self, metrics: Sequence[str], options: Mapping[str, Any]) -> None:
        """Raise `click.UsageError` for flags of an exam without one, and for flags that one does not have."""
        named = {"--exam-class": self.classes, "--width": self.width, "--fail-accepts": self.accepts,
                 "--certify": self.certify, "--keep-exam": self.kept}  # fmt: skip
        if self.keep_certificate is not None and self.certify is None:
            raise click.UsageError("--keep-certificate keeps what --certify LIMIT tests: --exam --certify 0.05")
        if self.questions is None:
            if lone := [flag for flag, value in named.items() if value]:
                raise click.UsageError(f"{lone[0]} is about an exam: --exam")
            return
        if not metrics:
            raise click.UsageError("--exam examines the judges and metrics that -m names: -m judge:correctness")
        if wrong := [name for name in _OF_ROWS if options[name]]:
            flag = {"columns": "column", "rewordings": "reword"}.get(wrong[0], wrong[0])
            raise click.UsageError(f"--{flag} is about answers that exist, and --exam makes its own: leave it away")


exam_options = option_group("exam", ExamOptions, _OPTIONS)
"""Give a command the flags of an exam; it gets them as `exam`."""


def hold_exam(
    system: str,
    metrics: Sequence[str],
    chosen: ExamOptions,
    asking: ModelOptions,
    same: Any,
    options: Mapping[str, Any],
) -> None:  # fmt: skip
    """Make an exam, ask about it, and print what was found; with `--dry-run` print what would be asked.

    `options` are the others of the command. Exit with 3 where a share of wrong answers that are accepted exceeds its
    gate, with 6 where a cap was reached.
    """
    from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)
    from karat.runs.judge.exam.exam import Marking, ask, check_metrics  # noqa: PLC0415
    from karat.runs.judge.exam.paper import make_exam  # noqa: PLC0415
    from karat.runs.scoring.arguments import Selection  # noqa: PLC0415
    from karat.stats.inference import Inference  # noqa: PLC0415

    parsed = check_metrics(parse_all(metrics))
    read: dict[str, Any] = {name: options[name] for name in _READ}
    selection = Selection(system, map=options["map"] or {}, **read)
    paper = make_exam(selection, questions=chosen.questions or _QUESTIONS, classes=chosen.classes, seed=options["seed"])
    for name, _ in chosen.accepts:
        _check_gate(name, paper)
    inference = Inference(options["confidence"], options["seed"])
    marking = Marking(chosen.width, options["errors"], chosen.certify, chosen.kept, inference)
    same = [*same, chosen.questions, chosen.classes]
    dry_run = asking.rehearses
    if dry_run:
        _print_paper(paper)
        if chosen.kept is not None:
            paper.save(chosen.kept)
    if any(metric.asks_model for metric in parsed):
        estimate = asking if dry_run else replace(asking, dry_run=True, replies=())
        with warnings.catch_warnings(record=True), ask_models(
            parsed, estimate, same, run=None, beforehand=not dry_run
        ) as judges:  # fmt: skip
            ask(paper, judges, replace(marking, output=None))
    if dry_run:
        return
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        with ask_models(parsed, asking, same, run=None) as judges, progress_bar("examining", "answers") as progress:
            result = ask(paper, judges, marking, progress)
    for warning in warned:
        click.echo(f"warning: {warning.message}", err=True)
    for output in options["outputs"]:
        result.save(output)
    if chosen.keep_certificate is not None:
        from karat.runs.judge.exam.certificates import save_certificates  # noqa: PLC0415

        save_certificates(result, chosen.keep_certificate)
    if options["as_json"]:
        click.echo(json.dumps(result.as_dict(), ensure_ascii=False))
    else:
        _print_exam(result)
    exit_if_capped()
    fail(_failures(result, chosen.accepts), UNDER)
    for each in result.judges:
        if not each.scored:
            raise click.ClickException(f"{each.score} has no score on any of {each.n} answers")


def _check_gate(name: str, paper: Paper) -> None:
    from karat.core.errors import did_you_mean  # noqa: PLC0415
    from karat.runs.judge.exam.answers.classes import CLASSES  # noqa: PLC0415

    known = [each for each in paper.asked if not CLASSES[each].truth]
    if name and name not in known:
        problem = f"there is no class {name!r} of wrong answers{did_you_mean(name, known)}"
        raise click.UsageError(f"--fail-accepts {name}=…: {problem}; there are: {', '.join(known)}")


def _failures(result: Exam, gates: Sequence[tuple[str, float]]) -> Iterator[str]:
    """A line for each share of accepted wrong answers that exceeds its gate, or is not known."""
    from karat.stats.value import spell  # noqa: PLC0415

    for judge in result.judges:
        for name, most in gates:
            share = judge.classes[name].error if name else judge.false_praise
            what = f"{judge.score}: the share of wrong answers{f' ({name})' if name else ''} that it accepts"
            if share.value is None:
                yield f"{what} is not known, at most {most:g} was asked for"
            elif share.value > most:
                yield f"{what} is {spell(share.value, '.4g')}, at most {most:g} was asked for"


def _describe_paper(paper: Paper) -> Iterator[str]:
    source = paper.source
    gold = ", ".join(f"{role} from {name!r}" for role, name in source.mapping.items())
    yield f"{source.name}: {source.rows} rows; {gold}"
    if source.without_gold:
        yield f"{source.without_gold} rows have no gold and are left out"
    types = ", ".join(f"{count} {name}" for name, count in paper.types.items())
    yield f"{paper.questions} questions, {paper.table.num_rows} answers; types of gold: {types}"


def _print_paper(paper: Paper) -> None:
    from karat.cli.options.screen import open_screen  # noqa: PLC0415
    from karat.runs.judge.exam.paper import list_classes  # noqa: PLC0415
    from karat.runs.table.table import Table  # noqa: PLC0415

    screen = open_screen()
    for line in _describe_paper(paper):
        screen.line(line, "dim")
    rows = [[kind.group, name, str(total), str(dropped)] for name, kind, total, dropped in list_classes(paper)]
    screen.table(Table.of_texts(["answers", "class", "asked", "dropped"], rows, names=2))
    screen.line("dropped: candidates that might have been right after all", "dim")


def _print_exam(result: Exam) -> None:
    from karat.cli.options.screen import open_screen  # noqa: PLC0415
    from karat.runs.compare.scored_rows import show_text  # noqa: PLC0415
    from karat.runs.judge.exam.certificates import describe_certificates  # noqa: PLC0415

    screen = open_screen()
    for line in _describe_paper(result.paper):
        screen.line(line, "dim")
    for judge, table in zip(result.judges, result.tables(), strict=True):
        screen.line(judge.score)
        for sentence in judge.sentences():
            screen.line(sentence)
        if judge.certificates:
            limit = next(iter(judge.certificates.values())).limit
            screen.line(describe_certificates(judge.certificates, limit, judge.alpha or 0, result.questions))
        screen.table(table)
    for each in result.errors:
        truth = "right, refused" if each.truth else "wrong, accepted"
        screen.line(f"\n{truth} by {each.judge}: {each.answer_class}, {each.edit}")
        screen.line(f"  {show_text(each.question or '', _LONG)}")
        screen.line(f"  gold: {show_text(' | '.join(each.references), _LONG)}")
        screen.line(f"  answer: {show_text(each.prediction, _LONG)}")
        if each.explanation:
            screen.line(f"  {each.judge}: {show_text(each.explanation, _LONG)}")
