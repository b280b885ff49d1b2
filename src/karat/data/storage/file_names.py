"""The format and the compression of a file, by its name or by its first bytes."""

from __future__ import annotations

import re
from glob import has_magic
from pathlib import Path

from karat.core.errors import DataError
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
_NAMES = {"parquet": "Parquet", "arrow": "Arrow", "json": "JSON", "csv": "text", "tsv": "text"}  # of what `sniff` finds
_BINARY = ("parquet", "arrow")
_FORMS = "JSON Lines, JSON, CSV, TSV, Parquet or Arrow is expected"
_FOREIGN = {
    rb"PK\x03\x04.*(\bxl/|opendocument\.spreadsheet)": "a workbook; save its sheet as CSV UTF-8",
    rb"PK\x03\x04": "a zip archive or a document; unpack it, and name a file in it",
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old workbook or document; save its sheet as CSV UTF-8",
    rb".{257}ustar": "a tar archive; unpack it, and name a file in it",
    rb"\x1f\x8b": "compressed with gzip; give it a name that ends in .gz",
    rb"\x28\xb5\x2f\xfd": "compressed with zstd; give it a name that ends in .zst",
    rb"\xfd7zXZ\0": "compressed with xz; unpack it (xz -d), or compress it with gzip or zstd",
    rb"BZh[1-9](1AY&SY|$)": "compressed with bzip2; unpack it (bunzip2), or compress it with gzip or zstd",
    rb"version https://git-lfs\.": "a pointer of Git LFS, and not the file; fetch it with git lfs pull",
    rb"SQLite format 3\0": "an SQLite database; write its table as CSV: sqlite3 -csv -header FILE 'SELECT …'",
    rb"%PDF-": f"a PDF; {_FORMS}",
    rb"\x93NUMPY|\x80[\x02-\x05]|\x89HDF\r\n|Obj\x01": f"an array, a pickle, HDF5 or Avro; {_FORMS}",
    rb"FEA1": "Feather of version 1; write it anew in version 2",
    rb"\s*<(?i:!doctype|html|\?xml)": f"a web page or XML, perhaps instead of the file; {_FORMS}",
    rb"\xff\xfe|\xfe\xff|([^\0]\0){4}|(\0[^\0]){4}|\0\0\xfe\xff": "UTF-16 or UTF-32, not UTF-8; save it as CSV UTF-8, "
    "or write it anew: iconv -f UTF-16 -t UTF-8 FILE",
}
"""The first bytes of files that hold no rows as karat reads them: for each what it is, and what to do."""


def split_name(path: str | Path) -> tuple[str | None, str | None]:
    """The format and the compression that a file name ends in, `None` where it names none.

    >>> split_name("runs/a.jsonl.gz"), split_name("answers.CSV"), split_name("answers.txt")
    (('jsonl', 'gzip'), ('csv', None), (None, None))
    """
    path = Path(hide_secrets(str(path)).lower())
    compression = COMPRESSIONS.get(path.suffix)
    return FORMATS.get(Path(path.stem).suffix if compression else path.suffix), compression


def drop_ending(name: str) -> str:
    """A file's name without the ending of its format and its compression.

    >>> drop_ending("gpt-4.1_dev.jsonl.gz"), drop_ending("dl19.run"), drop_ending("run.BM25.top20.txt")
    ('gpt-4.1_dev', 'dl19', 'run.BM25.top20')
    """
    path = Path(name)
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSIONS else path.stem


def name_row(file: str, row: int) -> str:
    """The place of a row, counted from 1, for messages; in a table with a header also as a spreadsheet counts it.

    >>> name_row("labels.csv", 1), name_row("labels.jsonl", 1)
    ('labels.csv, row 1 (2 with the header)', 'labels.jsonl, row 1')
    """
    counts_header = split_name(file)[0] in ("csv", "tsv") and not has_magic(file)
    return f"{file}, row {row}" + (f" ({row + 1} with the header)" if counts_header else "")


def check_form(name: str, kind: str | None, head: bytes) -> None:
    r"""Raise `DataError` for a file whose first bytes show that it is not of its kind, or holds no rows at all.

    `kind` is the format that its name says, if it does.

    >>> check_form("rows.csv", "csv", b"id,answer")
    >>> check_form("rows.csv", "csv", b"PAR1")
    Traceback (most recent call last):
    karat.core.errors.DataError: rows.csv is Parquet; give it a name that ends in .parquet
    """
    form = sniff(head)
    if kind == "inspect" or (form in _BINARY and kind in (None, form)):  # logs of Inspect are zip archives
        return
    if form in _BINARY:
        raise DataError(f"{name} is {_NAMES[form]}; give it a name that ends in .{form}")
    for start, what in _FOREIGN.items():
        if re.match(start, head, re.DOTALL):
            raise DataError(f"{name} is {what}")
    if name.endswith(".ipynb"):
        raise DataError(f"{name} is a notebook; {_FORMS}")
    if kind == "parquet" or (kind == "arrow" and form == "json"):
        raise DataError(f"{name} is not {_NAMES[kind]}, but begins like {_NAMES[form]}; give it the ending of that")


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
