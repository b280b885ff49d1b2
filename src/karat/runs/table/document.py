"""A table and what is said about it as one file: Markdown, LaTeX, HTML, JSON, or rows of figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError
from karat.core.lazy import import_extra
from karat.data.storage.file_names import split_name
from karat.data.storage.whole_files import whole_file
from karat.data.write import check_folder, is_writable, write
from karat.runs.table.html import element, plain
from karat.runs.table.latex import latex_table
from karat.runs.table.markdown import escape_markdown, markdown_table
from karat.runs.table.table import Table

_TEXTS = (".md", ".tex", ".html")


@dataclass(frozen=True)
class Document:
    """A table, ready to be written.

    `html` is what a notebook shows of it; `content` is its JSON, and `rows` hold its figures with names, for CSV and
    Parquet. `markdown` are the lines of a comment, by default the caption, the table and the notes.
    """

    table: Table
    html: str
    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    markdown: Sequence[str] = ()

    def save(self, path: str | Path, *, plus_minus: bool = False) -> None:
        """Write the file, whole or not at all; `plus_minus`: as in `latex_table`.

        Raises `DataError` as `check_document` does.
        """
        check_document(path)
        match PurePath(path).suffix.lower():
            case ".md":
                write_lines(path, self.markdown or self._markdown())
            case ".tex":
                write_lines(path, latex_table(self.table, plus_minus=plus_minus))
            case ".html":
                write_lines(path, _page(self.table.caption, self.html))
            case _ if split_name(path)[0] == "json":
                write_lines(path, [json.dumps(self.content, ensure_ascii=False, indent=2)])
            case _:
                names = dict.fromkeys(name for row in self.rows for name in row)
                rows = pa.table({name: [row.get(name) for row in self.rows] for name in names})
                write(rows.to_batches(), rows.schema, path)

    def _markdown(self) -> Iterable[str]:
        yield from (f"### {escape_markdown(self.table.caption)}", "", *markdown_table(self.table))
        for note in self.table.notes:
            yield from ("", escape_markdown(note))


def cite_digest(digest: str) -> tuple[str, ...]:
    """The sentence that names a bundle by its digest; none without one.

    >>> cite_digest("28285bb1"), cite_digest("")
    (('karat verify derives these numbers again from the bundle 28285bb1.',), ())
    """
    return (f"karat verify derives these numbers again from the bundle {digest}.",) if digest else ()


def make_frame(rows: Sequence[Mapping[str, Any]], need: str) -> Any:
    """A frame of pandas with these rows; `MissingExtra`, naming `need`, without pandas."""
    return import_extra("pandas", extra="pandas", need=need).DataFrame(rows)


def check_document(path: str | Path, *more: str) -> None:
    """Raise `DataError` where a document of this name cannot be written; `more` are further endings, for the message.

    >>> check_document("out.pdf")
    Traceback (most recent call last):
    ...
    karat.core.errors.DataError: out.pdf: expected a name that ends in .md, .tex, .html, .json, .csv, .parquet, …
    """
    if PurePath(path).suffix.lower() not in _TEXTS and not is_writable(path):
        raise DataError(f"{path}: expected a name that ends in {', '.join((*_TEXTS, *more))}, .json, .csv, .parquet, …")
    check_folder(path)


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write a text file, whole or not at all; compressed where its name says so."""
    check_folder(path)
    with (
        whole_file(path, kept=True) as temporary,
        pa.output_stream(str(temporary), compression=split_name(path)[1]) as file,
    ):
        for line in lines:
            file.write(f"{line}\n".encode())


def _page(title: str, content: str) -> Iterable[str]:
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield element("title", None, plain(title))
    yield "<style>:root { color-scheme: light dark; font-family: system-ui, sans-serif; }</style>"
    yield content
    yield "</html>"
