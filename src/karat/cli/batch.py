"""``karat batch``: have a file of requests answered in batches."""

from __future__ import annotations

import asyncio
from functools import partial

import click

from karat.cli.options.completion import FILE, OUT


@click.command()
@click.argument("file", type=FILE)
@click.option("-o", "--output", required=True, type=OUT, help="The replies, as .jsonl; appends to an existing file.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint; default: $OPENAI_BASE_URL.")
def batch(file: str, output: str, base_url: str | None) -> None:
    """Upload the requests in FILE as batches, by OpenAI's Batch API, wait for them, and write the replies.

    FILE is one of --write-requests; --replies reads the output. A request that has a reply there is not sent. Stop it
    whenever you like: the same command waits for the batches again, and sends what they have not answered.

    \b
    karat score answers.jsonl -m judge:correctness --model NAME --write-requests requests.jsonl
    karat batch requests.jsonl -o replies.jsonl
    karat score answers.jsonl -m judge:correctness --model NAME --replies replies.jsonl
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.models.batch.sender import BatchSender  # noqa: PLC0415  (heavy)

    sender = BatchSender(file, output, base_url, partial(click.echo, err=True))
    with sender.journal as journal:
        try:
            asyncio.run(sender.run())
        finally:
            if batches := [str(each) for each in journal.batches.values() if each.id is not None]:
                click.echo(f"the endpoint goes on with {', '.join(batches)}; the same command waits for it", err=True)
    answered, total = sender.counts
    again = "" if answered == total else "; the same command sends the rest"
    click.echo(f"{answered:,} of {total:,} requests have a reply in {output}{again}")
    if sender.problems:
        raise click.ClickException("\n".join(sender.problems))
