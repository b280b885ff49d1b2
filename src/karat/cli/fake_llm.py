"""``karat fake-llm``: an OpenAI-compatible endpoint on this machine, to try judges against without a model."""

from __future__ import annotations

import click


@click.command("fake-llm")
@click.option("--port", default=0, metavar="N", help="Listen there; any free port if not given.")
@click.option("--answer", metavar="TEXT", help="Say this; else a random value that fits the schema asked for.")
@click.option("--latency", default=0.0, type=click.FloatRange(min=0), metavar="SECONDS", help="Wait before each reply.")
@click.option("--fault", "faults", multiple=True, metavar="NAME=SHARE", help="Let a share of the calls fail so.")
@click.option("--no-schema", is_flag=True, help="Refuse JSON Schema as a format of the response.")
@click.option("--no-tools", is_flag=True, help="Refuse tools.")
@click.option("--key", metavar="KEY", help="Refuse calls with another key.")
@click.option("--seed", default=0, metavar="N", help="Of the faults.")
def fake_llm(
    port: int,
    answer: str | None,
    latency: float,
    faults: tuple[str, ...],
    no_schema: bool,
    no_tools: bool,
    key: str | None,
    seed: int,
) -> None:
    """Serve a fake model at http://127.0.0.1:PORT/v1 until interrupted.

    Faults go by name: 400 to 599, 429-after (with Retry-After), quota, context, filtered, reset, hang, cut, drip, page,
    no-choices, refusal, filter, length, truncated, fenced, prose, empty, keys, types, order.
    """
    from threading import Event  # noqa: PLC0415

    from karat.models.testing.fake import FakeServer  # noqa: PLC0415

    forms = [form for form, off in (("json_schema", no_schema), ("tool", no_tools)) if not off]
    shares = dict(_share(fault) for fault in faults)
    with FakeServer(answer, latency=latency, faults=shares, forms=forms, key=key, seed=seed, port=port) as server:
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
        raise click.UsageError(f"--fault {fault}: NAME=SHARE is expected, as in 429=0.1") from None
