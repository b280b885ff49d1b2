"""Files that are sent to a store, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from karat.core.errors import DataError
from karat.data.storage.addresses import hide_secrets, split_address
from karat.data.storage.files import TemporaryFile
from karat.data.storage.stores import find_store, store_errors

_CHUNK = 8 << 20


def check_store(address: str) -> None:
    """Raise `DataError` where an address names no file, or its bucket is out of reach."""
    name = hide_secrets(address)
    if address.endswith("/"):
        raise DataError(f"{name} is a folder; expected the name of a file")
    from pyarrow import fs  # noqa: PLC0415  (slow to import)

    store, path = find_store(address)
    bucket = path.partition("/")[0]
    with store_errors(address):
        missing = split_address(address)[0] != "hf" and store.get_file_info(bucket).type == fs.FileType.NotFound
    if missing:
        raise DataError(f"{name}: there is no bucket {bucket!r}")


@contextmanager
def uploading(address: str) -> Iterator[Path]:
    """A temporary file that is sent to an address at the end, or deleted if an error is raised.

    If sending fails, `DataError` says where the file is kept.
    """
    file = TemporaryFile("".join(PurePosixPath(address).suffixes[-2:]))
    yield Path(file.name)
    try:
        with ThreadPoolExecutor(1) as thread:  # no interrupt arrives there, where it would complete part of a file
            thread.submit(_send, file.name, address).result()
    except DataError as error:
        file.keep()
        raise DataError(f"{error}; the file is kept in {file.name}") from error


def _send(file: str, address: str) -> None:
    store, path = find_store(address)
    with store_errors(address), Path(file).open("rb") as content:
        try:
            with store.open_output_stream(path, compression=None) as stream:
                shutil.copyfileobj(content, stream, _CHUNK)
        except ValueError as error:  # of Arrow, for a stream to Google that failed before
            raise OSError(f"sending broke off: {error}") from error
