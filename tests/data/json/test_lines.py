"""The kernel reads lines of JSON as DuckDB reads them, or leaves the file to it."""

import gzip
import json
import random

import pyarrow as pa
import pytest

from karat.core.errors import DataError
from karat.data.formats import json as reader
from karat.data.json import infer, lines
from karat.data.json.lines import scan_lines
from karat.data.open import open_source

pytestmark = pytest.mark.skipif(not lines.COMPILED, reason="no compiled kernel")

WORDS = [
    *("", "a", "Zürich", 'a"b', "x\\y", "line\nbreak", "1", "null", "tab\t", "👍", "a/b", "\x7f", "\u2028", "日本語"),
    *("a longer text with more than eight bytes", "of which one is é", "\b\f\r", "\ufffe", "ends with a \\"),
]
NUMBERS = [0, -1, 10**14, 10**15, 10**17, 10**18, 10**20, 0.5, -2.25, 1e3, 1e-7, 1e22, 0.1 + 0.2, 123456789.123456789]
FAULTS = ['"', "{", "}", "x", ",", "NaN", "\x01", "\\", '"a": 1,', "\\ud800", "\\u0000", "1e999", "01", "-", "1.", "é"]
SPELLED = [
    "-0",
    "1E5",
    "1e+5",
    "1.10",
    "2.50e-3",
    "\ud83d",
    '"\\u00e9\\ud83d\\ude00\\/"',
    "[ 1 , 2 ]",
    "[null]",
    "[[],[1]]",
]


def value(rng, depth=0):
    form = rng.randrange(10 if depth < 3 else 6)
    if form < 6:
        return rng.choice([rng.choice(WORDS), rng.choice(NUMBERS), None, True, "word", "two words"])
    if form < 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice("abcA"): value(rng, depth + 1) for _ in range(rng.randrange(3))}


def column(rng, rows):
    alike = value(rng)
    forms = [
        *([alike, None], [value(rng) for _ in range(rows)], ["a", "b", None], [1, 2, 3], [["a"], ["b", "c"], []]),
        *([[1], [None, 2], None], [1, 0.5], [10**17, 0.5], [[0.5], [True]], [[], None], WORDS, [WORDS[:3], WORDS]),
    ]
    return rng.choices(rng.choice(forms), k=rows)


def write(rng, path, *, lacking=False):
    rows = rng.randrange(1, 8)
    keys = rng.sample(["id", "prediction", "reference", "a", "B", "b", "x.y", "ü", "info", ""], rng.randrange(1, 6))
    columns = [column(rng, rows) for _ in keys]
    cells = [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    if lacking:
        cells = [{key: cell for key, cell in row.items() if rng.random() < 0.8} for row in cells]
    spaces = rng.choice([None, (",", ":"), (" ,\t", "\r:  ")])
    end = rng.choice(["\n", "\r\n", "\n\n", "\n \n"])
    made = [json.dumps(row, ensure_ascii=rng.random() < 0.5, separators=spaces) for row in cells]
    text = end.join(made) + rng.choice(["", "\n", "\r\n"])
    if rng.random() < 0.2:
        text = text.replace("null", rng.choice(SPELLED))
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(FAULTS) + text[at + rng.randrange(2) :]
    path.write_bytes(rng.choice([b"", b"", b"\xef\xbb\xbf"]) + text.encode("utf-8", "surrogatepass"))


def read(file):
    source = reader.open_json_rows(file, "a", "newline_delimited")
    return pa.Table.from_batches(source.batches(), source.schema)


def check(file, patch):
    """Whether the kernel reads the file: then as DuckDB does."""
    with patch.context() as without:
        without.setattr(reader, "scan_lines", lambda *_: None)
        without.setattr(infer, "scan_lines", lambda *_: None)
        try:
            whole = read(file)
        except DataError as error:
            whole = str(error)
    used, look = [], reader.scan_lines
    with patch.context() as spying:
        for module in (reader, infer):
            spying.setattr(module, "scan_lines", lambda *args: used.append(look(*args)) or used[-1])
        try:
            ours = read(file)
        except DataError as error:
            ours = str(error)
    if isinstance(whole, str) or isinstance(ours, str):
        assert ours == whole, file.read_text()
        return False
    assert ours.schema.equals(whole.schema, check_metadata=True), file.read_text()
    assert ours.to_pylist() == whole.to_pylist(), file.read_text()
    ours.validate(full=True)
    return any(found is not None for found in used)


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_reads_what_duckdb_reads(tmp_path, monkeypatch, seed):
    rng, file = random.Random(seed), tmp_path / "a.jsonl"  # noqa: S311
    for module in (lines, reader) if seed % 2 else ():  # objects and lists, as in a large file
        monkeypatch.setattr(module, "FEW_BYTES", 0)
    both = 0
    for _ in range(30):
        write(rng, file)
        both += check(file, monkeypatch)
    assert both > 5


def test_lines_that_lack_keys_are_read_where_there_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr(infer, "_SAMPLE", 1)
    rng, file, both = random.Random(9), tmp_path / "a.jsonl", 0  # noqa: S311
    for _ in range(40):
        write(rng, file, lacking=True)
        both += check(file, monkeypatch)
    assert both > 5


PLAIN = [
    '{"a":"x","b":["y"],"n":1}',
    '{ "a" : null , "b":[ ] ,"n":-7}\r',
    '{"a":"\\u00fc","b":[null,"é"],"n":0}',
    " \t",
]


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
def test_lines_are_read_however_they_are_cut(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_CHUNK", chunk)
    for module in (lines, reader):
        monkeypatch.setattr(module, "FEW_BYTES", 0)
    monkeypatch.setattr(reader, "rows_per_batch", lambda *_: 7)
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(PLAIN * 10), "utf-8", newline="")
    assert read(file).to_pylist() == 10 * [
        {"a": "x", "b": ["y"], "n": 1}, {"a": None, "b": [], "n": -7}, {"a": "ü", "b": [None, "é"], "n": 0}
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        '{"z":1}', '{"b":[],"a":"x","n":1}', '{"a":"x","a":"y","n":1}', '{"a":"x"', '{"a":"x","b":[],"n":1}}', "[1]",
        '{"a":"x","b":[],"n":1},', "{}", '{"a":"x\\', '{"a" "x"}', '{"A":"x","b":[],"n":1}', '{"a":"\\x","b":[],"n":1}',
        '{"a":"\x02","b":[],"n":1}', '{"a":nul,"b":[],"n":1}', '{"a":"x","b":[1,],"n":1}', '{"a":"x","b":[],"n":01}',
        '{"a":"x","b":[],"n":1234567890123456789}', '{"a":"x","b":[],"n":1e400}', '{"a":"x","b":[],"n":.5}',
        '{"a":"\\udc00","b":[],"n":1}', '{"a":"x","b":{"a":1 "b":2},"n":1}', '{"a":"x","b":[],"n":1}{"a":"x"}',
        f'{{"a":{70 * "["}{70 * "]"},"b":[],"n":1}}',
    ],
)  # fmt: skip
def test_a_line_that_is_not_plain_leaves_the_file_to_duckdb(line, tmp_path):
    file = tmp_path / "rows.jsonl"
    for place in range(1, 3):
        content = PLAIN[:2]
        content.insert(place, line)
        file.write_text("\n".join(content) + "\n", "utf-8")
        assert scan_lines(file) is None


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xc0\x80", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf5\x80\x80\x80",
             b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]
)  # fmt: skip
def test_text_that_is_not_utf_8_is_not_plain(text, tmp_path):
    file = tmp_path / "rows.jsonl"
    for before in range(9):
        file.write_bytes(b'{"a":"' + b"x" * before + text + b'"}\n')
        assert scan_lines(file) is None
        with pytest.raises(UnicodeDecodeError):
            text.decode()


def test_every_character_is_read(tmp_path):
    texts = [chr(at) for at in range(1, 0x110000) if not 0xD800 <= at < 0xE000]
    rows = [{"a": "".join(texts[at : at + 4096])} for at in range(0, len(texts), 4096)]
    for ascii_only in (True, False):
        file = tmp_path / "rows.jsonl"
        file.write_text("\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows), "utf-8", newline="")
        assert scan_lines(file) is not None
        assert read(file).to_pylist() == rows


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    for module in (lines, reader):
        monkeypatch.setattr(module, "FEW_BYTES", 0)
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": "x"}\n' * 3)
    source = open_source(str(file))
    file.write_text('{"a": 1}\n' * 3)
    with pytest.raises(DataError, match=r"rows.jsonl.*changed"):
        list(source.batches())


def test_a_compressed_file_is_decompressed_twice_and_no_more(tmp_path, monkeypatch):
    for module in (lines, reader):
        monkeypatch.setattr(module, "FEW_BYTES", 0)
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"a": "x"}\n' * 300_000))
    walks, cut = [], lines._cut_chunks

    def count(path):
        for chunk in cut(path):
            walks.append(len(chunk))
            yield chunk

    monkeypatch.setattr(lines, "_cut_chunks", count)
    source = open_source(str(file))
    assert sum(map(len, source.batches())) == 300_000
    assert sum(walks) < 2.5 * 300_000 * len('{"a": "x"}\n')
