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
    listed = (cell if isinstance(cell, list | tuple) else [cell] for cell in values(column))
    return [[text for each in cell if each is not None and (text := str(each)).strip()] for cell in listed]


def values(column: Any) -> list[Any]:
    """The cells of a pandas column as values of Python; None where one is null."""
    if str(column.dtype) == f"{RAW}[pyarrow]":
        decoded: list[Any] = decode_text(pa.chunked_array(pa.array(column)).combine_chunks()).to_pylist()
        return decoded
    plain = (cell.tolist() if hasattr(cell, "tolist") else cell for cell in column)  # of NumPy's arrays and scalars
    return [None if missing else cell for cell, missing in zip(plain, column.isna(), strict=True)]
