"""``karat fake-llm``: an OpenAI-compatible endpoint on this machine, to try judges without a model."""

from __future__ import annotations

from typing import Any

import click
from click import option

from karat.cli.options.numbers import Real, Whole


@click.command("fake-llm")
@option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; default: any free one.")
@option("--answer", metavar="TEXT", help="The reply; default: a random value that fits the schema of the request.")
@option("--latency", default=0.0, type=Real(min=0), metavar="SECONDS", help="Wait before each reply.")
@option("--fault", "faults", multiple=True, metavar="NAME=SHARE", help="Let this share of the calls fail in this way.")
@option("--batch-seconds", default=0.0, type=Real(min=0), metavar="SECONDS", help="How long a batch takes.")
@option("--batch-fault", "batch_faults", multiple=True, metavar="NAME=SHARE", help="A fault of this share of batches.")
@option("--no-schema", is_flag=True, help="Refuse requests for a reply by JSON Schema.")
@option("--no-tools", is_flag=True, help="Refuse requests with tools.")
@option("--key", metavar="KEY", help="Refuse calls with another API key.")
@option("--seed", type=Whole(min=0), default=0, metavar="N", help="Of the random numbers.")
def fake_llm(
    faults: tuple[str, ...], batch_faults: tuple[str, ...], *, no_schema: bool, no_tools: bool, **options: Any
) -> None:
    """Serve a fake model at http://127.0.0.1:PORT/v1 until interrupted.

    Names of faults: 400 to 599, 429-after (with Retry-After), quota, context, filtered, reset, hang, cut, drip, page,
    no-choices, refusal, filter, length, truncated, fenced, prose, empty, keys, types, order.

    Of batches: expired, cancelled, failed, token-limit, missing, duplicate, unknown, garbled.

    \b
    karat fake-llm --port 8000
    karat fake-llm --latency 0.5 --fault 429=0.1 --fault reset=0.01
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from threading import Event  # noqa: PLC0415

    from karat.models.testing.fake import FakeServer  # noqa: PLC0415

    forms = [form for form, off in (("json_schema", no_schema), ("tool", no_tools)) if not off]
    shares, of_batches = dict(map(_share, faults)), dict(map(_share, batch_faults))
    with FakeServer(faults=shares, batch_faults=of_batches, forms=forms, **options) as server:
        click.echo(f"OPENAI_BASE_URL={server.url}")
        try:
            Event().wait()
        finally:
            click.echo(f"{server.calls} calls", err=True)


def _share(fault: str) -> tuple[str, float]:
    name, _, share = fault.partition("=")
    try:
        return name, float(share)
    except ValueError:
        raise click.UsageError(f"--fault {fault}: expected NAME=SHARE, as in 429=0.1") from None
