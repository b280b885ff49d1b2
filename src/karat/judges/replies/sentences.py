"""The sentences of a text, by its lines and punctuation, without a library or a model."""

from __future__ import annotations

import re

_SHORT = "adj adm al approx apt art bros ca capt cf ch cmdr co col corp dept dr ed eds eq esp est etc ext fig figs gen "
_SHORT += "gov hon inc jr lt ltd maj max mr mrs ms mt nos op pp prof rep rev sec sen sgt sr st ver vol vs viz"
_SHORT_WORDS = frozenset(_SHORT.split())
_END = re.compile(
    r"(?<![.!?…])(?P<stop>[.!?…]++)(?P<close>[\"'”’»)\]]*+)(?=\s++(?:\(\w{1,3}\)|[\"'“‘«(\[¿¡]*+[^\W_a-z]))|[。！？｡][\"'”’」』）]*+"
)
_ITEM = re.compile(r"\W*\d{1,3}\.")
_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]+\Z")


def split_sentences(text: str) -> list[str]:
    r"""The sentences of a text in their order, without the space around them; each line ends one.

    A full stop after an abbreviation or an initial, in a number or before a small letter ends none. What has no letter
    and no digit belongs to the sentence before it.

    >>> split_sentences("Dr. Wu paid $3.50 in the U.S. in May. Why? It was cheap.\n- So it was")
    ['Dr. Wu paid $3.50 in the U.S. in May.', 'Why?', 'It was cheap.', '- So it was']
    >>> split_sentences("雨が降る。晴れる。"), split_sentences(" \n")
    (['雨が降る。', '晴れる。'], [])
    """
    sentences: list[str] = []
    for line in text.splitlines():
        start = 0
        for end in [each.end() for each in _END.finditer(line) if not _abbreviates(line, each)] + [len(line)]:
            part = line[start:end].strip()
            if end < len(line) and _ITEM.fullmatch(part):
                continue  # the number of an item goes with it
            start = end
            if any(map(str.isalnum, part)):
                sentences.append(part)
            elif part and sentences:
                sentences[-1] += f" {part}"
    return sentences


def _abbreviates(line: str, end: re.Match[str]) -> bool:
    """Whether a full stop belongs to an abbreviation or to an initial."""
    if end["stop"] != "." or end["close"]:
        return False
    word = _WORD.search(line[max(0, end.start() - 20) : end.start()])
    return word is not None and (
        word[0].lower() in _SHORT_WORDS or "." in word[0] or (len(word[0]) == 1 and word[0].isupper())
    )
