"""promptfoo's CSV, which has the outputs of all providers and prompts beside each other: a row for each output.

Its rows have the members that promptfoo writes as JSON, so that both are read by the same paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karat.data.formats.csv_lines import read_cells
from karat.data.formats.logs.rows import open_rows
from karat.data.source import Source

_FIRST = ["Status", "Score", "Named Scores"]
"""The columns that follow an output, after which are those of named metrics."""
_LABEL = re.compile(r"\[(?P<provider>[^\]]*)\] (?P<prompt>.*)", re.DOTALL)


def is_promptfoo(head: bytes) -> bool:
    r"""Whether the first bytes of a CSV file are those of promptfoo's.

    >>> is_promptfoo(b"question,[echo] {{question}},Status,Score,Named Scores,Grader Reason,Comment\n")
    True
    """
    return ",".join(_FIRST).encode() in head


def open_promptfoo(path: Path, name: str) -> Source:
    """Open promptfoo's CSV as a row for each test, provider and prompt; an output that failed is null."""
    return open_rows(_rows(path, name), name, "promptfoo")


def _rows(path: Path, name: str) -> Iterator[dict[str, Any]]:
    lines = read_cells(path, name, ",", '"')
    header = next(lines)
    outputs = [at for at in range(len(header)) if header[at + 1 : at + 4] == _FIRST]
    described = header[0] == "Description"
    for test, cells in enumerate(lines):
        variables = dict(zip(header[described : outputs[0]], cells[described:], strict=False))
        for prompt, (start, end) in enumerate(zip(outputs, [*outputs[1:], len(header)], strict=True)):
            label = _LABEL.fullmatch(header[start])
            own = dict(zip(header[start + 1 : end], cells[start + 1 : end], strict=True))
            status = own.pop("Status")
            failed = status not in ("PASS", "FAIL")
            yield {
                "testIdx": test,
                "promptIdx": prompt,
                "provider": {"id": label["provider"] if label else ""},
                "prompt": {"label": label["prompt"] if label else header[start]},
                "vars": variables,
                "response": {"output": None if failed else cells[start]},
                "testCase": {"description": cells[0]} if described else {},
                "success": status == "PASS",
                "score": own.pop("Score"),
                "namedScores": json.loads(own.pop("Named Scores") or "{}"),
                "gradingResult": {"reason": own.pop("Grader Reason", ""), "comment": own.pop("Comment", "")},
                "error": cells[start] if failed else None,
                **own,
            }
