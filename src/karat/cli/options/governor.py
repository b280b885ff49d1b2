"""Which governor the flags of models describe: one that asks, counts, or reads and writes files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

_LIMITS = ("timeout", "concurrency", "rpm", "tpm", "budget", "max_calls", "price")


@dataclass(frozen=True)
class ModelOptions:
    """Which models are asked, and what they may use."""

    models: tuple[str, ...]
    base_url: str | None
    max_tokens: int | None
    reasoning_effort: str | None
    extra_body: Mapping[str, Any] | None
    timeout: float | None
    concurrency: int | None
    rpm: int | None
    tpm: int | None
    budget: float | None
    max_calls: int | None
    price: tuple[float, float] | None
    resume: bool
    dry_run: bool
    write_requests: str | None
    replies: tuple[str, ...]
    no_cache: bool

    @property
    def rehearses(self) -> bool:
        """Whether nothing is asked and nothing scored."""
        return self.dry_run or self.write_requests is not None


def check_governor(asking: ModelOptions) -> None:
    """Raise `click.UsageError` for flags that contradict files of requests and replies."""
    named = "--write-requests" if asking.write_requests is not None else "--replies" if asking.replies else None
    others = {"--dry-run": asking.dry_run, "--no-cache": asking.no_cache}
    if named and (flags := [name for name, value in others.items() if value]):
        why = "keeps replies in the cache" if flags == ["--no-cache"] else "sends nothing"
        raise click.UsageError(f"{named} {why}: leave {flags[0]} away")


@contextmanager
def open_governor(asking: ModelOptions, same: str, run: str | None) -> Iterator[Any]:
    """The governor that the flags describe, for the run of this name, else for the same call."""
    if asking.write_requests is None and not asking.replies:
        yield _governor(asking, same, run)
        return
    from karat.models.batch.request_files import (  # noqa: PLC0415
        FiledGovernor,
        WritingGovernor,
        open_requests,
        read_replies,
    )
    from karat.models.reply_cache import ReplyCache  # noqa: PLC0415

    store = ReplyCache()
    faults = read_replies(asking.replies, store)
    if asking.write_requests is None:
        yield FiledGovernor(store, faults)
        return
    with open_requests(asking.write_requests) as file:
        yield WritingGovernor(store, file)


def _governor(asking: ModelOptions, same: str, run: str | None) -> Any:
    """A governor that asks, or counts what would be asked."""
    from hashlib import sha256  # noqa: PLC0415  (heavy)

    from karat.models.governor.dry_run import CountingGovernor  # noqa: PLC0415
    from karat.models.governor.governor import Governor  # noqa: PLC0415
    from karat.models.reply_cache import ReplyCache  # noqa: PLC0415
    from karat.runs.store.folders import is_started, run_key  # noqa: PLC0415

    store = ReplyCache(replies=not asking.no_cache) if run or not asking.no_cache else None
    if asking.dry_run:
        return CountingGovernor(store)
    name = sha256(same.encode()).hexdigest()[:16] if run is None else run_key(run)
    if store is not None and not (asking.resume if run is None else is_started(run)):
        store.forget_run(name)
    limits = {name: getattr(asking, name) for name in _LIMITS if getattr(asking, name) is not None}
    limits["report"] = partial(click.echo, err=True)
    return Governor(**limits, store=store, run=None if store is None else name)
