"""The format and the compression of a file, by its name or by its first bytes."""

from __future__ import annotations

from glob import has_magic
from pathlib import Path

from karat.data.storage.addresses import hide_secrets

FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".eval": "inspect",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
BOM = b"\xef\xbb\xbf"


def split_name(path: str | Path) -> tuple[str | None, str | None]:
    """The format and the compression that a file name ends in, `None` where it names none.

    >>> split_name("runs/a.jsonl.gz"), split_name("answers.CSV"), split_name("answers.txt")
    (('jsonl', 'gzip'), ('csv', None), (None, None))
    """
    path = Path(hide_secrets(str(path)).lower())
    compression = COMPRESSIONS.get(path.suffix)
    return FORMATS.get(Path(path.stem).suffix if compression else path.suffix), compression


def name_row(file: str, row: int) -> str:
    """The place of a row, counted from 1, for messages; in a table with a header also as a spreadsheet counts it.

    >>> name_row("labels.csv", 1), name_row("labels.jsonl", 1)
    ('labels.csv, row 1 (2 with the header)', 'labels.jsonl, row 1')
    """
    counts_header = split_name(file)[0] in ("csv", "tsv") and not has_magic(file)
    return f"{file}, row {row}" + (f" ({row + 1} with the header)" if counts_header else "")


def sniff(head: bytes) -> str:
    r"""The format that the first bytes of a file suggest.

    Parquet and Arrow have magic bytes, JSON (Lines or one document) starts with a brace or bracket. Otherwise it is TSV
    if the first line has a tab, else CSV.

    >>> sniff(b"PAR1..."), sniff(b' {"id": 1}'), sniff(b"id\tanswer\n"), sniff(b"id,answer\n")
    ('parquet', 'json', 'tsv', 'csv')
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    text = head.removeprefix(BOM).lstrip()
    if text.startswith((b"{", b"[")):
        return "json"
    return "tsv" if b"\t" in text.split(b"\n", 1)[0] else "csv"
