"""Finds where a text announces its answer: after "final answer", and after "the answer is" in many languages."""

from __future__ import annotations

import re

TRIES = 20
"""At most this many of the last places of a noun are looked at."""

_NEAR = r"[^.:：\n]{0,24}?"
_SAID = {  # parts of nouns, and the pattern of the whole announcement from one character before them
    ("nswer", "NSWER"): (
        r"(?<![A-Za-z])[Aa]\w{5,6}(?: to (?:this|the|that|your) \w{1,12})?[*_\"]*"
        r"(?:\s+(?i:is|are|must be|should be)\b[*_]*|\s*[:=])"
    ),
    ("答案", "正解", "故选", "故選"): ".?..(?:应该|應該|应|應)?[是为為选選は]?",
    ("选", "選"): r".?[选選](?=[\s(（]{0,3}[A-Z])",
    ("答え", "答"): r".?答え?(?:は|\s*[:：])",
    ("정답", "답"): ".?정?답[은이는]?",
    ("####",): ".?####",
    ("ponse", "ntwort", "sposta", "spuesta", "ntwoord"): rf".?[^\W\d_]+{_NEAR}(?:\b(?:est|ist|es|é|è|is)\b|:)",
    ("Svar", "svar", "Vastaus", "vastaus", "ăspuns", "dpověď"): rf".?[^\W\d_]+{_NEAR}(?:\b(?:är|er|on|este|je)\b|:)",
    ("твет", "ідповідь", "тговор", "дговор"): rf".?[^\W\d_]+{_NEAR}(?:[:—-]|это\b|е\b)",
    ("dpowied", "πάντηση"): rf".?[^\W\d_]+{_NEAR}(?:jest|to\b|είναι|:)",
    ("evap", "anıt", "áp án", "awaban"): r".?[^\W\d_]+(?: án)?(?: đúng| yang benar)?(?: là| adalah)?",
    ("إجابة", "جواب", "پاسخ"): r".?[^\W\d_]+(?: الصحيحة| الصحيح)?(?: هي| هو)?",
    ("उत्तर", "जवाब", "উত্তর", "คำตอบ", "התשובה"): ".?(?:उत्तर|जवाब|উত্তর|คำตอบ|התשובה)(?: है| হল|คือ| היא)?",
}
_ANNOUNCEMENTS = [(noun, re.compile(pattern)) for nouns, pattern in _SAID.items() for noun in nouns]
_IN_ASCII = [each for each in _ANNOUNCEMENTS if each[0].isascii()]
_FINAL = ("inal answer", "inal Answer", "INAL ANSWER")


def find_announcements(text: str) -> tuple[int, int]:
    """Where the text after the last "final answer" and after the last "the answer is" begins; 0 if there is none.

    >>> text = "The answer is 4."
    >>> text[find_announcements(text)[1] :]
    ' 4.'
    """
    announced = 0
    for noun, pattern in _IN_ASCII if text.isascii() else _ANNOUNCEMENTS:
        if noun not in text:
            continue
        at = text.rfind(noun)
        for _ in range(TRIES):
            if match := pattern.match(text, max(0, at - 1)):
                announced = max(announced, match.end())
                break
            at = text.rfind(noun, 0, at)
    return max(text.rfind(words) + len(words) if words in text else 0 for words in _FINAL), announced
