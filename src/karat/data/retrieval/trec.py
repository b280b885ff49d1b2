"""TREC files: runs (query, Q0, document, rank, score, tag) and qrels (query, iteration, document, grade).

Qrels of diversity tracks have the subtopic in the place of the iteration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from karat.core.errors import RowError
from karat.data.source import Source
from karat.data.storage.file_names import BOM
from karat.data.storage.files import open_bytes

_BLOCK_BYTES = 16 << 20
_SAMPLE_BYTES = 1 << 20
_SAMPLE_LINES = 20
_SPACES = bytes.maketrans(b"\t\v\f", b"   ")
_UNTIDY = (b"  ", b"\n ", b" \n", b"#")


@dataclass(frozen=True)
class _Layout:
    """The fields of a line, at most `most` if the last one contains spaces; `value` is the index of the number."""

    fields: tuple[str, ...]
    value: int
    column: str
    most: int
    subtopics: bool = False

    @property
    def schema(self) -> pa.Schema:
        names = ["query_id", "subtopic", "doc_id"] if self.subtopics else ["query_id", "doc_id"]
        return pa.schema([*((name, pa.string()) for name in names), (self.column, pa.float64())])

    def holds(self, fields: list[bytes]) -> bool:
        """Whether a line has the right number of fields."""
        return len(self.fields) <= len(fields) <= self.most

    def matches(self, line: bytes) -> bool:
        """Whether a line has these fields, with numbers where they are expected."""
        fields = line.split()
        return self.holds(fields) and all(_is_number(each) for each in fields[3 : self.value + 1])


_LAYOUTS = {
    "run": _Layout(("query", "Q0", "document", "rank", "score", "tag"), 4, "score", most=10),  # 11 are two lines in one
    "qrels": _Layout(("query", "iteration", "document", "grade"), 3, "relevance", most=4),
    "subtopics": _Layout(("query", "subtopic", "document", "grade"), 3, "relevance", most=4, subtopics=True),
}


def find_layout(head: bytes) -> str | None:
    r"""The layout (`run` or `qrels`) that at least half of the first 20 lines have; None for other files.

    >>> find_layout(b"# BM25\n1 Q0 d7 1 12.5 bm25\n"), find_layout(b"1\t0\td7\t2\n"), find_layout(b"id,answer\n1,b\n")
    ('run', 'qrels', None)
    """
    lines = head.removeprefix(BOM).splitlines()
    data = [line for line in lines if line.strip() and not _is_comment(line)][:_SAMPLE_LINES]
    for name, layout in _LAYOUTS.items():
        if data and 2 * sum(map(layout.matches, data)) >= len(data):
            return name
    return None


def lacks_header(head: bytes) -> bool:
    r"""Whether the first line of a TSV file is already a line of qrels or of a run.

    >>> lacks_header(b"19335\t0\t1017759\t0\n"), lacks_header(b"query-id\tcorpus-id\tscore\n1\ta\t1\n")
    (True, False)
    """
    first = head.removeprefix(BOM).split(b"\n", 1)[0]
    return first.split()[1:2] in ([b"0"], [b"Q0"]) and find_layout(first) is not None


def open_trec(path: Path, name: str, kind: str) -> Source:
    """Open a run or qrels: one row per line, with the columns `query_id`, `doc_id` and `score` or `relevance`.

    Qrels whose second field varies in the first megabyte are judged by `subtopic`, a further column. Fields are
    separated by any number of spaces or tabs. Blank lines and lines that start with `#` are skipped; the latter are
    counted in `notes` once all rows are read. A run's tag may contain spaces, as in trec_eval. Reading
    raises `RowError`, with the line, for a wrong number of fields, or text where a number is expected.
    """
    layout = _LAYOUTS["subtopics" if kind == "qrels" and _has_subtopics(path) else kind]
    notes: dict[str, int] = {}

    def read() -> Iterator[pa.RecordBatch]:
        line, comments = 1, 0
        for block in _blocks(path):
            tidy, skipped = _tidy(block)
            try:
                table = _parse(tidy, layout)
            except (pa.ArrowInvalid, ValueError):
                table = _parse_lines(block, layout, name, line)
            yield from table.to_batches()
            line += block.count(b"\n")
            comments += skipped
        notes["comments"] = comments

    return Source(name, layout.schema, None, read, notes=notes)


def _has_subtopics(path: Path) -> bool:
    """Whether the second field of qrels varies: it does where they are judged by subtopic, else it is 0 or Q0."""
    with open_bytes(path) as stream:
        lines = bytes(stream.read(_SAMPLE_BYTES)).removeprefix(BOM).splitlines()
    return len({fields[1] for line in lines if len(fields := line.split()) == 4 and not _is_comment(line)}) > 1


def _blocks(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, about 16 MB each; every kind of line end becomes a newline."""
    with open_bytes(path) as stream:
        rest = bytes(stream.read(len(BOM))).removeprefix(BOM)
        while block := bytes(stream.read(_BLOCK_BYTES)):
            if block.endswith(b"\r"):  # may be half of a line end
                block += bytes(stream.read(1))
            block = rest + block
            if b"\r" in block:
                block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            whole, newline, rest = block.rpartition(b"\n")
            if newline:
                yield whole + newline
    if rest:
        yield rest + b"\n"


def _tidy(block: bytes) -> tuple[bytes, int]:
    """The lines with one space between fields, without comments and blank lines, and the number of comments."""
    tidy = block.translate(_SPACES)
    if not (any(mark in tidy for mark in _UNTIDY) or tidy.startswith(b" ")):
        return tidy, 0
    tidy = re.sub(rb" *\n *", b"\n", re.sub(rb"  +", b" ", tidy)).lstrip(b" ")
    return re.subn(rb"(?m)^#.*\n", b"", tidy)


def _parse(block: bytes, layout: _Layout) -> pa.Table:
    """The rows of tidy lines. Raises `ValueError` or `pa.ArrowInvalid` for an invalid line."""
    if not block.strip():
        return layout.schema.empty_table()
    names = ["query_id", "subtopic", "doc_id", *layout.fields[3:]]
    names[layout.value] = layout.column
    table = csv.read_csv(
        pa.BufferReader(block),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, double_quote=False, escape_char=False),
        convert_options=csv.ConvertOptions(
            column_types=layout.schema, include_columns=layout.schema.names, null_values=[], strings_can_be_null=False
        ),
    )
    if pc.any(pc.is_nan(table.column(layout.column))).as_py():
        raise ValueError("nan")
    return table


def _parse_lines(block: bytes, layout: _Layout, name: str, first: int) -> pa.Table:
    """The rows, parsed line by line, to find the invalid line and report it."""
    rows = []
    for number, line in enumerate(block.split(b"\n"), first):
        fields = line.split()
        if not fields or _is_comment(line):
            continue
        where = f"{name}, line {number}"
        if not layout.holds(fields):
            expected = f"{len(layout.fields)} fields ({', '.join(layout.fields)})"
            raise RowError(f"{where}: expected {expected}, found {len(fields)}: {_short(line)}")
        if not _is_number(value := fields[layout.value]):
            raise RowError(f"{where}: expected a number as the {layout.fields[layout.value]}, found {_short(value)}")
        try:
            texts = fields[:3] if layout.subtopics else (fields[0], fields[2])
            rows.append((*(text.decode() for text in texts), float(value)))
        except UnicodeDecodeError as error:
            raise RowError(f"{where}: not UTF-8: {_short(line)}") from error
    columns = zip(*rows, strict=True) if rows else ((),) * len(layout.schema)
    return pa.table([pa.array(c, kind) for c, kind in zip(columns, layout.schema.types, strict=True)], layout.schema)


def _is_comment(line: bytes) -> bool:
    return line.lstrip().startswith(b"#")


def _is_number(field: bytes) -> bool:
    with suppress(ValueError):
        return b"_" not in field and not math.isnan(float(field))
    return False


def _short(line: bytes) -> str:
    text = line.strip().decode(errors="replace")
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
