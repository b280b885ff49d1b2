"""What is found in bundles that were changed, and what verifying takes: `python bench/bundle.py [PART...]`.

Parts: `bytes` flips one bit of every byte of a bundle of two runs and one of a judge; `forged` changes every number of
the values and verdicts, some scores and counts, and every reply, one at a time, with all digests made anew; `time` is
the processor time of verifying a bundle of 20,000 rows beside that of scoring them. Bundles: those of `tests/frozen`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import karat
from karat.data.storage.checksums import sum_bytes
from karat.errors import DataError
from karat.runs.export.bundle.archive import read_archive, write_archive
from karat.runs.store.manifest import read_manifest, write_manifest

BUNDLES = sorted((Path(__file__).parents[1] / "tests/frozen/bundles").glob("*.zip"))
STRIDE = int(os.environ.get("STRIDE", "1"))  # every so many bytes, or changes
PROSE = {"sentence", "corrected_sentence", "caution", "notes", "reversals"}


def flip_bytes() -> None:
    """Flip a bit of each byte, and count how it is noticed."""
    for path in BUNDLES:
        content, found = path.read_bytes(), Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            flipped = Path(folder, path.name)
            flipped.write_bytes(content)
            with flipped.open("r+b", buffering=0) as file:
                for at in range(0, len(content), STRIDE):
                    os.pwrite(file.fileno(), bytes([content[at] ^ 1 << at % 8]), at)
                    try:
                        found["finding" if read_archive(flipped).damaged else "missed"] += 1
                    except DataError:
                        found["error"] += 1
                    os.pwrite(file.fileno(), content[at : at + 1], at)
        print(f"{path.name}: {len(content):,} bytes, a bit of every {STRIDE}: {dict(found)}", flush=True)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all numbers in a value of JSON, but for those in prose."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in members:
        if name in PROSE:
            continue
        if isinstance(each, int | float) and not isinstance(each, bool):
            yield (*path, name)
        yield from leaves(each, (*path, name))


def change(value: Any, path: tuple[Any, ...]) -> None:
    """Change a number in a value of JSON."""
    for name in path[:-1]:
        value = value[name]
    value[path[-1]] += 1 if isinstance(value[path[-1]], int) else 1e-6


def forge(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Changed members of a bundle: of what kind, the name, and the content."""
    read = read_archive(path)
    for member in (each.name for each in read.index.members):
        content = read.read(member)
        if member.endswith(("values.json", "verdicts.json")):
            known = json.loads(content)
            for leaf in leaves({"compared": known["compared"]} if "compared" in known else known):
                forged = json.loads(content)
                change(forged, leaf)
                yield Path(member).name, member, json.dumps(forged, ensure_ascii=False, indent=2).encode()
        elif member.endswith("replies.parquet"):
            table = pq.read_table(pa.BufferReader(content))
            for at, row in enumerate(table.to_pylist()):
                reply = json.loads(row["reply"])
                text = reply["text"].replace("correct", "incorrect").replace("inincorrect", "correct")
                asked = row["request"].replace("prediction", "answer")
                yield "reply removed", member, to_parquet(pa.concat_tables([table[:at], table[at + 1 :]]))
                for what, other in (
                    ("reply changed", {"reply": json.dumps({**reply, "text": text})}),
                    ("prompt changed", {"request": asked}),
                ):
                    rows = pa.Table.from_pylist([{**row, **other}], table.schema)
                    yield what, member, to_parquet(pa.concat_tables([table[:at], rows, table[at + 1 :]]))
        elif member.endswith("rows.parquet"):
            table = pq.read_table(pa.BufferReader(content))
            manifest = json.loads(read.read(member.replace("rows.parquet", "manifest.json")))
            for metric in manifest["metrics"]:
                place = table.schema.get_field_index(metric["column"])
                scores, field = table.column(place).to_pylist(), table.schema.field(place)
                for at, score in enumerate(scores):
                    if score is not None:
                        other = pa.chunked_array([[*scores[:at], abs(score - 0.5) / 2, *scores[at + 1 :]]], field.type)
                        yield "score", member, to_parquet(table.set_column(place, field, other))


def to_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def forge_all() -> None:
    """Write each forged bundle with digests of its own, and count what verifying says."""
    for path in BUNDLES:
        read = read_archive(path)
        members = {each.name: read.read(each.name) for each in read.index.members}
        found, missed = Counter[str](), list[str]()
        with tempfile.TemporaryDirectory() as folder:
            for at, (kind, member, content) in enumerate(forge(path)):
                if at % STRIDE:
                    continue
                forged = {**members, member: content}
                if member.startswith("runs/") and not member.endswith("replies.parquet"):
                    forged |= seal_run(Path(folder), member, forged)
                runs = {
                    name: sha256(forged[f"runs/{name}/manifest.json"]).hexdigest() for name in read.index.about["runs"]
                }
                write_archive(Path(folder, "forged.zip"), {**read.index.about, "runs": runs}, forged)
                state = karat.verify(Path(folder, "forged.zip")).state
                found[f"{kind}: {state}"] += 1
                missed += [f"{kind}, change {at}"] if state in ("equal", "last bits") else []
        print(f"{path.name}: {dict(sorted(found.items()))}; missed: {missed or 'none'}", flush=True)


def seal_run(folder: Path, member: str, members: dict[str, bytes]) -> dict[str, bytes]:
    """The manifest of a run with the checksum of a changed file."""
    name = member.rpartition("/")[0] + "/manifest.json"
    (folder / "manifest.json").write_bytes(members[name])
    manifest = read_manifest(folder)
    files = {**manifest.files, member.rpartition("/")[2]: sum_bytes(members[member])}
    write_manifest(replace(manifest, files=files), folder)
    return {name: (folder / "manifest.json").read_bytes()}


def take_time() -> None:
    """The processor time of scoring, bundling and verifying, the least of three."""
    n = 20_000
    table = {
        "id": [str(row) for row in range(n)],
        "prediction": [f"the answer number {row % 977} of {row % 31}" for row in range(n)],
        "gold": [[f"answer number {row % 971}", f"{row % 31}"] for row in range(n)],
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KARAT_RUNS"] = folder
        times: dict[str, list[float]] = {"score": [], "bundle": [], "verify": []}
        for attempt in range(3):
            name, path = f"r{attempt}", f"{folder}/{attempt}.zip"
            began = [time.process_time()]
            karat.score(table, ["em", "token_f1", "bleu"], run=name)
            began.append(time.process_time())
            karat.bundle(name, output=path)
            began.append(time.process_time())
            karat.verify(path)
            began.append(time.process_time())
            for step, (start, end) in zip(times, pairwise(began), strict=True):
                times[step].append(end - start)
        least = {name: min(each) for name, each in times.items()}
        print(
            f"{n:,} rows, em, token_f1, bleu; seconds of the processor: { {k: round(v, 2) for k, v in least.items()} }"
        )
        print(f"verify / score: {least['verify'] / least['score']:.2f}")


if __name__ == "__main__":
    for part in sys.argv[1:] or ["bytes", "forged", "time"]:
        {"bytes": flip_bytes, "forged": forge_all, "time": take_time}[part]()
