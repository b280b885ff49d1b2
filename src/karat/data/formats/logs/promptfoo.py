"""promptfoo's CSV, which has the outputs of all providers and prompts beside each other: a row for each output.

Its rows have the members that promptfoo writes as JSON, so that both are read by the same paths. In both an assertion
may be a template, `{{answer}}`, which stands for a variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.data.formats.csv_lines import read_cells
from karat.data.formats.logs.rows import add_columns, open_rows, records
from karat.data.source import Source

_FIRST = ["Status", "Score", "Named Scores"]
"""The columns that follow an output; the columns of named metrics come after them."""
_LABEL = re.compile(r"\[(?P<provider>[^\]]*)\] (?P<prompt>.*)", re.DOTALL)
_TEMPLATE = re.compile(r"\s*\{\{\s*(?P<name>\w+)\s*\}\}\s*")
_TYPES = ("equals", "similar", "factuality", "levenshtein", "rouge-n", "bleu", "contains", "icontains")
"""The assertions whose value is an answer, the most telling first."""


def is_promptfoo(head: bytes) -> bool:
    r"""Whether a CSV file, of which these are the first bytes, is promptfoo's.

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


def has_templates(source: Source) -> bool:
    """Whether a source is promptfoo's results with assertions that are templates, and without references."""
    names = {*source.schema.names}
    if not {"promptIdx", "testIdx", "testCase", "vars"} <= names or "reference" in names:
        return False
    return any("{{" in str(_expected(row["testCase"])) for row in records(source.first, ("testCase",)))


def add_references(source: Source) -> Source:
    """The source with a column `reference`: what the assertion of a row expects, the variable where it is a template.

    >>> from karat.data.formats.frames import open_frame
    >>> test = {"assert": [{"type": "equals", "value": "{{answer}}"}]}
    >>> source = open_frame([{"promptIdx": 0, "testIdx": 0, "testCase": test, "vars": {"answer": "Paris"}}])
    >>> has_templates(source), [batch.column("reference").to_pylist() for batch in add_references(source).batches()]
    (True, [['Paris']])
    """
    return add_columns(source, "promptfoo", ("testCase", "vars"), _reference, reference=pa.string())


def _reference(row: dict[str, Any]) -> tuple[str | None]:
    value, variables = _expected(row["testCase"]), row["vars"] or {}
    if isinstance(value, str) and (template := _TEMPLATE.fullmatch(value)):
        value = variables.get(template["name"])
    elif isinstance(value, str) and "{{" in value:  # a template in a text, which promptfoo fills and does not write
        value = None
    return (value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False),)


def _expected(test: Any) -> Any:
    """The value of the first assertion whose value is an answer, also in a set of assertions."""
    asserted = (test or {}).get("assert") or []
    every = [each for one in asserted for each in (one, *(one.get("assert") or ()))]
    return next((each.get("value") for kind in _TYPES for each in every if each.get("type") == kind), None)
