"""Files and folders at a path or an address of a store: written whole or not at all, and removed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from karat.core import atomic
from karat.core.errors import DataError
from karat.data.storage.addresses import hide_secrets, is_address, split_address
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
def whole_file(path: str | Path, *, durable: bool = False, kept: bool = False) -> Iterator[Path]:
    """A temporary file that is put at a path or an address when it is whole, and deleted if an error is raised.

    On a disk a `durable` file outlasts a power failure. If sending to a store fails, one that is to be `kept` stays,
    and the `DataError` says where.
    """
    if not is_address(path):
        with atomic.replacing(Path(path), durable=durable) as temporary:
            yield temporary
        return
    file = TemporaryFile("".join(PurePosixPath(path).suffixes[-2:]))
    yield Path(file.name)
    try:
        with Path(file.name).open("rb") as content:
            _send(content, str(path))
    except DataError as error:
        if not kept:
            raise
        file.keep()
        raise DataError(f"{error}; the file is kept in {file.name}") from error


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    if is_address(path):
        _send(BytesIO(content), str(path))
    else:
        atomic.write_bytes(Path(path), content)


def make_folder(folder: str | Path) -> None:
    """Make a folder with those above it; in a store there is nothing to make."""
    if not is_address(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)


def remove_file(path: str | Path) -> None:
    """Remove a file, if there is one."""
    if is_address(path):
        store, inner = find_store(str(path))
        with store_errors(str(path)), suppress(FileNotFoundError):
            store.delete_file(inner)
    else:
        Path(path).unlink(missing_ok=True)


def remove_folder(folder: str | Path) -> None:
    """Remove a folder, if there is one, with all that is in it."""
    if is_address(folder):
        store, inner = find_store(str(folder))
        with store_errors(str(folder)), suppress(FileNotFoundError):
            store.delete_dir(inner)
    elif Path(folder).exists():
        shutil.rmtree(folder)


def _send(content: IO[bytes], address: str) -> None:
    """Send a file in a thread of its own: no interrupt arrives there, where it would complete part of a file."""
    store, path = find_store(address)

    def send() -> None:
        try:
            with store.open_output_stream(path, compression=None) as stream:
                shutil.copyfileobj(content, stream, _CHUNK)
        except ValueError as error:  # of Arrow, for a stream to Google that failed before
            raise OSError(f"sending broke off: {error}") from error

    with store_errors(address), ThreadPoolExecutor(1) as thread:
        thread.submit(send).result()
