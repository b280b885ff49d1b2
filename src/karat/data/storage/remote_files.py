"""Files by path or address: open one, list many, and tell whether one is still the same."""

from __future__ import annotations

import glob
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa

from karat.core.errors import DataError, nearest_name
from karat.data.storage.addresses import hide_secrets, is_address, matches, split_address
from karat.data.storage.file_names import split_name
from karat.data.storage.files import find_file
from karat.data.storage.stores import find_store, store_errors

REQUESTS = 16
"""The most requests for the facts of files that are on their way at a time."""


@dataclass(frozen=True, order=True)
class FileId:
    """What tells a version of a file from all others: its address or absolute path, its bytes, and a tag.

    The tag is what the store calls the version of the content (ETag), else the times of the last change of the content
    and of the file: a copy may have the former of its original, not the latter. The number of the file (inode) is not
    part of it, as mounted stores do not keep it. Two are equal where the file has not changed. An address may hold a
    signature: `name` is for messages and manifests.
    """

    path: str
    size: int
    tag: str

    @property
    def name(self) -> str:
        """The path without what may be secret."""
        return hide_secrets(self.path)


def open_file(path: str | Path) -> pa.NativeFile:
    """Open a file for reading at any place, its bytes as they are stored: a path, or an address of a store.

    Only the ranges that are read are fetched. Raises `DataError` for a file that is missing (with the nearest name) or
    out of reach (with what to set).

    >>> open_file(__file__).read(3)
    b'\"\"\"'
    """
    address = str(path)
    if not is_address(address):
        find_file(Path(path))
        return pa.OSFile(address)
    try:
        with store_errors(address):
            if split_address(address)[0] == "http":
                from karat.data.storage.http_file import open_http  # noqa: PLC0415  (slow to import)

                return pa.PythonFile(open_http(address), mode="r")
            store, inner = find_store(address)
            return store.open_input_file(inner)
    except FileNotFoundError as error:
        raise DataError(_explain_missing(address)) from error


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file, as they are stored; raises `DataError` as `open_file` does."""
    with open_file(path) as file:
        return bytes(file.read())


def find_size(path: str | Path) -> int | None:
    """The bytes of the file at a path, or at an address of a store, not of a web server; None where there is none."""
    address = str(path)
    if not is_address(address):
        return Path(path).stat().st_size if Path(path).is_file() else None
    store, inner = find_store(address)
    with store_errors(address):
        info = store.get_file_info(inner)
        return int(info.size) if info.is_file else None


def exists(path: str | Path) -> bool:
    """Whether there is a file at a path, or at an address of a store, not of a web server.

    >>> exists(__file__), exists("s3.parquet")
    (True, False)
    """
    return find_size(path) is not None


def list_names(folder: str | Path) -> list[str]:
    """The names of the files and folders in a folder, sorted; none where there is no such folder."""
    if is_address(folder):
        return list(list_times(str(folder)))
    return sorted(path.name for path in Path(folder).iterdir()) if Path(folder).is_dir() else []


def list_times(address: str) -> dict[str, float]:
    """The names in the folder of a store, sorted, and the seconds, by its clock, at which files were written last."""
    from pyarrow import fs  # noqa: PLC0415  (slow to import)

    store, inner = find_store(address)
    with store_errors(address):
        files = store.get_file_info(fs.FileSelector(inner, allow_not_found=True))
    return {each.base_name: (each.mtime_ns or 0) / 1e9 for each in sorted(files, key=lambda each: each.base_name)}


def identify(path: str | Path) -> FileId:
    """The identity of a file, without reading it: path, size and version. Raises `DataError` as `open_file` does.

    >>> identify(__file__) == identify(__file__)
    True
    """
    address = str(path)
    if not is_address(address):
        find_file(Path(path))
        about = Path(path).stat()
        tag = f"{about.st_mtime_ns} {about.st_ctime_ns}"
        return FileId(os.path.abspath(path), about.st_size, tag)  # noqa: PTH100
    try:
        with store_errors(address):
            if split_address(address)[0] == "http":
                from karat.data.storage.http_file import describe, open_http  # noqa: PLC0415

                described = describe(address)
                if described.size is None:  # only the whole file tells
                    with open_http(address) as file:
                        return FileId(address, file.seek(0, os.SEEK_END), described.tag)
                return FileId(address, described.size, described.tag)
            store, inner = find_store(address)
            if hasattr(store, "handler"):  # of fsspec
                info = store.handler.fs.info(inner)
                if info["type"] != "file":
                    raise FileNotFoundError(address)
                return FileId(address, info["size"], str(info.get("blob_id") or info.get("etag") or ""))
            with store.open_input_file(inner) as file:
                known = {key.lower(): value.decode() for key, value in (file.metadata() or {}).items()}
                return FileId(address, file.size(), known.get("etag", known.get("last-modified", "")).strip('"'))
    except FileNotFoundError as error:
        raise DataError(_explain_missing(address)) from error


def list_files(path: str | Path) -> list[FileId]:
    """The files of a path or address, sorted by name: one file, the files of a glob pattern, or the files in a folder.

    In a pattern `*` stands for any text within a name, `**` for any folders. An address of a folder ends in `/`. A
    folder is read whole: its files, but for names that begin with `_` or `.`, must be data files of one format, and in
    the folders below there must be none.

    Raises `DataError` if there is none, and as `open_file` does.

    >>> [Path(file.path).name for file in list_files(Path(__file__).parent / "file*.py")]
    ['file_names.py', 'files.py']
    """
    address = str(path)
    if is_address(address):
        names = _list_addresses(address)
    elif Path(path).is_dir():
        below = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)  # noqa: PTH118
        names = _choose_files(f"{address.rstrip('/')}/", sorted(below))
    elif glob.has_magic(address) and not Path(path).exists():
        names = sorted({*glob.iglob(address, recursive=True)})  # noqa: PTH207  (`**/**` finds a file several times)
    else:
        names = [address]
    if not names:
        raise DataError(f"{hide_secrets(address)}: no file matches this pattern")
    with ThreadPoolExecutor(REQUESTS) as pool:
        return list(pool.map(identify, names))


def _list_addresses(address: str) -> list[str]:
    kind, path = split_address(address)
    if kind == "http" or not (address.endswith("/") or glob.has_magic(path)):
        return [address]
    from pyarrow import fs  # noqa: PLC0415  (slow to import)

    store, inner = find_store(address)
    root = address.removesuffix(inner.partition("/")[2])  # up to the bucket, which an address may spell in its own way

    def below(folder: str, *, recursive: bool) -> list[str]:
        try:
            with store_errors(address):
                listed = store.get_file_info(fs.FileSelector(folder, recursive=recursive))
        except FileNotFoundError as error:
            raise DataError(f"{root}{folder.partition('/')[2]}: no such folder") from error
        return sorted(root + file.path.partition("/")[2] for file in listed if file.type == fs.FileType.File)

    if address.endswith("/"):
        return _choose_files(address, below(inner.rstrip("/"), recursive=True))
    with store_errors(address):
        if store.get_file_info(inner).type == fs.FileType.File:  # a name with the characters of patterns
            return [address]
    folder = re.split(r"[*?[]", inner, maxsplit=1)[0].rpartition("/")[0]
    listed = below(folder, recursive="/" in inner[len(folder) + 1 :])
    return [name for name in listed if matches(name.split("/"), address.split("/"))]


def _choose_files(folder: str, names: list[str]) -> list[str]:
    """The data files in a folder, of all files in and below it; `DataError` where it is not plain which are meant."""
    shown = hide_secrets(folder)
    inner = {name: name.removeprefix(folder) for name in names}
    seen = [name for name in names if not re.search(r"(^|/)[._]", inner[name])]
    kinds = {split_name(name)[0] for name in seen}
    endings = sorted({"".join(PurePosixPath(name).suffixes[-1:]) for name in seen})
    if not seen:
        raise DataError(f"{shown}: there are no data files in this folder")
    if deep := next((name for name in seen if "/" in inner[name]), None):
        example = f"{shown}**/*{endings[0]}"
        raise DataError(f"{shown}: there are files in folders below ({inner[deep]}); write {example} for these too")
    if len(kinds) > 1 or None in kinds:
        problem = f"expected data files of one format, found files that end in {', '.join(map(repr, endings))}"
        raise DataError(f"{shown}: {problem}; write {shown}*{max(endings)}")
    return seen


def _explain_missing(address: str) -> str:
    """That there is no such file, with the most similar name in its folder."""
    name = hide_secrets(address)
    if split_address(address)[0] == "http":
        return f"{name}: no such file (status 404)"
    from pyarrow import fs  # noqa: PLC0415

    store, inner = find_store(address)
    folder, _, last = inner.rpartition("/")
    near: dict[str, bool] = {}
    if folder:
        with suppress(FileNotFoundError), store_errors(address):
            files = store.get_file_info(fs.FileSelector(folder))
            near = {file.base_name: file.type == fs.FileType.Directory for file in files}
    if near.get(last):
        return f"{name} is a folder; to read all files in it, write {name}/"
    similar = nearest_name(last, near)
    return f"{name}: no such file" + (f"; did you mean {similar!r}?" if similar else "")
