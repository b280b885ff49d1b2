"""One row: the material, the question, and the question once more where the reply cannot be read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.judges.prompt import again, messages
from karat.judges.reply_forms import Form, Label, Verdict
from karat.judges.reply_parser import ReplyError, read_reply
from karat.judges.rubric import Rubric
from karat.judges.votes import Vote, of_both_orders, of_items, of_panel
from karat.models.governor.faults import AskError
from karat.models.governor.governor import Governor
from karat.models.request import Message, Model, Reply, Request


@dataclass(frozen=True)
class Member:
    """One judge of a panel: a model, and which of several answers to the same question is asked for."""

    name: str
    model: Model
    settings: Mapping[str, Any]
    sample: int = 0


@dataclass(frozen=True)
class Bench:
    """Those who judge a row, and all that they are told beside it."""

    rubric: Rubric
    fixed: Sequence[Message]
    members: Sequence[Member]
    governor: Governor

    async def judge(self, material: Mapping[str, Any]) -> Vote:
        """The vote on a row."""
        for name, value in material.items():
            if isinstance(value, list) and not value and self.rubric.inputs[name] == "texts":
                return Vote(Verdict(None, reason=f"{name} is an empty list"))
        if len(self.members) == 1:
            return await self._whole(self.members[0], material)
        votes = await asyncio.gather(*(self._whole(member, material) for member in self.members))
        return of_panel(votes, [member.name for member in self.members], self.rubric.form)

    async def _whole(self, member: Member, material: Mapping[str, Any]) -> Vote:
        """One judge's vote on the whole row, item by item where the rubric says so."""
        if self.rubric.each is None:
            return await self._fair(member, material)
        items = [{**material, self.rubric.each: item} for item in material[self.rubric.each]]
        return of_items(await asyncio.gather(*(self._fair(member, item) for item in items)))

    async def _fair(self, member: Member, material: Mapping[str, Any]) -> Vote:
        """One judge's vote, in both orders where the rubric says so."""
        swap, form = self.rubric.swap, self.rubric.form
        if swap is None or not isinstance(form, Label):
            return await self._ask(member, material)
        orders = (self._ask(member, material), self._ask(member, swap.material(material)))
        return of_both_orders(*await asyncio.gather(*orders), swap, form)

    async def _ask(self, member: Member, material: Mapping[str, Any]) -> Vote:
        return await ask(self.governor, member, messages(self.fixed, material), self.rubric.form)


async def ask(governor: Governor, member: Member, asked: Sequence[Message], form: Form) -> Vote:
    """The vote that a reply is; a reply that is not of the form is asked for once more, with what is wrong with it."""
    vote = Vote()
    for _ in ("the question", "and once more"):
        request = Request(asked, form.schema, member.settings, member.sample)
        try:
            reply = await governor.ask(member.model, request)
        except AskError as error:
            return replace(vote, error=_whole_characters(str(error)))
        vote = _taken(vote, reply)
        said = _whole_characters(reply.text)
        try:
            verdict = form.verdict(read_reply(said, form.schema))
        except ReplyError as error:
            vote = replace(vote, error=_whole_characters(reply.problem or str(error)), raw=said)
            asked = again(asked, said, vote.error or "")
        else:
            return replace(vote, verdict=verdict, error=None, raw=None)
    return vote


def _taken(vote: Vote, reply: Reply) -> Vote:
    """The vote with what a reply took added."""
    return replace(
        vote,
        input_tokens=_plus(vote.input_tokens, reply.input_tokens),
        output_tokens=_plus(vote.output_tokens, reply.output_tokens),
        cost=_plus(vote.cost, reply.cost),
        latency=_plus(vote.latency, reply.seconds),
    )


def _whole_characters(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can hold and a column cannot."""
    return text.encode(errors="replace").decode()


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b
