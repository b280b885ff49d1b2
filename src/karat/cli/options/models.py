"""Models on the command line: which are asked, how fast, how much it may cost, and what it did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.judges.dry_run import Estimate
    from karat.models.governor.budget import Totals

Command = TypeVar("Command", bound=Callable[..., Any])
_LIMITS = ("concurrency", "rpm", "tpm", "budget", "max_calls", "price")
_NAMES = ("models", "base_url", *_LIMITS, "resume", "dry_run", "no_cache")
_ABSENT: tuple[Any, ...] = (None, False, ())
RESUME = "what was answered is kept: the same command with --resume goes on"


def _price(_: click.Context, option: click.Parameter, given: str | None) -> tuple[float, float] | None:
    try:
        numbers = [float(each) for each in given.split(",")] if given else None
    except ValueError:
        numbers = []
    if numbers is None:
        return None
    if len(numbers) != 2 or min(numbers) < 0:
        raise click.BadParameter(
            "IN,OUT is expected: USD per million input and output tokens, as in 0.15,0.6", param=option
        )
    return numbers[0], numbers[1]


_OPTIONS = [
    click.option("--model", "models", multiple=True, metavar="NAME", help="Judges: the model asked; several: a panel."),
    click.option("--base-url", metavar="URL", help="Models: an OpenAI-compatible endpoint; else $OPENAI_BASE_URL."),
    click.option("--concurrency", type=click.IntRange(min=1), metavar="MAX", help="Models: most calls at a time."),
    click.option("--rpm", type=click.IntRange(min=1), metavar="N", help="Models: requests a minute."),
    click.option("--tpm", type=click.IntRange(min=1), metavar="N", help="Models: tokens a minute."),
    click.option(
        "--budget", type=click.FloatRange(0, min_open=True), metavar="USD", help="Models: a hard cap, retries included."
    ),
    click.option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Models: a hard cap, retries included."),
    click.option("--price", callback=_price, metavar="IN,OUT", help="Models: USD per million tokens in and out."),
    click.option(
        "--resume", is_flag=True, help="Go on with a --run that was stopped; models: with their calls and caps."
    ),
    click.option("--dry-run", is_flag=True, help="Models: say what would be asked and cost; ask nothing."),
    click.option("--no-cache", is_flag=True, help="Judges: neither use replies kept before nor keep any."),
]


def model_options(command: Command) -> Command:
    """Give a command the options of models; it gets them as one mapping, `asked`."""

    @wraps(command)
    def told(**given: Any) -> Any:
        asked = {name: given.pop(name) for name in _NAMES}
        return command(asked=asked, **given)

    for option in reversed(_OPTIONS):
        told = option(told)
    return cast("Command", told)


@contextmanager
def judging(specs: Sequence[str], asked: Mapping[str, Any], run: Any, *, kept: bool) -> Iterator[list[Any]]:
    """The metrics to score with; within it, those that ask a model do so as told, and at its end it says what it took.

    `run` is all else that makes a run the same one when it is resumed; `kept` says that it is kept under a name.
    """
    from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)

    metrics = parse_all(specs)
    if not any(metric.asks_model for metric in metrics):
        about_models = {name: value for name, value in asked.items() if name != "resume" or not kept}
        if given := [name for name, value in about_models.items() if value not in _ABSENT]:
            flag = given[0].replace("_", "-").replace("models", "model")
            other = "; --run NAME keeps a run that it can go on with" if flag == "resume" else ""
            raise click.UsageError(f"--{flag} is about models, but no metric asks one: -m judge:NAME{other}")
        yield metrics
        return
    if asked["resume"] and asked["no_cache"] and not kept:
        raise click.UsageError("--resume goes on with replies that --no-cache does not keep")
    from karat.judges import use_governor  # noqa: PLC0415  (heavy)
    from karat.models.governor.faults import ModelError  # noqa: PLC0415

    metrics = list(_with_model(metrics, asked["models"]))
    governor = _governor(asked, json.dumps([run, [metric.signature for metric in metrics], asked["base_url"]]))
    goes_on = "" if asked["no_cache"] else f"\n{RESUME}"
    try:
        with use_governor(governor, base_url=asked["base_url"], connect=_connect(asked)):
            yield metrics
    except KeyboardInterrupt:
        click.echo(_took(governor.totals) + goes_on, err=True)
        raise
    except ModelError as error:
        raise click.ClickException(f"{error}{goes_on if governor.totals.calls else ''}") from error
    click.echo(
        _quoted(governor.estimate, asked["price"]) if asked["dry_run"] else _took(governor.totals),
        err=not asked["dry_run"],
    )


def _with_model(metrics: Sequence[Metric], models: Sequence[str]) -> Iterator[Metric]:
    """Each metric; a judge that names no model gets those of the command line."""
    used = not models
    for metric in metrics:
        if not metric.definition.judge or metric.settings["model"] is not None:
            yield metric
        elif models:
            used = True
            yield metric.using(model=models[0] if len(models) == 1 else list(models))
        else:
            raise click.UsageError(f"{metric.name} needs a model: --model NAME")
    if not used:
        raise click.UsageError("--model: every judge names its own model already")


def _governor(asked: Mapping[str, Any], run: str) -> Any:
    from karat.judges.dry_run import CountingGovernor  # noqa: PLC0415  (heavy)
    from karat.models.governor.governor import Governor  # noqa: PLC0415
    from karat.models.reply_cache import ReplyCache  # noqa: PLC0415

    store = None if asked["no_cache"] else ReplyCache()
    if asked["dry_run"]:
        return CountingGovernor(store)
    name = sha256(run.encode()).hexdigest()[:16]
    if store is not None and not asked["resume"]:
        store.forget_run(name)
    limits = {name: asked[name] for name in _LIMITS if asked[name] is not None}
    return Governor(**limits, store=store, run=None if store is None else name)


def _connect(asked: Mapping[str, Any]) -> Callable[[str], Any] | None:
    from karat.judges.dry_run import model_factory  # noqa: PLC0415  (heavy)

    return model_factory(asked["base_url"]) if asked["dry_run"] else None


def _took(totals: Totals) -> str:
    """What the models did, in one line."""
    cost = "cost not told" if totals.cost is None else f"${totals.cost:.4f}"
    counts = {"calls": totals.calls, "retries": totals.retries, "cached": totals.cached, "failed": totals.failed}
    counts |= {"not asked": totals.capped} if totals.capped else {}
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"models: {said}; {totals.input_tokens} tokens in, {totals.output_tokens} out; {cost}"


def _quoted(estimate: Estimate, price: tuple[float, float] | None) -> str:
    """What would be asked, and about what it would take, were every reply right at once."""
    cost = "give --price IN,OUT for the cost" if price is None else f"about ${estimate.cost(price):.4f}"
    return (
        f"{estimate.calls} calls, of which {estimate.cached} are in the cache; "
        f"about {estimate.input_tokens} tokens in, {estimate.output_tokens} out; {cost}"
    )
