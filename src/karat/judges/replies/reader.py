"""Read a verdict from a model's reply: as it was asked for, or, where a reply has exactly one reading, mended.

Mended are thoughts before the object, words around it, quotes and commas that JSON does not have, an object in a list,
in another or in a tool's call written as text, a label in other letters, a number as text, a reason that is missing.
A reply is not read where it holds two different objects, a part of another one, or another verdict beside the object;
nor where it was cut off. Open `read_verdict` first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from karat.judges.replies.forms import Verdict
from karat.judges.replies.items import Form
from karat.judges.replies.json5 import object_end, to_json
from karat.judges.replies.mend import REASONS, find_choice, mend
from karat.judges.replies.parser import ReplyError, check, decode, read_reply
from karat.models.request import CUT_OFF, NOTHING, REFUSED, Reply
from karat.text.answers.thoughts import split_thoughts

ReplyMode: TypeAlias = Literal["mend", "strict"]

ARGUMENTS = ("arguments", "parameters", "input")  # of a tool's call that was written as text
MOST = 4_000_000  # characters that are searched for the ends of objects
ALONE = 80  # characters of a label that stands alone, with what is around it
SHOWN = 200  # characters of a refusal
_I = r"(?:i|we)(?:['’]m| am|['’]re| are)?"
_DECLINES = re.compile(
    rf"\W*(?:{_I} (?:very |so |really )?(?:sorry|afraid)|sorry\b|i apologi[sz]e|my apologies|as an ai\b"
    rf"|(?:unfortunately,? )?{_I} (?:can(?:not|['’]t| not)|unable|not able|won['’]t|will not|must|decline|refuse))",
    re.IGNORECASE,
)
_NO_VERDICT = "the reply ends in its thoughts, with no verdict after them"


def read_verdict(reply: Reply, form: Form, replies: str = "mend") -> tuple[Verdict, bool]:
    """The verdict in a reply, and whether the reply had to be mended for it, which `replies="strict"` forbids.

    Raises `ReplyError`, which says why there is none.

    >>> from karat.judges.replies.forms import Label
    >>> form = Label(choices={"correct": 1, "wrong": 0}, explanation=False)
    >>> verdict, mended = read_verdict(Reply("<think>The same.</think> {'label': 'Correct.'}"), form)
    >>> verdict.label, mended
    ('correct', True)
    """
    try:
        return form.verdict(read_reply(reply.text, form.schema)), False
    except ReplyError as error:
        if replies == "strict" or reply.problem not in (None, NOTHING):
            raise ReplyError(_describe_problem(reply) or str(error)) from None
    return _mend(reply, form), True


def is_understood(reply: Reply, problem: str) -> bool:
    """Whether a reply without a verdict says why: it declines, or a filter has stopped it."""
    return problem.startswith(REFUSED) or reply.problem not in (None, NOTHING, CUT_OFF)


def _describe_problem(reply: Reply) -> str | None:
    """Why a reply is not a whole answer, with what to type where that may help."""
    if reply.problem != CUT_OFF:
        return reply.problem
    after = "" if reply.output_tokens is None else f" after {reply.output_tokens} tokens"
    return f"{CUT_OFF}{after}: raise max_tokens (--max-tokens N), or the endpoint's own limit"


def _mend(reply: Reply, form: Form) -> Verdict:
    """The verdict of the one reading that a reply has; `ReplyError` where it has none or several."""
    text, thoughts = split_thoughts(reply.text)
    only_thoughts = not text
    text = text or (thoughts or reply.thoughts or "").strip()
    if not text:
        raise ReplyError("the reply is empty")
    text = inner if isinstance(inner := _decode(text), str) else text  # JSON as a text of JSON
    values, problems, rest, end = list[Any](), list[str](), "", 0
    for start, stop, value in _objects(text):
        try:
            mended = _fit(value, form.schema)
        except ReplyError as error:
            problems.append(str(error))
            continue
        rest, end = rest + text[end:start], stop
        if mended not in values:
            values.append(mended)
    after = text[end:].strip("` \n")
    if only_thoughts and (not values or after):
        raise ReplyError(_NO_VERDICT)
    if not values:
        raise_if_refused(text)
        return form.verdict(_fit_alone(text, form.schema, problems))
    if len(values) > 1:
        raise ReplyError(f"the reply holds {len(values)} objects in the form asked for, and they differ")
    _check_rest(rest + text[end:], values[0], form.schema)
    return form.verdict(values[0])


def raise_if_refused(text: str) -> None:
    """Raise `ReplyError` where a text without an object declines to judge."""
    if _DECLINES.match(text):
        shown = " ".join(text.split())
        raise ReplyError(REFUSED + (shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"))


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The objects of a text that are in no other, with their start and end; raises `ReplyError` for too many braces."""
    at, left = -1, MOST
    while (at := text.find("{", at + 1)) >= 0:
        end = object_end(text, at)
        if (left := left - ((end or len(text)) - at)) < 0:
            raise ReplyError("the reply is not one JSON value, and has too many braces")
        part = text[at:end]
        if end is None and part.rstrip("` \n")[-1:] in ('"', "]"):  # the last brace is missing
            part, end = part.rstrip("` \n") + "}", len(text)
        value = None if end is None else _decode(part)
        if end is not None and isinstance(value, dict):
            yield at, end, value
            at = end - 1


def _decode(text: str) -> Any:
    for each in (text, to_json(text)):
        with suppress(ReplyError):
            return decode(each)
    return None


def _fit(value: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """The object, or the one inside it, in the form asked for; `ReplyError` where it does not fit."""
    try:
        mended = mend(value, schema)
        check(mended, schema)
    except ReplyError:
        if (inner := _inner(value)) is not None:
            with suppress(ReplyError):
                return _fit(inner, schema)
        raise
    return mended


def _inner(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a tool's call, or the only object in an object."""
    named = [value[key] for key in ARGUMENTS if key in value] or (list(value.values()) if len(value) == 1 else [])
    inner = _decode(named[0]) if len(named) == 1 and isinstance(named[0], str) else named[0] if named else None
    inner = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
    return inner if isinstance(inner, dict) else None


def _fit_alone(text: str, schema: Mapping[str, Any], problems: list[str]) -> Any:
    """A label or a number that is the whole reply, in the form asked for; `ReplyError` for anything else."""
    if problems:
        raise ReplyError(problems[0])
    names = [name for name in schema["properties"] if name not in REASONS]
    if len(names) == 1 and len(text) <= ALONE:
        plain = re.sub(rf"\A\W*{names[0]}\W*[:=]", "", text, flags=re.IGNORECASE).strip("`*\"' \n")
        with suppress(ReplyError):
            return _fit({names[0]: plain}, schema)
    decode(text)
    raise ReplyError("the reply is not one JSON object")


def _check_rest(rest: str, value: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise `ReplyError` where what stands around the object is a part of another one, or names another verdict."""
    names = [re.escape(name) for name in schema["properties"]]
    if key := re.search(rf"[\"'“]({'|'.join(names)})[\"'”]\s*:", rest):
        raise ReplyError(f"the reply holds one object in the form asked for, and a part of another: {key[0]}")
    for name, inner in schema["properties"].items():
        for verdict in re.findall(rf"(?i)\b{re.escape(name)}\b\W{{0,4}}[:=]\W{{0,4}}([\w-]+)", rest):
            if (
                "enum" in inner
                and (other := find_choice(verdict, inner["enum"])) in inner["enum"]
                and other != value[name]
            ):
                raise ReplyError(f"the reply names two verdicts: {other!r}, and {value[name]!r} in its object")
