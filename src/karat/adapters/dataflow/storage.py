"""A file as a storage of DataFlow's, and the texts in the cells of its frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.columns.json_text import RAW, decode_text
from karat.core.errors import SpecError
from karat.core.lazy import import_extra
from karat.data.open import open_source
from karat.data.write import is_writable, refuse_overwriting, write


class FileStorage:
    """A file of any format that karat reads, as a storage: `read` returns a pandas frame, `write` writes a new file.

    `output`: the file to write, by default `<name>_evaluated` beside the input. Needs `karat[pandas]`.
    """

    def __init__(self, path: str | Path, output: str | Path | None = None) -> None:
        self.path = Path(path)
        self.file_name_prefix = self.path.name.partition(".")[0]
        ending = self.path.name.removeprefix(self.file_name_prefix) if is_writable(self.path) else ".jsonl"
        self.output = Path(output or self.path.with_name(f"{self.file_name_prefix}_evaluated{ending}"))

    def read(self, output_type: str = "dataframe") -> Any:
        """The whole file as a pandas frame with Arrow's types, so that no value is converted."""
        if output_type != "dataframe":
            raise SpecError(f"output_type={output_type!r}: 'dataframe' is expected")
        pd = import_extra("pandas", extra="pandas", need="FileStorage.read")
        source = open_source(self.path).as_values()
        return pa.Table.from_batches(source.batches(), source.schema).to_pandas(types_mapper=pd.ArrowDtype)

    def write(self, data: Any) -> str:
        """Write a frame or a list of dicts to `output` and return its name."""
        refuse_overwriting(self.output, self.path)
        source = open_source(data)
        write(source.batches(), source.schema, self.output)
        return str(self.output)


def cells(column: Any) -> list[list[str]]:
    """The texts in each cell of a pandas column: none if the cell is null or blank, several if it is a list."""
    if str(column.dtype) == f"{RAW}[pyarrow]":
        column = decode_text(pa.chunked_array(pa.array(column)).combine_chunks())
        return [_texts(cell) for cell in column.to_pylist()]
    return [[] if missing else _texts(cell) for cell, missing in zip(column, column.isna(), strict=True)]


def _texts(cell: Any) -> list[str]:
    if cell is None:
        return []
    if hasattr(cell, "tolist"):  # a NumPy array or scalar
        cell = cell.tolist()
    texts = [str(each) for each in (cell if isinstance(cell, list | tuple) else [cell]) if each is not None]
    return [text for text in texts if text.strip()]
