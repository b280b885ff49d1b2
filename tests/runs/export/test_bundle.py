"""Bundles of runs: every number in one is derived again, and whatever was damaged or changed in it is found."""

import hashlib
import json
import os
import shutil
import socket
import zipfile
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.errors import DataError, SpecError
from karat.runs.export.bundle import archive
from karat.runs.export.bundle.archive import read_archive, write_archive


def call(*words):
    done = CliRunner().invoke(main, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_every_number_is_derived_again_and_the_same_runs_make_the_same_bytes(place, forging, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    verified = karat.verify("both.zip")
    assert (verified.state, verified.elsewhere, forging.wrong(verified)) == ("equal", (), [])
    kinds = {(each.run, each.of): set() for each in verified.checks}
    for each in verified.checks:
        kinds[each.run, each.of].add(each.kind)
    assert kinds["a", "bleu"] == {"score", "counts", "value", "interval"}
    assert kinds["b", "token_f1"] == {"score", "value", "interval"}
    assert kinds["b against a", "bleu"] == {"verdict", "interval", "sentence"}
    assert kinds["a", "reference (gold)"] == {"column"}
    assert sum(each.compared for each in verified.checks if (each.run, each.kind) == ("a", "score")) == 2 * 24
    written = karat.bundle("a", "b", output="again.zip")
    assert written.digest == verified.digest
    assert Path("again.zip").read_bytes() == Path("both.zip").read_bytes()
    with zipfile.ZipFile("both.zip") as opened:
        assert opened.testzip() is None
        assert opened.read("runs/a/values.json") == Path("runs/a/values.json").read_bytes()


def test_commands(place):
    done = call("runs", "bundle", "a", "b", "-o", "c.zip", "--by", "topic", "-m", "token_f1")
    assert done.exit_code == 0, done.output
    digest = done.stdout.strip()
    done = call("verify", "c.zip", "--digest", digest[:16])
    assert done.exit_code == 0, done.output
    assert digest in done.output
    assert "token_f1 [t1]" in done.output
    assert call("verify", "both.zip", "--digest", digest).exit_code == 1
    assert call("verify", "both.zip", "--digest", "zz").exit_code == 2
    Path("c.zip").write_bytes(Path("c.zip").read_bytes().replace(b'"verdict": ', b'"Verdict": '))
    done = call("verify", "c.zip", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["state"] == "differs"


def test_tables_and_reports_name_the_bundle(place, forging):
    digest = read_archive("both.zip").index.digest
    words = ["compare", "a", "b", "--bundle", "both.zip"]
    assert digest in call(*words, "-o", "t.tex", "-o", "t.md", "-o", "t.html").output
    assert json.loads(call(*words, "--json").stdout)["bundle"] == digest
    assert call("runs", "export", "a", "-o", "a.tex", "--bundle", "both.zip").exit_code == 0
    karat.report("a", output="one.html", bundle="both.zip")
    for name in ("t.tex", "t.md", "t.html", "a.tex", "one.html"):
        assert digest in Path(name).read_text(), name
    karat.score(forging.table, "token_f1", run="c")
    assert "both.zip does not hold c; it holds a, b" in call("compare", "a", "c", "--bundle", "both.zip").stderr
    shutil.rmtree(place / "runs/a")
    karat.score(forging.table, "em", run="a")
    with pytest.raises(DataError, match="holds another run a"):
        karat.report("a", output="one.html", bundle="both.zip")


def test_every_flipped_byte_is_found(place):
    content = bytearray(Path("both.zip").read_bytes())
    members = zipfile.ZipFile("both.zip").infolist()
    directory = int.from_bytes(content[-6:-2], "little")
    offsets = {len(content) - 1 - at for at in range(22)} | {*range(directory, directory + 60, 3), *range(40)}
    for each in members:  # of each member the header, and the first and last byte
        name = each.header_offset + 30
        offsets |= {
            *range(each.header_offset, name, 4),
            name,
            name + len(each.filename),
            name + len(each.filename) + each.file_size - 1,
        }
    offsets |= {*range(0, len(content), len(content) // 40)}
    for at in sorted(offsets):
        content[at] ^= 1 << at % 8
        Path("flipped.zip").write_bytes(content)
        content[at] ^= 1 << at % 8
        with suppress(DataError):  # it cannot even be read
            assert read_archive("flipped.zip").damaged, at


def test_what_is_not_a_bundle(place):
    content = Path("both.zip").read_bytes()
    read = read_archive("both.zip")
    for name, wrong_content in {
        "cut.zip": content[:-1],
        "more.zip": content + b"\0",
        "begins.zip": b"\0" + content,
        "text.zip": b"not a zip",
    }.items():
        Path(name).write_bytes(wrong_content)
        with pytest.raises(DataError, match=name):
            karat.verify(name)
    with zipfile.ZipFile("packed.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("bundle.json", json.dumps({"format": 1}))
    with pytest.raises(DataError, match=r"packed\.zip"):
        karat.verify("packed.zip")
    for name in (
        "../../evil.json",
        "/etc/evil.json",
        "runs/../a/evil.json",
        "runs/a/../../evil.json",
        "runs/.a/x.json",
        "x\\y.json",
    ):
        write_archive("evil.zip", read.index.about, {name: b"{}"})
        with pytest.raises(DataError, match=r"evil\.zip is not a bundle"):
            karat.verify("evil.zip")
    write_archive("lacks.zip", read.index.about, {"verdicts.json": read.read("verdicts.json")})
    with pytest.raises(DataError, match="names the runs"):
        karat.verify("lacks.zip")


def test_a_correction_by_people_is_derived_from_their_labels(place, forging):
    labels = [{"id": f"q{row}", "label": float(row % 2)} for row in range(0, 24, 3)]
    rows = {**forging.table, "people": [float(row % 3 == 0) if row % 2 else None for row in range(24)]}
    karat.score(forging.table, "token_f1", run="labelled", by="topic", human=labels, on="id")
    karat.score(rows, "token_f1", run="beside", by="topic", human="people")
    assert karat.bundle("labelled", output="without.zip").notes[0].startswith("labelled was corrected by labels")
    assert ("labelled", "token_f1", "value", "not recomputed") in forging.wrong(karat.verify("without.zip"))
    for name, human in (("labelled", labels), ("beside", "people")):
        assert karat.bundle(name, output="with.zip", human=human, on="id").notes == ()
        assert forging.wrong(karat.verify("with.zip")) == []
    karat.bundle("labelled", output="digests.zip", human=labels, on="id", texts=False)
    assert {kind for _, _, kind, _ in forging.wrong(karat.verify("digests.zip"))} == {"score"}
    others = [{**each, "label": 1.0} for each in labels]
    with pytest.raises(DataError, match="not those with which labelled was scored"):
        karat.bundle("labelled", output="with.zip", human=others, on="id")
    karat.bundle("a", "b", output="pair.zip", human={"a": labels, "b": labels}, on="id", metrics="token_f1")
    assert forging.wrong(karat.verify("pair.zip")) == []
    read = read_archive("pair.zip")
    assert json.loads(read.read("verdicts.json"))["compared"]["findings"][0]["corrected"]["labelled"] == 8
    members = {each.name: read.read(each.name) for each in read.index.members}
    changed = members["runs/b/labels.json"].replace(b"0.0", b"1.0", 1)
    write_archive("pair.zip", read.index.about, {**members, "runs/b/labels.json": changed})
    assert ("b against a", "token_f1", "verdict", "differs") in forging.wrong(karat.verify("pair.zip"))
    file = members["runs/a/labels.json"].replace(b'"columns": []', b'"columns": ["/etc/passwd"]')
    write_archive("pair.zip", read.index.about, {**members, "runs/a/labels.json": file})
    note = next(each.note for each in karat.verify("pair.zip").checks if each.state == "differs")
    assert "expected a table of labels, or columns of the rows" in note


def test_a_gold_patch_is_in_the_bundle(place, forging):
    Path("patch.jsonl").write_text('{"id": "q3", "old": ["word3", "of 3"], "verdict": "also right", "new": "x"}\n')
    karat.score(forging.table, "token_f1", run="patched", gold_patch="patch.jsonl")
    assert karat.bundle("patched", output="patched.zip").notes == ()
    checks = {each.of: each for each in karat.verify("patched.zip").checks}
    assert {each.state for each in checks.values()} == {"equal"}
    assert checks["gold_patch.jsonl"].kind == "column"
    read = read_archive("patched.zip")
    members = {each.name: read.read(each.name) for each in read.index.members}
    members["runs/patched/gold_patch.jsonl"] = members["runs/patched/gold_patch.jsonl"].replace(b'"x"', b'"y"')
    write_archive("other.zip", read.index.about, members)
    assert forging.wrong(karat.verify("other.zip")) == [("patched", "gold_patch.jsonl", "column", "differs")]
    del members["runs/patched/gold_patch.jsonl"]
    write_archive("lacks.zip", read.index.about, members)
    assert forging.wrong(karat.verify("lacks.zip")) == [("patched", "gold_patch.jsonl", "column", "not recomputed")]
    forging.change_rows(place / "runs/patched/rows.parquet", "gold", lambda values: values[3].remove("x"))
    forging.remake(place / "runs/patched")
    karat.bundle("patched", output="undone.zip")
    assert ("patched", "gold_patch.jsonl", "column", "differs") in forging.wrong(karat.verify("undone.zip"))
    Path("patch.jsonl").rename("other.jsonl")
    assert karat.bundle("patched", output="named.zip", gold_patch="other.jsonl").notes == ()
    assert "patch.jsonl, which patched the gold of patched" in karat.bundle("patched", output="lacks.zip").notes[0]


def test_a_bundle_of_a_newer_release(place, monkeypatch):
    monkeypatch.setattr(archive, "FORMAT", 2)
    karat.bundle("a", output="newer.zip")
    monkeypatch.undo()
    with pytest.raises(DataError, match="newer karat"):
        karat.verify(place / "newer.zip")


def test_what_cannot_be_bundled(place):
    with pytest.raises(SpecError, match="expected the name"):
        karat.bundle(output="a.zip")
    with pytest.raises(SpecError, match="there is one"):
        karat.bundle("a", output="a.zip", by="topic")
    with pytest.raises(SpecError, match="no argument 'flipped'"):
        karat.bundle("a", "b", output="a.zip", flipped=3)
    with pytest.raises(DataError, match="two runs are called a"):
        karat.bundle("a", place / "runs/a", output="a.zip")
    with pytest.raises(DataError, match="there is no run 'c'"):
        karat.bundle("a", "c", output="a.zip")
    os.truncate(place / "runs/a/rows.parquet", 100)
    with pytest.raises(DataError, match=r"rows\.parquet is damaged"):
        karat.bundle("a", output="a.zip")
    assert not Path("a.zip").exists()


def test_runs_that_cannot_be_compared_are_bundled_with_a_note(place, forging):
    karat.score({**forging.other, "id": [f"r{row}" for row in range(24)]}, ["token_f1"], run="apart")
    done = call("runs", "bundle", "a", "apart", "-o", "apart.zip")
    assert done.exit_code == 0, done.output
    assert "note: no verdicts are in the bundle: " in done.stderr
    assert karat.verify("apart.zip").state == "equal"


def test_without_texts_values_and_verdicts_are_derived_from_scores(place, forging):
    secret = {
        **forging.table,
        "question": [f"secret {row // 3}" for row in range(24)],
        "note": [{"n": "hidden"}] * 24,
        "cost": [0.5] * 24,
    }
    karat.score(secret, ["token_f1", "bleu"], run="c", by="topic", where="question != 'secret 9'")
    other = {**secret, "prediction": forging.other["prediction"]}
    karat.score(other, ["token_f1", "bleu"], run="d", by="topic", cluster="question")
    for words, name in ((["c"], "one.zip"), (["a", "b", "--by", "topic"], "two.zip"), (["d"], "three.zip")):
        assert call("runs", "bundle", *words, "-o", name, "--no-texts").exit_code == 0
    verified = karat.verify("one.zip")
    assert {(each.kind, each.state) for each in verified.checks} == {
        *((kind, "equal") for kind in ("file", "value", "interval")),
        ("score", "not recomputed"),
    }
    assert call("verify", "one.zip").exit_code == 7
    verified = karat.verify("two.zip")
    assert {(each.kind, each.state) for each in verified.checks} >= {("verdict", "equal"), ("score", "not recomputed")}
    assert "differs" not in {each.state for each in verified.checks}
    intervals = [each for each in karat.verify("three.zip").checks if each.kind == "interval"]
    assert all(each.state in ("equal", "not recomputed") for each in intervals)
    read = read_archive("one.zip")
    for each in read.index.members:
        content = read.read(each.name)
        if each.name.endswith("rows.parquet"):
            table = pq.read_table(pa.BufferReader(content))
            content = json.dumps(table.to_pylist()).encode()
            assert table.column("id").to_pylist()[:2] == ["q0", "q1"]
            assert table.column("cost").to_pylist() == [0.5] * 24
            assert table.column("question")[0].as_py() == hashlib.sha256(b"secret 0").hexdigest()
        for text in (b"secret", b"hidden", b"word1"):
            assert text not in content, each.name
    forging.change_json(place / "runs/c/values.json", lambda values: values["metrics"][1].__setitem__("high", 0.9))
    forging.remake(place / "runs/c")
    karat.bundle("c", output="forged.zip", texts=False)
    assert ("c", "bleu", "interval", "differs") in forging.wrong(karat.verify("forged.zip"))
    karat.score({**forging.table, "gold": ["x"] * 24}, "em", run="e", by="gold")
    with pytest.raises(SpecError, match="values by 'gold', a text that metrics read"):
        karat.bundle("e", output="e.zip", texts=False)
