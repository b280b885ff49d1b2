"""A panel of models that judges one row: the requests, a second request after an unreadable reply, and the vote."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.core import telemetry
from karat.judges.inputs import Unreadable
from karat.judges.prompt import messages, retry_messages
from karat.judges.replies.forms import Label, Statements, Verdict
from karat.judges.replies.items import Form, ItemForm
from karat.judges.replies.parser import ReplyError
from karat.judges.replies.reader import ReplyMode, is_understood, read_verdict
from karat.judges.rubric import Rubric
from karat.judges.votes import USAGE, Vote, combine_items, combine_listed, combine_orders, combine_panel, sum_known
from karat.models.governor.budget import output_limit
from karat.models.governor.faults import RequestError
from karat.models.governor.governor import Governor
from karat.models.request import CUT_OFF, ChatMessage, Model, Reply, Request

MORE = 4  # times the tokens of a reply that was cut off, for the second one


@dataclass(frozen=True)
class PanelMember:
    """One member of a panel: a model, and the number of the sample that is drawn from it."""

    name: str
    model: Model
    settings: Mapping[str, Any]
    sample: int = 0
    timeout: float | None = None


@dataclass(frozen=True)
class Panel:
    """The models that judge each row. `prefix`: the messages with which every prompt begins.

    `replies`: whether replies that have one reading are mended, or are read in the form asked for alone.
    """

    rubric: Rubric
    prefix: Sequence[ChatMessage]
    members: Sequence[PanelMember]
    governor: Governor
    replies: ReplyMode = "mend"

    async def judge(self, material: Mapping[str, Any]) -> Vote:
        """The vote of the whole panel on one row."""
        for name, value in material.items():
            if isinstance(value, Unreadable):
                return Vote(Verdict(None, reason=f"{name}: {value}"))
            if isinstance(value, list) and not value and self.rubric.inputs[name] == "texts":
                return Vote(Verdict(None, reason=f"{name} is an empty list"))
        if len(self.members) == 1:
            return await self._judge_row(self.members[0], material)
        votes = await asyncio.gather(*(self._judge_row(member, material) for member in self.members))
        return combine_panel(votes, [member.name for member in self.members], self.rubric.form)

    async def _judge_row(self, member: PanelMember, material: Mapping[str, Any]) -> Vote:
        """One member's vote on a row; with `each` in the rubric item by item, of a list some at a time."""
        if isinstance(self.rubric.form, ItemForm):
            return await self._judge_listed(member, material, self.rubric.form)
        if self.rubric.each is None:
            return await self._judge_item(member, material)
        items = [{**material, self.rubric.each: item} for item in material[self.rubric.each]]
        return combine_items(await asyncio.gather(*(self._judge_item(member, item) for item in items)))

    async def _judge_listed(self, member: PanelMember, material: Mapping[str, Any], form: ItemForm) -> Vote:
        """One member's vote on the items of a list, such as criteria."""
        name = next((name for name, kind in self.rubric.inputs.items() if kind == form.input), "")
        items = form.items(material, name)
        requests = [
            self._ask(member, messages(self.prefix, form.show(material, name, part)), replace(form, count=len(part)))
            for part in form.split(items)
        ]
        return combine_listed(await asyncio.gather(*requests), items, form)

    async def _judge_item(self, member: PanelMember, material: Mapping[str, Any]) -> Vote:
        """One member's vote on a row or an item; with `swap` in the rubric, in both orders."""
        swap, form = self.rubric.swap, self.rubric.form
        if isinstance(form, Statements):
            material, form = form.number(material)
            if not sum(form.sizes):
                return Vote(form.verdict({}))
        if swap is None or not isinstance(form, Label):
            return await self._ask(member, messages(self.prefix, material), form)
        request, swapped = (messages(self.prefix, each) for each in (material, swap.swap_inputs(material)))
        orders = await asyncio.gather(self._ask(member, request, form), self._ask(member, swapped, form))
        return combine_orders(*orders, swap, form)

    async def _ask(self, member: PanelMember, prompt: Sequence[ChatMessage], form: Form) -> Vote:
        return await ask_member(self.governor, member, prompt, form, self.replies)


async def ask_member(
    governor: Governor, member: PanelMember, prompt: Sequence[ChatMessage], form: Form, replies: ReplyMode = "mend"
) -> Vote:
    """Ask a member for a vote; after a reply that cannot be read, ask once more and say what is wrong.

    After a reply that was cut off, ask the same for more tokens; not at all where the settings limit them.
    """
    vote, unread = Vote(), list[Request]()
    request: Request | None = Request(prompt, form.schema, member.settings, member.sample, member.timeout)
    for again in (False, True):
        if request is None:
            break
        try:
            reply = await governor.ask(member.model, request)
        except RequestError as error:
            vote = replace(vote, error=_valid_unicode(str(error)))
            break
        vote = _add_usage(vote, reply)
        if (text := _valid_unicode(reply.text)) != reply.text:
            reply = replace(reply, text=text)
        raw = reply.text or _valid_unicode(reply.thoughts or "")
        try:
            verdict, mended = read_verdict(reply, form, replies)
        except ReplyError as error:
            vote = replace(vote, error=_valid_unicode(str(error)), raw=raw)
            if not is_understood(reply, str(error)):
                unread.append(request)
                governor.count_reading(member.model, request, reply, vote.error)
            request = None if again else _second(request, reply, vote.error or "")
        else:
            governor.count_reading(member.model, request, reply)
            return replace(vote, verdict=verdict, error=None, raw=raw if mended else None, repaired=mended or None)
    if unread:
        governor.reject(member.model, unread)
    return vote


def _second(request: Request, reply: Reply, error: str) -> Request | None:
    """The request after a reply that could not be read; None where the same would happen again."""
    if reply.problem != CUT_OFF:
        return replace(request, messages=retry_messages(request.messages, reply.text, error))
    if output_limit(request) is not None or not reply.output_tokens:
        return None
    return replace(request, settings={**request.settings, "max_tokens": MORE * reply.output_tokens})


async def trace_vote(name: str, record: Any, voting: Awaitable[Vote], *, cls: str = "Judge") -> Vote:
    """Await the vote in an OpenTelemetry span, and record its result; requests to models are spans inside it."""
    with telemetry.evaluation(name, record, kind="llm", cls=cls) as span:
        vote = await voting
        if span is None:
            return vote
        verdict = vote.verdict
        if verdict is None:
            span.fail(vote.error or "no verdict", "no_verdict")
        elif verdict.reason is not None:
            span.metadata["reason"] = verdict.reason
        else:
            span.result(name, verdict.score, verdict.label, verdict.explanation or verdict.statements)
            for field, value in verdict.fields.items():
                span.result(f"{name}.{field}", value)
        return replace(vote, trace_id=span.trace_id)


def _add_usage(vote: Vote, reply: Reply) -> Vote:
    counts = {name: sum_known([getattr(vote, name), getattr(reply, name)]) for name in USAGE}
    return replace(vote, **counts, latency=sum_known([vote.latency, reply.seconds]))


def _valid_unicode(text: str) -> str:
    """The text with `?` for unpaired surrogates, which JSON can hold and an Arrow column cannot."""
    return text.encode(errors="replace").decode()
