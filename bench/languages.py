"""Rows a second of a core, of the text operations whose kernels give rows back to Python; one text of each kind.

python bench/languages.py
"""

from __future__ import annotations

import time
from functools import partial

import pyarrow as pa
from side_by_side import in_turn, machine

from karat.text.columns import normalise, tokenise

ROWS = 20_000
TEXTS = {
    "ASCII": "Where was Francois of the Rock born, the writer?",
    "French": "Où est né François de La Rochefoucauld, l'écrivain ?",
    "German": "Die Straße heißt größtenteils „Müllerstraße“.",  # ß does not fold one to one
    "Chinese": "拉羅什富科在哪裡出生？",
}


def main() -> None:
    print(machine())
    for language, text in TEXTS.items():
        column = pa.array([text] * ROWS)
        seconds = in_turn(
            {
                "unicode": partial(normalise, column, "unicode"),
                "words": partial(tokenise, column, "words"),
            },
            20,
            time.process_time,
        )
        print(f"{language:8}", *(f"{name} {ROWS / taken:12,.0f}" for name, taken in seconds.items()))


if __name__ == "__main__":
    main()
