from __future__ import annotations

import json
import random
import struct
import zipfile
import zlib
from contextlib import suppress

import pyarrow as pa
import pytest

import karat
from karat.core.errors import DataError
from karat.data.formats.logs.inspect import inspect_rows
from karat.data.open import open_source

HEADER = {"eval": {"task": "qa", "model": "m"}}


def sample(number, epoch=1, value="C"):
    output = {"choices": [{"message": {"content": "Paris"}}]}
    about = {"id": number, "epoch": epoch, "input": "Q", "target": " Paris"}
    return about | {"output": output, "scores": {"match": {"value": value}}, "events": [{"event": "long"}]}


def pack(path, members, method):
    """Write a zip file; for Zstandard (93), which Python before 3.14 does not write, byte by byte."""
    if method != 93:
        with zipfile.ZipFile(path, "w", method) as log:
            for name, content in members.items():
                log.writestr(name, json.dumps(content))
        return
    body, entries = b"", b""
    for name, content in members.items():
        raw = json.dumps(content).encode()
        packed = pa.compress(raw, "zstd", asbytes=True)
        sizes = (93, 0, 0, zlib.crc32(raw), len(packed), len(raw), len(name))
        entries += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 63, 63, 0, *sizes, 0, 0, 0, 0, 0, len(body))
        entries += name.encode()
        body += struct.pack("<IHHHHHIIIHH", 0x04034B50, 63, 0, *sizes, 4) + name.encode() + b"more" + packed
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(members), len(members), len(entries), len(body), 0)
    path.write_bytes(body + entries + end)


def test_targets_of_inspect_have_no_whitespace_at_their_ends():
    samples = [{"id": at, "target": target} for at, target in enumerate((" Paris", ["a ", "\tb"], None))]
    rows = list(inspect_rows({"eval": {}, "samples": samples}))
    assert [row["reference"] for row in rows] == ["Paris", ["a", "b"], None]
    assert '"target": " Paris"' in rows[0]["sample"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93])
def test_packed_logs_of_every_method_have_a_row_for_each_sample_and_epoch(tmp_path, method):
    samples = {
        f"samples/{n}_epoch_{e}.json": sample(n, e, value) for n, e, value in ((1, 1, "C"), (1, 2, "I"), (2, 1, "P"))
    }
    pack(tmp_path / "a.eval", {"header.json": HEADER, **samples, "summaries.json": []}, method)
    source = open_source(tmp_path / "a.eval")
    rows = pa.table(source).to_pylist()
    assert [(row["id"], row["epoch"], row["score.match"], row["value.match"]) for row in rows] == [
        (1, 1, "C", 1.0),
        (1, 2, "I", 0.0),
        (2, 1, "P", 0.5),
    ]
    assert "events" not in json.loads(rows[0]["sample"])
    result = karat.score(source, ["exact_match", "column('value.match')"], cluster="id")
    assert [value.value for value in result.values.values()] == [1.0, 0.5]
    assert result.tools == ("Inspect",)


def test_a_stopped_log_without_a_header_is_read_from_its_journal(tmp_path):
    pack(tmp_path / "a.eval", {"_journal/start.json": HEADER, "samples/1.json": sample(1)}, 93)
    assert open_source(tmp_path / "a.eval").rows == 1


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"other.json": {}}, ": not a log of Inspect"),
        ({"header.json": HEADER}, ": a log of Inspect without samples"),
        ({"header.json": HEADER, "samples/1.json": {"input": "Q"}}, ", row 1: not as Inspect writes it: KeyError"),
    ],
)
def test_other_archives_are_refused_by_name(tmp_path, members, problem):
    pack(tmp_path / "a.eval", members, 93)
    with pytest.raises(DataError, match=rf"a\.eval{problem}"):
        open_source(tmp_path / "a.eval")


def test_a_damaged_member_is_refused(tmp_path):
    path = tmp_path / "a.eval"
    pack(path, {"header.json": HEADER, "samples/1.json": sample(1)}, 93)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"samples/1.json")
    content[at - 30] ^= 1  # of the checksum in the directory
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"not a log of Inspect: samples/1\.json is damaged"):
        open_source(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, 93])
def test_an_archive_with_a_wrong_byte_is_read_or_refused(tmp_path, method):
    path = tmp_path / "a.eval"
    pack(path, {"header.json": HEADER, "samples/1.json": {"id": 1, "input": "Q"}}, method)
    content = path.read_bytes()
    for at in random.Random(0).sample(range(len(content)), 50):  # noqa: S311
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        with suppress(DataError):
            list(open_source(path).batches())


def test_of_samples_with_choices_the_prediction_is_the_letter_that_the_scorer_read(tmp_path):
    samples = [
        sample(number)
        | {"target": "A", "choices": ["Paris", "Bern"], "scores": {"choice": {"value": value, "answer": letter}}}
        for number, (value, letter) in enumerate([("C", "A"), ("I", "B"), ("I", None)])
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**HEADER, "samples": samples}))
    rows = [row for batch in open_source(path).batches() for row in batch.to_pylist()]
    assert [row["prediction"] for row in rows] == ["A", "B", "Paris"]
    result = karat.score(path, ["exact_match", "column('value.choice')"])
    assert [value.value for value in result.values.values()] == pytest.approx([1 / 3, 1 / 3])


@pytest.mark.parametrize("more", [{}, {"samples": None}, {"samples": []}])
def test_a_log_without_samples_says_which_to_score(tmp_path, more):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"version": 2, "status": "success", **HEADER, "results": {}, **more}))
    with pytest.raises(DataError, match=r"without samples; score one that was written without --no-log-samples"):
        open_source(path)


def test_the_frame_of_samples_says_how_it_gets_the_answers(tmp_path):
    frame = [{"sample_id": "s", "eval_id": "e", "id": 1, "epoch": 1, "input": "Q", "target": "A", "score_exact": 1.0}]
    with pytest.raises(DataError, match=r'add SampleColumn\("output", path="output.completion"\)'):
        karat.score(frame, "exact_match")
    assert karat.score([{**frame[0], "output": "A"}], "exact_match").values["exact_match"].value == 1.0
