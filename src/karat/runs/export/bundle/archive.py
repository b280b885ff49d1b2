"""The file of a bundle: a zip of which every byte is known, so that no byte of it can be another one unnoticed.

Its members are stored as they are, in order, with one time and no further fields. The first, `bundle.json`, names the
others with their sizes, their SHA-256 and a chain of digests; the last link is the digest of the bundle. Where all
members are as they were, the bytes between them follow from the names, and are compared too.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from zlib import crc32

from karat.core.errors import DataError
from karat.data.json.typed import check_type
from karat.data.storage.addresses import hide_secrets
from karat.data.storage.remote_files import find_size, open_file
from karat.data.storage.whole_files import whole_file

INDEX = "bundle.json"
FORMAT = 1
MemberContent: TypeAlias = bytes | str | Path
"""Of a member: its bytes, or the path or address of a file."""

_NAME = re.compile(r"verdicts\.json|runs/\w[\w.+@ -]*/[\w-]+(/[\w-]+)?\.(json|jsonl|parquet|toml)")
_MOST_INDEX = 16 << 20
_PIECE = 1 << 20
_LARGEST, _MOST = (1 << 32) - 1, (1 << 16) - 1  # of a zip without its later extensions
_LOCAL, _CENTRAL, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
_DATE = 0x21  # 1 January 1980, the first of a zip
_NOT_ONE = "is not a bundle as `karat runs bundle` writes it"


@dataclass(frozen=True)
class Member:
    """A member: its name, the number of its bytes, their SHA-256, and the link of the chain that ends with it."""

    name: str
    size: int
    sha256: str
    link: str


@dataclass(frozen=True)
class About:
    """What a bundle is about: `runs` has the SHA-256 of the manifest of each, by name; `texts`: they are in it.

    `lacking`: of runs with judges, how many scores lacked a reply when it was written.
    """

    texts: bool
    runs: Mapping[str, str]
    lacking: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class BundleIndex:
    """The content of `bundle.json`: what it is `about`, its members in order, and its digest, the last link."""

    format: int
    about: Annotated[Mapping[str, Any], About]
    members: tuple[Member, ...]
    digest: str


@dataclass(frozen=True)
class Archive:
    """The file of a bundle that was read, and by member what is `damaged` in it; "" stands for the zip around them."""

    path: str | Path
    index: BundleIndex
    starts: Mapping[str, int] = field(repr=False)
    damaged: Mapping[str, str] = field(repr=False)

    def read(self, name: str) -> bytes:
        """The bytes of a member."""
        with _open(self.path) as file:
            return _read(file, self.starts[name], self._sizes[name])

    def extract(self, prefix: str, folder: Path) -> None:
        """Write the members whose names begin so into a folder."""
        with _open(self.path) as file:
            for name in (each for each in self._sizes if each.startswith(prefix)):
                target = folder / name.removeprefix(prefix)
                target.parent.mkdir(parents=True, exist_ok=True)
                file.seek(self.starts[name])
                with target.open("wb") as to:
                    for piece in _pieces(file, self._sizes[name]):
                        to.write(piece)

    @property
    def _sizes(self) -> dict[str, int]:
        return {each.name: each.size for each in self.index.members}


def write_archive(path: str | Path, about: Mapping[str, Any], members: Mapping[str, MemberContent]) -> BundleIndex:
    """Write a bundle with these members, in this order; the same content makes the same bytes.

    Raises `DataError` where it would have more than 4 GB, and where a file cannot be read or written.
    """
    link, listed, sums = _first_link(about), list[Member](), dict[str, int]()
    for name, content in members.items():
        with _open(content) as file:
            size, digest, sums[name] = _sum(file)
        link = _next_link(link, name, size, digest)
        listed.append(Member(name, size, digest, link))
    index = BundleIndex(FORMAT, about, tuple(listed), link)
    written = {INDEX: _spell(index), **members}
    sizes = {INDEX: len(written[INDEX]), **{each.name: each.size for each in listed}}  # type: ignore[arg-type]
    starts, end = _lay_out(sizes)
    if end > _LARGEST or len(sizes) > _MOST:
        problem = f"a bundle of {end / 1e9:.1f} GB in {len(sizes)} files; at most 4 GB and {_MOST:,} files are possible"
        raise DataError(f"{path}: {problem}: bundle fewer runs, or leave the texts out (--no-texts)")
    with whole_file(path) as temporary, temporary.open("wb") as to:
        for name, content in written.items():
            with _open(content) as file:
                sums.setdefault(name, crc32(content) if isinstance(content, bytes) else 0)
                to.write(_local(name, sizes[name], sums[name]))
                checksum = 0
                for piece in _pieces(file, sizes[name]):
                    checksum = crc32(piece, checksum)
                    to.write(piece)
                if checksum != sums[name]:
                    raise DataError(f"{content!s} was changed while it was read")
        to.write(_central(sizes, starts, sums))
    return index


def read_archive(path: str | Path) -> Archive:
    """Read the whole file of a bundle, and compare all of it with the digests in it.

    Raises `DataError` where it is no bundle, or so damaged that its members cannot be told apart.
    """
    where, total = hide_secrets(str(path)), find_size(path)
    with _open(path) as file:
        head = _read(file, 0, _LOCAL.size + len(INDEX))
        size = _LOCAL.unpack(head[: _LOCAL.size])[8] if len(head) == _LOCAL.size + len(INDEX) else 0
        if head[:4] != b"PK\3\4" or not head.endswith(INDEX.encode()) or size > _MOST_INDEX:
            raise DataError(f"{where} {_NOT_ONE}: it begins otherwise")
        written = _read(file, len(head), size)
        index = _parse(written, where)
        sizes = {INDEX: size, **{each.name: each.size for each in index.members}}
        starts, end = _lay_out(sizes)
        if total is not None and total != end:
            raise DataError(f"{where} is damaged: it has {total:,} bytes, expected {end:,}")
        damaged, sums = _check_chain(index), {INDEX: crc32(written)}
        for each in index.members:
            file.seek(starts[each.name])
            read_size, digest, sums[each.name] = _sum(file, each.size)
            if (read_size, digest) != (each.size, each.sha256):
                damaged[each.name] = f"expected the SHA-256 {each.sha256[:16]}…, found {digest[:16]}…"
        if not damaged and (at := _find_other(file, sizes, starts, sums)) is not None:
            damaged[""] = f"byte {at:,}, between its members, is not as it was written"
    return Archive(path, index, starts, damaged)


def _parse(content: bytes, where: str) -> BundleIndex:
    try:
        read = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is damaged: {INDEX} in it is no JSON") from error
    if isinstance(read, dict) and isinstance(form := read.get("format"), int) and form > FORMAT:
        raise DataError(f"{where} is of a newer karat (format {form}, this one reads {FORMAT}): update it")
    check_type(read, BundleIndex, f"{where} {_NOT_ONE}: {INDEX}")
    members = tuple(Member(**{name: each[name] for name in Member.__dataclass_fields__}) for each in read["members"])
    seen = set[str]()
    for each in members:
        if not _NAME.fullmatch(each.name) or each.name.casefold() in seen:
            raise DataError(f"{where} {_NOT_ONE}: a member {each.name!r:.80}")
        seen.add(each.name.casefold())
    index = BundleIndex(read["format"], read["about"], members, read["digest"])
    if _spell(index) != content:
        raise DataError(f"{where} is damaged: {INDEX} in it is spelled otherwise")
    return index


def _check_chain(index: BundleIndex) -> dict[str, str]:
    """The first member of which the link does not follow from those before it."""
    link = _first_link(index.about)
    for each in index.members:
        link = _next_link(link, each.name, each.size, each.sha256)
        if link != each.link:
            return {INDEX: f"the link of {each.name} does not follow from those before it"}
    return {} if link == index.digest else {INDEX: "its digest is not the last link of the chain"}


def _first_link(about: Mapping[str, Any]) -> str:
    return sha256(json.dumps([FORMAT, about], sort_keys=True).encode()).hexdigest()


def _next_link(before: str, name: str, size: int, digest: str) -> str:
    return sha256(json.dumps([before, name, size, digest]).encode()).hexdigest()


def _spell(index: BundleIndex) -> bytes:
    return (json.dumps(asdict(index), ensure_ascii=False, indent=1) + "\n").encode()


def _lay_out(sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Where the content of each member begins, and how many bytes the file has."""
    starts, at, central = dict[str, int](), 0, _END.size
    for name, size in sizes.items():
        starts[name] = at + _LOCAL.size + len(name.encode())
        at = starts[name] + size
        central += _CENTRAL.size + len(name.encode())
    return starts, at + central


def _local(name: str, size: int, crc: int) -> bytes:
    spelled = name.encode()
    return _LOCAL.pack(b"PK\3\4", 20, 0x800, 0, 0, _DATE, crc, size, size, len(spelled), 0) + spelled


def _central(sizes: Mapping[str, int], starts: Mapping[str, int], sums: Mapping[str, int]) -> bytes:
    """What follows the members: the directory of the zip, and its end."""
    entries, begin = list[bytes](), 0
    for name, size in sizes.items():
        spelled = name.encode()
        begin = starts[name] - len(spelled) - _LOCAL.size
        about = 20 | 3 << 8, 20, 0x800, 0, 0, _DATE, sums[name], size, size, len(spelled), 0, 0, 0, 0, 0o100644 << 16
        entries.append(_CENTRAL.pack(b"PK\1\2", *about, begin) + spelled)
    directory = b"".join(entries)
    last = list(sizes)[-1]
    end = _END.pack(b"PK\5\6", 0, 0, len(sizes), len(sizes), len(directory), starts[last] + sizes[last], 0)
    return directory + end


def _find_other(file: Any, sizes: Mapping[str, int], starts: Mapping[str, int], sums: Mapping[str, int]) -> int | None:
    """The first byte outside of the members that is not as `write_archive` writes it; None where all are."""
    between = {name: _local(name, size, sums[name]) for name, size in sizes.items()}
    places = [(starts[name] - len(content), content) for name, content in between.items()]
    last = list(sizes)[-1]
    for begin, content in (*places, (starts[last] + sizes[last], _central(sizes, starts, sums))):
        content_there = _read(file, begin, len(content))
        if content_there != content:
            return begin + next(at for at, each in enumerate(content) if content_there[at : at + 1] != bytes([each]))
    return None


def _sum(file: Any, size: int | None = None) -> tuple[int, str, int]:
    """The number of the next bytes of a file, up to `size`, their SHA-256 and their CRC-32."""
    digest, crc, count = sha256(), 0, 0
    for piece in _pieces(file, size):
        digest.update(piece)
        crc, count = crc32(piece, crc), count + len(piece)
    return count, digest.hexdigest(), crc


def _pieces(file: Any, size: int | None = None) -> Iterator[bytes]:
    left = size
    while (left is None or left > 0) and (piece := file.read(_PIECE if left is None else min(left, _PIECE))):
        left = None if left is None else left - len(piece)
        yield bytes(piece)


def _read(file: Any, start: int, size: int) -> bytes:
    file.seek(start)
    return b"".join(_pieces(file, size))


@contextmanager
def _open(content: MemberContent) -> Iterator[Any]:
    with BytesIO(content) if isinstance(content, bytes) else open_file(content) as file:
        yield file
