"""``karat label``: label rows in the terminal, one key a label; or which rows to label next."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.completion import COLUMN, FILE, OUT, ROWS, SPEC
from karat.cli.options.governor import ModelOptions
from karat.cli.options.label_rule import RuleOptions, offering, rule_options
from karat.cli.options.models import ask_models, model_options
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.people import LabelOptions, label_options, read_choices
from karat.cli.options.sections import command, options_under
from karat.cli.people.terminal import KEYS, label_all

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.runs.sampling.next_rows import By


_next = options_under("Which rows to label (--next)")


@command()
@click.argument("sources", type=ROWS, nargs=-1, metavar="ROWS...")
@click.option("-o", "--output", required=True, type=OUT, help="The labels, as .jsonl; appends to an existing file.")
@click.option("--gold", type=FILE, help="Doubtful gold, of karat gold -o: say what is wrong; OUT is a gold patch.")
@click.option("--nuggets", type=FILE, help="A nugget bank: edit its nuggets; OUT is the edited bank.")
@click.option("-m", "--metric", "metrics", multiple=True, type=SPEC, help="A judge, whose labels are offered.")
@click.option("--annotator", metavar="NAME", help="Who labels; default: the user's name.")
@click.option("--on", type=COLUMN, help="The id of the rows; default: one that tells the rows apart.")
@click.option("--show", multiple=True, type=COLUMN, help="A column to show; default: question, answer and gold.")
@click.option("--seed", type=Whole(min=0), metavar="N", default=0, show_default=True, help="Of the order of the rows.")
@_next("--next", "count", type=Whole(min=1), metavar="N", help="Write N rows to label to OUT, and ask for no label.")
@_next(
    "--by",
    type=click.Choice(["uniform", "uncertainty", "disagreement", "slice", "active"]),
    help="All rows alike (uniform, the default); or rather rows of uncertain scores, on which metrics disagree, of "
    "slices in which the judge errs, or at scores at which the labels so far found it to err more.",
)
@_next("--slice", "slices", type=COLUMN, help="The column of the slices, for --by slice.")
@rule_options
@options_under("When labels are enough")(
    "--price-call", type=Real(0, min_open=True), metavar="USD",
    help="What a verdict of a judge costs: with --model, how many are asked for each label; else, before the first "
    "label, says whether a judge that a rule stopped had better be asked the other rows.",
)  # fmt: skip
@model_options
@label_options
def label(
    sources: tuple[str, ...],
    output: str,
    gold: str | None,
    nuggets: str | None,
    metrics: tuple[str, ...],
    annotator: str | None,
    count: int | None,
    by: By | None,
    slices: str | None,
    people: LabelOptions,
    enough: RuleOptions,
    price_call: float | None,
    asking: ModelOptions,
    **options: Any,
) -> None:
    """Label ROWS (a run, a file or several systems) in the terminal: one key a label.

    Neither scores nor the names of systems are shown, and the order is shuffled. Every key is kept at once: the same
    command continues where it was stopped. Other annotators add theirs to the same file.

    With --until-width the interval of your mean over all rows is shown after each label, and labelling ends when it is
    that narrow: rows come in random order, so that one may look as often as one likes. -m then also names metrics of
    ROWS that narrow it, by default the first three. With --model a judge of -m is asked meanwhile, where it has not
    scored the rows: about each row that you label and about others, as many as the prices say, or about all rows first.

    With --next no label is asked for: OUT gets the rows that people should label next for the narrowest interval, with
    an empty column for labels and the probability with which each row was drawn. `karat score --human OUT` and
    `karat compare --human OUT` use it to reweight the rows. OUT takes the place of the labels so far
    (--human). How many rows drawn uniformly the proposed ones should be worth is printed. Of several systems each row
    has the answers of all: those rows that say most about how far the others differ from the first.

    With --gold the question is whether the gold is right. You see the rows of a file of `karat gold -o`: question,
    gold, contexts and the answers of all systems, each once. Say that the gold is right, wrong, ambiguous, or that an
    answer is also right, and why. OUT is the gold patch that follows, for `karat score --gold-patch OUT`.

    With --nuggets you see a question and its nuggets, the facts of a good answer, one after the other. Say that a
    nugget is vital or okay, drop it, or edit it and add others. OUT is the edited bank, for `judge:nuggets`.

    \b
    karat label answers.jsonl -o labels.jsonl -m judge:correctness
    karat label before after -o labels.jsonl --label-map "good=1,bad=0" --annotator ada
    karat label before -o labels.jsonl --label-map "good=1,bad=0" --until-width 0.06 -m token_f1
    karat label before -o labels.jsonl -m judge:correctness --until-cost 50 --price-label 0.3 --price-call 0.002 \\
        --model NAME
    karat label --gold doubts.jsonl -o patch.jsonl
    karat label --nuggets nuggets.jsonl -o edited.jsonl
    karat label before --next 100 -o labels.csv
    karat label before --next 100 --by active -m judge:correctness --human labels.csv -o more.csv
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if gold is not None or nuggets is not None:
        flag, others = ("--nuggets", {}) if gold is None else ("--gold", {"nuggets": nuggets})
        _check_alone(flag, people, asking, **others, sources=sources, metrics=metrics, next=count, by=by, slice=slices,
                     price_call=price_call, **vars(enough), on=options["on"], show=options["show"])  # fmt: skip
        _check_terminal(output)
        from karat.cli.people.gold_verdicts import decide_gold  # noqa: PLC0415  (heavy)
        from karat.cli.people.nugget_bank import edit_nuggets  # noqa: PLC0415

        ask = edit_nuggets if gold is None else decide_gold
        ask(gold or nuggets or "", output, annotator or getpass.getuser(), options["seed"])
        return
    if not sources:
        raise click.UsageError("Missing argument 'ROWS...'.")
    rule = enough.read()
    _check_prices(enough, price_call, asking, labels=count is None)
    if count is not None:
        from karat.cli.people.proposal import write_proposal  # noqa: PLC0415  (heavy)

        if annotator is not None:
            raise click.UsageError("--annotator says who labels, and with --next nobody does")
        if rule is not None:
            raise click.UsageError("--until-width and --until-cost end the labelling, and with --next nobody labels")
        write_proposal(sources, count, output, people, by or "uniform", metrics=metrics, slices=slices, **options)
        return
    if by or slices or people.human or people.label_columns:
        raise click.UsageError("--by, --slice, --human and --label-column say which rows to label: --next N")
    judge = offering(metrics, people.label_map, several=rule is not None)
    choices = read_choices(people.label_map, judge, len(KEYS))
    _check_terminal(output)
    from karat.runs.labels.rows_to_label import open_rows_to_label  # noqa: PLC0415  (heavy)
    from karat.runs.labels.session import Session  # noqa: PLC0415
    from karat.runs.sampling.free_metrics import advise_judging, read_rule  # noqa: PLC0415

    rows = open_rows_to_label(sources, options["on"], options["show"])
    with _ask_judge(metrics, asking, [sources, output]) as judge_beside:
        beside, advice = None, ""
        if rule is not None and price_call is not None and judge_beside is not None:
            from karat.runs.sampling.judging import read_judge  # noqa: PLC0415

            if (beside := read_judge(sources[0], judge_beside, *rule, price_call)) is not None:
                click.echo(beside, err=True)
        ends = None if rule is None else read_rule(sources, metrics, *rule, beside)
        session = Session(rows.rows, output, annotator or getpass.getuser(), choices, options["seed"], ends)
        if rule is not None and price_call is not None and not session.finished:
            advice = str(beside) if beside is not None else advise_judging(sources[0], *rule, price_call)
        with suppress(EOFError, KeyboardInterrupt):
            label_all(session, rows, advice)
        session.settle()
    if (interval := session.interval) is not None:
        click.echo(interval)
    click.echo(f"{session.finished} of {len(session.rows)} rows are done; labels are in {output}")


def _check_alone(file_flag: str, people: LabelOptions, asking: ModelOptions, **others: Any) -> None:
    """Raise `click.UsageError` for what says which rows are labelled, and how, beside a file of them."""
    others |= vars(people)
    others["model"] = asking.models
    if used := next((name for name, value in others.items() if value), None):
        flag = "ROWS" if used == "sources" else f"--{used.replace('_', '-').replace('metrics', 'metric')}"
        raise click.UsageError(f"{file_flag} FILE has the rows, and the verdicts are fixed: leave {flag} out")


def _check_terminal(output: str) -> None:
    """Raise `click.UsageError` where nobody could type labels, or the file for them has another ending."""
    if not output.endswith((".jsonl", ".ndjson")):
        raise click.UsageError(f"--output {output!r}: expected a name that ends in .jsonl")
    if not sys.stdin.isatty():
        raise click.UsageError("labels are typed: a terminal is expected as standard input")


def _check_prices(enough: RuleOptions, price_call: float | None, asking: ModelOptions, *, labels: bool) -> None:
    """Raise `click.UsageError` for flags of models, and a price of verdicts, that labels have no use for."""
    if asking.rehearses or asking.replies:
        raise click.UsageError("labels wait for the verdicts: leave --dry-run, --write-requests, --replies away")
    if not asking.models:
        with ask_models((), asking, None, run=None):  # no other flag of models either
            pass
        if price_call is not None and (enough.until_width is None or enough.price_label is None):
            raise click.UsageError(
                "--price-call is weighed against labels until a width: --until-width 0.1 --price-label 0.3"
            )
    elif not labels or enough.read() is None or not enough.price_label or price_call is None:
        raise click.UsageError(
            "--model asks a judge for what its verdicts save of labels: "
            "--until-width 0.1 --price-label 0.3 --price-call 0.002"
        )


@contextmanager
def _ask_judge(metrics: Sequence[str], asking: ModelOptions, same: Any) -> Iterator[Metric | None]:
    """The judge among some metrics, which may be asked within the block by the flags of models; None without them."""
    if not asking.models:
        yield None
        return
    from karat.core.metric.spec import parse  # noqa: PLC0415  (heavy)

    judges = [metric for metric in map(parse, metrics) if metric.definition.judge]
    with ask_models(judges[:1], replace(asking, resume=not asking.no_cache), same, run=None) as chosen:
        yield chosen[0]
