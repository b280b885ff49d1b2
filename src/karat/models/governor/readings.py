"""Whether the replies of a model can be read: a run whose first ones all cannot stops before it has paid for more."""

from __future__ import annotations

from dataclasses import dataclass, field

from karat.models.request import CUT_OFF, Reply, Request

ENOUGH = 20  # replies that could not be read, without one that could
SHOWN = 400  # characters of such a reply


@dataclass
class Readings:
    """How the replies of one model could be read, until the first one that could; cached replies are not counted."""

    read: bool = False
    unread: list[Request] = field(default_factory=list)

    def add(self, request: Request, reply: Reply, *, read: bool) -> list[Request]:
        """Count a reply, which could be `read` or not. Returns all requests where it is time to stop, else none."""
        self.read = self.read or read
        if self.read or reply.cached:
            return []
        self.unread.append(request)
        if len(self.unread) < ENOUGH:
            return []
        stopped, self.unread = self.unread, []
        return stopped


def describe_unread(name: str, count: int, reply: Reply, problem: str) -> str:
    """That no reply could be read, with one of them and what to type."""
    text = reply.text or reply.thoughts or ""
    shown = f"It said: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}" if text else "It said nothing"
    other = "ask another model (--model NAME)"
    remedy = (
        "--max-tokens N allows more" if reply.problem == CUT_OFF else f"{other}, or let the endpoint keep to the form"
    )
    return f"{name}: none of its first {count} replies could be read ({problem}). {shown}\n{remedy}"
