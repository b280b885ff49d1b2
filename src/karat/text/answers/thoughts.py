"""What a reply says apart from the thoughts of its model, whichever marks the model sets around them."""

from __future__ import annotations

import re

_NAME = r"(?:(?:seed:)?think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad)"
_OPEN = re.compile(rf"\s*(?:<{_NAME}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)", re.IGNORECASE)
_CLOSE = re.compile(rf"</{_NAME}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w*)(.*?)(?=<\|channel\|>|\Z)", re.DOTALL)  # of gpt-oss
_BARE_CHANNELS = re.compile(r"\Aanalysis.*?assistantfinal", re.DOTALL)  # the same without its marks
_MARK = re.compile(r"<\|start\|>\w*|<\|\w+\|>")


def split_thoughts(text: str) -> tuple[str, str]:
    r"""What a reply says, and what was thought before it.

    Thoughts end with the first mark that ends them, so that what follows is all looked at. Thoughts that do not end are
    the whole reply.

    >>> split_thoughts("<think>Paris is right.</think>\n{}"), split_thoughts("Paris is right.</think>{}")
    (('{}', 'Paris is right.'), ('{}', 'Paris is right.'))
    >>> split_thoughts("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{}")
    ('{}', 'Hm.')
    """
    text = text.strip("\ufeff\u200b \t\r\n")
    if channels := _CHANNEL.findall(text):
        parts: dict[bool, str] = {True: "", False: ""}
        for name, content in channels:
            parts[name == "analysis"] += _MARK.sub("", content.partition("<|message|>")[2]) + "\n"
        return parts[False].strip(), parts[True].strip()
    if bare := _BARE_CHANNELS.match(text):
        return text[bare.end() :].strip(), bare[0]
    thoughts = list[str]()
    while (close := _CLOSE.search(text)) and (not thoughts or _OPEN.match(text)):
        thoughts.append(_OPEN.sub("", text[: close.start()], count=1))
        text = text[close.end() :]
    if _OPEN.match(text):
        thoughts.append(_OPEN.sub("", text, count=1))
        text = ""
    return text.strip(), "\n".join(thoughts).strip()
