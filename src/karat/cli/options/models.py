"""Models on the command line: which ones, how many calls and how much money they may use, and what they used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, cast

import click

from karat.cli.options.completion import FILE
from karat.cli.options.governor import ModelOptions, check_governor, open_governor
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import CAPPED, Command, option_group
from karat.cli.options.sections import check_address, is_from_file, options_under

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.models.governor.dry_run import RequestEstimate
    from karat.models.governor.governor import Governor

_SENT = ("max_tokens", "reasoning_effort", "extra_body")
_ABOVE_0 = Real(0, min_open=True)
_ABSENT: tuple[Any, ...] = (None, False, ())
RESUME = "replies so far are kept: the same command with --resume continues"


def _price(_: click.Context, parameter: click.Parameter, text: str | None) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        price_in, price_out = map(float, text.split(","))
    except ValueError:
        price_in = price_out = -1.0
    if not (0 <= price_in < inf and 0 <= price_out < inf):
        expected = "expected IN,OUT: USD per million input and output tokens, as in 0.15,0.6"
        raise click.BadParameter(expected, param=parameter)
    return price_in, price_out


def _members(_: click.Context, parameter: click.Parameter, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise click.BadParameter("expected a JSON object, as in '{\"top_p\": 0.9}'", param=parameter)
    return value


option = options_under("Models and judges")
_OPTIONS = [
    option("--model", "models", multiple=True, metavar="NAME", help="The model to ask; repeat it for a panel."),
    option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint; default: $OPENAI_BASE_URL."),
    option("--max-tokens", type=Whole(min=1), metavar="N", help="The most tokens of a reply."),
    option("--reasoning-effort", metavar="LEVEL", help="Such as low, where the model thinks."),
    option("--extra-body", callback=_members, metavar="JSON", help="Further members of each request."),
    option("--timeout", type=_ABOVE_0, metavar="SECONDS", help="The longest time a call may take; default: 60."),
    option(
        "--concurrency", type=click.IntRange(1, 10_000), metavar="N",
        help="Calls at a time; default: 8, and up to 64 as they succeed.",
    ),
    option("--rpm", type=Whole(min=1), metavar="N", help="Requests a minute."),
    option("--tpm", type=Whole(min=1), metavar="N", help="Tokens a minute."),
    option("--budget", type=_ABOVE_0, metavar="USD", help="A hard cap, retries included."),
    option("--max-calls", type=Whole(min=1), metavar="N", help="A hard cap, retries included."),
    option("--price", callback=_price, metavar="IN,OUT", help="USD per million tokens in and out."),
    click.option("--resume", is_flag=True, help="Continue a --run that was stopped, with its calls and caps."),
    option("--dry-run", is_flag=True, help="Print the calls and their cost; send none."),
    option("--write-requests", type=FILE, help="Send nothing: write the requests that have no reply yet to this file."),
    option(
        "--replies", multiple=True, type=FILE,
        help="Send nothing: take the replies from this file, which answers one of --write-requests.",
    ),
    option("--no-cache", is_flag=True, help="Neither use cached replies nor cache any."),
]  # fmt: skip


def model_options(command: Command) -> Command:
    """Give a command the flags of models; it gets them as `asking`."""
    return option_group("asking", ModelOptions, _OPTIONS)(command)


@contextmanager
def ask_models(
    metrics: Sequence[Metric],
    asking: ModelOptions,
    same: Any,
    *,
    run: str | None,
    several: bool = False,
    beforehand: bool = False,
) -> Iterator[Sequence[Metric]]:
    """Let the metrics that ask a model do so by these flags, and print at the end what the models used.

    The value is the metrics to score with. `run` is the name of a run that is kept; `same` is everything that must be
    the same for another to be continued, or where the call makes `several` runs. With `beforehand`, what a dry run
    estimates goes to standard error.
    """
    if not any(metric.asks_model for metric in metrics):
        refuse_models(asking, "but no metric asks one: -m judge:NAME", but=() if run is None else ("resume",))
        yield metrics
        return
    if asking.resume and asking.no_cache and run is None:
        raise click.UsageError("--resume uses cached replies, and --no-cache caches none")
    check_governor(asking)
    if not (asking.rehearses or asking.replies):
        check_address("base_url", asking.base_url, "OPENAI_API_KEY", "OPENAI_BASE_URL")
    from karat.core.context import change_context  # noqa: PLC0415
    from karat.judges import use_governor  # noqa: PLC0415  (heavy)
    from karat.models.governor.dry_run import model_factory  # noqa: PLC0415
    from karat.models.governor.faults import ModelError  # noqa: PLC0415

    metrics = list(_with_request(_with_model(metrics, asking.models), asking))
    same = json.dumps([same, [metric.signature for metric in metrics], asking.base_url])
    connect = model_factory(asking.base_url) if asking.dry_run else None
    try:
        with (
            open_governor(asking, same, None if several else run) as governor,
            use_governor(governor, base_url=asking.base_url, connect=connect),
            change_context(rehearses=asking.rehearses),
        ):
            yield metrics
    except (KeyboardInterrupt, SystemExit):  # a signal
        click.echo(_describe_usage(governor) + _how_to_continue(governor, asking), err=True)
        raise
    except ModelError as error:
        raise click.ClickException(str(error) + _how_to_continue(governor, asking)) from error
    if asking.rehearses:
        click.echo(_describe_estimate(governor.estimate, asking.price), err=beforehand)
        if asking.write_requests is not None:
            written = f"{governor.written} requests are in {asking.write_requests}"
            click.echo(
                f"{written}; karat batch, or another program, answers them, and --replies FILE takes the replies"
            )
    else:
        click.echo(_describe_usage(governor), err=True)
        if asking.replies and governor.missing:
            missing = f"{len(governor.missing)} requests have no reply in {' and '.join(asking.replies)}"
            click.echo(f"{missing}: the same command with --write-requests FILE writes them too", err=True)
        if governor.totals.capped:
            click.get_current_context().meta[CAPPED] = True
            click.echo(_how_to_ask_the_rest(governor, asking), err=True)


def _how_to_ask_the_rest(governor: Governor, asking: ModelOptions) -> str:
    """The caps that would have been enough, as far as is known, and how to send what they have kept."""
    caps, unsent = governor.local.caps, governor.totals.capped
    calls = f"--max-calls {caps.calls + unsent}" if asking.max_calls is not None else ""
    spent = caps.spent * (1 + unsent / max(1, caps.calls))
    budget = f"--budget {spent:.2g}" if asking.budget is not None else ""
    enough = " ".join(filter(None, [calls, budget]))
    if governor.local.run is None:
        return f"a cap is reached: {unsent} requests were not sent; about {enough} would have been enough"
    return f"a cap is reached: {unsent} requests were not sent; the same command with --resume {enough} sends them"


def _with_model(metrics: Sequence[Metric], models: Sequence[str]) -> Iterator[Metric]:
    """Each metric; a judge that names no model, alone or in another metric, gets the models of the command line."""
    used = not models
    for metric in metrics:
        if metric.judge is None or metric.judge.settings["model"] is not None:
            yield metric
        elif models:
            used = True
            yield _using(metric, model=models[0] if len(models) == 1 else list(models))
        else:
            raise click.UsageError(f"{metric.judge.name} needs a model: --model NAME")
    if not used and _is_typed("models"):
        raise click.UsageError("--model: every judge names its own model already")


def _with_request(metrics: Iterable[Metric], asking: ModelOptions) -> Iterator[Metric]:
    """Each metric; judges send what the flags say."""
    sent, judges = {name: getattr(asking, name) for name in _SENT if getattr(asking, name) is not None}, 0
    for metric in metrics:
        judges += metric.judge is not None
        yield _using(metric, **sent) if sent and metric.judge is not None else metric
    if not judges and (typed := [name for name in sent if _is_typed(name)]):
        raise click.UsageError(f"--{typed[0].replace('_', '-')} is about judges, but no metric is one")


def refuse_models(asking: ModelOptions, how: str, *, but: Sequence[str] = ()) -> None:
    """Raise `click.UsageError` where an option about models is typed, but for some; `how` says why."""
    about_models = {name: value for name, value in vars(asking).items() if name not in but}
    if present := [name for name, value in about_models.items() if value not in _ABSENT and _is_typed(name)]:
        flag = present[0].replace("_", "-").replace("models", "model")
        other = "; --run NAME keeps a run that it can continue" if flag == "resume" else ""
        raise click.UsageError(f"--{flag} is about models, {how}{other}")


def _is_typed(name: str) -> bool:
    """Whether an option is from the command line: one from a file need not be about every call."""
    return not is_from_file(click.get_current_context(), name)


def _using(metric: Metric, **settings: Any) -> Metric:
    """The metric whose judge has other settings."""
    if metric.definition.judge:
        return replace(metric.using(**settings), recipe=metric.recipe)
    return metric.using(metric=_using(cast("Metric", metric.definition.inner), **settings))


def _how_to_continue(governor: Any, asking: ModelOptions) -> str:
    """What the user reads after a stop: how to continue."""
    return f"\n{RESUME}" if governor.totals.calls and not asking.no_cache else ""


def _describe_usage(governor: Governor) -> str:
    """What the models were used for, in one line; of a run that was resumed also since it began."""
    totals, store, run = governor.totals, governor.local.store, governor.local.run
    cost = "cost unknown" if totals.cost is None else f"${totals.cost:.4f}"
    counts = {"calls": totals.calls, "retries": totals.retries, "cached": totals.cached, "failed": totals.failed}
    counts |= {"not asked": totals.capped} if totals.capped else {}
    listed = ", ".join(f"{count} {what}" for what, count in counts.items())
    line = f"models: {listed}; {totals.input_tokens} tokens in, {totals.output_tokens} out; {cost}"
    used = store.usage(run) if store and run else {"calls": 0}
    if used["calls"] <= totals.calls:
        return line
    return f"{line}; since the run began: {used['calls']:,} calls" + (f", ${used['cost']:.4f}" if used["cost"] else "")


def _describe_estimate(estimate: RequestEstimate, price: tuple[float, float] | None) -> str:
    """The calls that would be made, and about what they would use: if every first reply is valid, and at most."""
    cost = "give --price IN,OUT for the cost"
    if price:
        cost = f"about ${estimate.cost(price):.4f}"
    calls = f"{estimate.calls} calls, of which {estimate.cached} are in the cache"
    calls += f" and {estimate.repeated} repeat others" if estimate.repeated else ""
    line = f"{calls}; about {estimate.input_tokens} tokens in, {estimate.output_tokens} out; {cost}"
    if (again := estimate.again) is None:
        return line
    most = f"{estimate.calls + again.calls} calls"
    if price:
        most += f" and ${estimate.cost(price) + again.cost(price):.4f}"
    return f"{line}; at most {most}, where no reply can be read at first and each is asked for again"
