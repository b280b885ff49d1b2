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
from karat.data.storage.checksums import seal, sum_file
from karat.errors import DataError, SpecError
from karat.runs.export.bundle import archive
from karat.runs.export.bundle.archive import read_archive, write_archive
from karat.runs.store.manifest import read_manifest, write_json, write_manifest

N = 24
TABLE = {
    "id": [f"q{row}" for row in range(N)],
    "topic": [f"t{row % 2}" for row in range(N)],
    "prediction": [None if row == 5 else f"word{row % 4} of {row}" for row in range(N)],
    "gold": [[f"word{row % 5}", f"of {row}"] for row in range(N)],
}
OTHER = {**TABLE, "prediction": [f"word{row % 5}" for row in range(N)]}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with two runs, and a bundle of them."""
    folder = tmp_path_factory.mktemp("bundles")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        for name, table in {"a": TABLE, "b": OTHER}.items():
            karat.score(table, ["token_f1", "bleu"], run=name, by="topic")
        karat.bundle("a", "b", output=folder / "both.zip")
    return folder


@pytest.fixture
def place(kept, tmp_path, monkeypatch):
    """The same for a test that changes it."""
    shutil.copytree(kept / "runs", tmp_path / "runs")
    shutil.copy(kept / "both.zip", tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words):
    done = CliRunner().invoke(main, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def wrong(verified):
    """What does not agree: the run, what of it, the kind and the state."""
    return [(each.run, each.of, each.kind, each.state) for each in verified.checks if each.state != "equal"]


def remake(folder):
    """Let a forged run have the checksums of its files, as who forges one would."""
    manifest = read_manifest(folder)
    manifest.files.update({name: sum_file(folder / name) for name in manifest.files})
    write_manifest(manifest, folder)


def change_json(path, change):
    content = json.loads(path.read_text())
    change(content)
    write_json(path, content)
    return content


def change_rows(path, column, change):
    table = pq.read_table(path)
    values = table.column(column).to_pylist()
    change(values)
    at = table.schema.names.index(column)
    pq.write_table(
        table.set_column(at, table.schema.field(at), pa.chunked_array([pa.array(values, table.schema.field(at).type)])),
        path,
    )


def test_every_number_is_derived_again_and_the_same_runs_make_the_same_bytes(place, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    verified = karat.verify("both.zip")
    assert (verified.state, verified.elsewhere, wrong(verified)) == ("equal", (), [])
    kinds = {(each.run, each.of): set() for each in verified.checks}
    for each in verified.checks:
        kinds[each.run, each.of].add(each.kind)
    assert kinds["a", "bleu"] == {"score", "counts", "value", "interval"}
    assert kinds["b", "token_f1"] == {"score", "value", "interval"}
    assert kinds["b against a", "bleu"] == {"verdict", "interval", "sentence"}
    assert kinds["a", "reference (gold)"] == {"column"}
    assert sum(each.compared for each in verified.checks if (each.run, each.kind) == ("a", "score")) == 2 * N
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


def test_tables_and_reports_name_the_bundle(place):
    digest = read_archive("both.zip").index.digest
    words = ["compare", "a", "b", "--bundle", "both.zip"]
    assert digest in call(*words, "-o", "t.tex", "-o", "t.md", "-o", "t.html").output
    assert json.loads(call(*words, "--json").stdout)["bundle"] == digest
    assert call("runs", "export", "a", "-o", "a.tex", "--bundle", "both.zip").exit_code == 0
    karat.report("a", output="one.html", bundle="both.zip")
    for name in ("t.tex", "t.md", "t.html", "a.tex", "one.html"):
        assert digest in Path(name).read_text(), name
    karat.score(TABLE, "token_f1", run="c")
    assert "both.zip does not hold c; it holds a, b" in call("compare", "a", "c", "--bundle", "both.zip").stderr
    shutil.rmtree(place / "runs/a")
    karat.score(TABLE, "em", run="a")
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


def test_a_forged_value_is_found(place):
    def forge(values):
        values["metrics"][0]["value"] += 0.1
        values["metrics"][1]["groups"]["t1"]["high"] = 1.0

    change_json(place / "runs/a/values.json", forge)
    remake(place / "runs/a")
    karat.bundle("a", output="forged.zip")
    verified = karat.verify("forged.zip")
    assert wrong(verified) == [("a", "token_f1", "value", "differs"), ("a", "bleu", "interval", "differs")]
    value, interval = (each for each in verified.checks if each.state == "differs")
    assert value.difference == pytest.approx(0.1)
    assert value.note.startswith("value: 0.")
    assert "groups t1 high: 1.0 in the bundle, 0." in interval.note


def test_swapped_gold_forged_scores_and_counts_are_found(place):
    def swap(values):
        values[0], values[1] = values[1], values[0]

    change_rows(place / "runs/a/rows.parquet", "gold", swap)
    change_rows(place / "runs/b/rows.parquet", "token_f1", lambda values: values.__setitem__(3, 0.25))
    change_rows(place / "runs/b/statistics.parquet", "bleu", lambda values: values[2].__setitem__(0, 7.0))
    for name in "ab":
        remake(place / "runs" / name)
    karat.bundle("a", "b", output="forged.zip")
    verified = karat.verify("forged.zip")
    found = wrong(verified)
    assert ("a", "reference (gold)", "column", "differs") in found
    assert ("a", "token_f1", "score", "differs") in found
    assert ("b", "token_f1", "score", "differs") in found
    assert ("b", "bleu", "counts", "differs") in found
    assert ("b", "bleu", "score", "differs") not in found
    assert next(each.note for each in verified.checks if each.run == "b" and each.kind == "score").startswith(
        "row 4: 0.25 in the bundle, 1.0 recomputed"
    )


def test_a_forged_verdict_is_found(place):
    read = read_archive("both.zip")
    members = {each.name: read.read(each.name) for each in read.index.members}
    content = json.loads(members["verdicts.json"])
    finding = content["compared"]["findings"][0]
    finding["verdict"], finding["p"] = "better", 1e-9
    write_archive("forged.zip", read.index.about, {**members, "verdicts.json": json.dumps(content).encode()})
    assert wrong(karat.verify("forged.zip")) == [("b against a", "token_f1", "verdict", "differs")]
    for arguments in ({"human": "/etc/passwd"}, {"by": 3}):  # of a stranger
        strange = json.dumps({**content, "arguments": arguments}).encode()
        write_archive("strange.zip", read.index.about, {**members, "verdicts.json": strange})
        with pytest.raises(DataError, match=r"strange\.zip: verdicts\.json"):
            karat.verify("strange.zip")


def forge(path, change, name="values.json"):
    """The state and the checks of a bundle with a changed file of JSON, for which all digests are made anew."""
    read = read_archive(path)
    members = {each.name: read.read(each.name) for each in read.index.members}
    folder = Path("forged")
    shutil.rmtree(folder, ignore_errors=True)
    for member, content in members.items():
        (folder / member).parent.mkdir(parents=True, exist_ok=True)
        (folder / member).write_bytes(content)
    file = folder / (name if name == "verdicts.json" else f"runs/a/{name}")
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    about = read.index.about
    if name != "verdicts.json":
        if name == "manifest.json":
            file.write_text(json.dumps(seal({key: content[key] for key in content if key != "checksum"})))
        else:
            remake(folder / "runs/a")
        digest = hashlib.sha256((folder / "runs/a/manifest.json").read_bytes()).hexdigest()
        about = {**about, "runs": {**about["runs"], "a": digest}}
    write_archive("forged.zip", about, {member: (folder / member).read_bytes() for member in members})
    return karat.verify("forged.zip")


@pytest.mark.parametrize(
    ("change", "of"),
    [
        (lambda values: values["metrics"][0]["groups"].pop("t1"), "groups"),
        (lambda values: values["metrics"][1].pop("low"), "low"),
        (lambda values: values["metrics"].pop(), "specs"),
        (lambda values: values["metrics"].append({**values["metrics"][0], "value": 1.0}), "specs"),
        (lambda values: values["metrics"][0].update(signature="token_f1"), "signature"),
        (lambda values: values["metrics"][0].update(caution="all is well"), "caution"),
        (lambda values: values["metrics"][0].update(value=float("inf")), "value"),
        (lambda values: values["metrics"][0].update(strange=10**400), "strange"),
        (lambda values: values["mapping"].update(prediction="gold"), "mapping"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_left_out_added_or_reworded_is_found(place, change, of):
    karat.bundle("a", output="a.zip")
    verified = forge("a.zip", change)
    assert verified.state == "differs"
    assert of in next(each.note for each in verified.checks if each.state == "differs")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["compared"]["findings"].pop(0),
        lambda content: content["compared"].update(findings=[]),
        lambda content: content["compared"]["findings"].append(content["compared"]["findings"][0]),
        lambda content: content["compared"]["findings"][0].update(sentence="b is better than a"),
        lambda content: content["compared"].update(systems=["b", "a"]),
    ],
)
def test_findings_that_are_left_out_or_reworded_are_found(place, change):
    assert forge("both.zip", change, "verdicts.json").state == "differs"


def test_a_manifest_that_says_other_things_is_found(place):
    karat.bundle("a", output="a.zip")
    for change, of in (
        (lambda manifest: manifest["metrics"][1].update(recipe="squad"), "recipes bleu"),
        (lambda manifest: manifest["lengths"].update(longer=99), "lengths longer"),
        (lambda manifest: manifest["digests"].pop("prediction"), "digest"),
    ):
        verified = forge("a.zip", change, "manifest.json")
        assert of in next(each.note for each in verified.checks if each.state == "differs")


def test_members_that_nothing_names_and_runs_under_a_digest_of_another(place):
    read = read_archive("both.zip")
    members = {each.name: read.read(each.name) for each in read.index.members}
    about = {**read.index.about, "runs": {**read.index.about["runs"], "a": "0" * 64}}
    write_archive("other.zip", about, members)
    assert "another digest" in next(each.note for each in karat.verify("other.zip").checks if each.state == "differs")
    names = [*members]
    names.insert(1, "runs/a/rows/part-000001.parquet")
    write_archive("more.zip", read.index.about, {name: members.get(name, b"") or b"PAR1" for name in names})
    assert {each.state for each in karat.verify("more.zip").checks if each.run == "a" and each.of == ""} == {"differs"}


def test_last_bits_on_another_version_and_metrics_that_are_not_here(place):
    def forge(values):
        values["metrics"][0]["value"] *= 1 + 4e-16

    change_json(place / "runs/a/values.json", forge)
    remake(place / "runs/a")
    karat.bundle("a", output="same.zip")
    assert (karat.verify("same.zip").state, karat.verify("same.zip").elsewhere) == ("last bits", ())
    manifest = read_manifest(place / "runs/a")
    manifest.versions["numpy"] = "1.0"
    write_manifest(manifest, place / "runs/a")
    karat.bundle("a", output="other.zip")
    verified = karat.verify("other.zip")
    assert (verified.state, wrong(verified)) == ("last bits", [("a", "token_f1", "value", "last bits")])
    assert verified.elsewhere[0].startswith("numpy 1.0, here ")
    assert call("verify", "other.zip").exit_code == 7
    for name in ("values.json", "manifest.json"):
        path = place / "runs/b" / name
        path.write_text(path.read_text().replace("normalize='squad'", "normalize='squad', gone=1"))
        if name == "values.json":
            remake(place / "runs/b")
    content = json.loads(path.read_text())
    content.pop("checksum")
    (place / "runs/b/manifest.json").write_text(json.dumps(content))
    karat.bundle("b", output="older.zip")
    verified = karat.verify("older.zip")
    assert wrong(verified) == [("b", "token_f1", "score", "not recomputed")]
    assert call("verify", "older.zip").exit_code == 7


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


def test_a_file_that_would_fill_the_memory_is_not_read(place):
    read = read_archive("both.zip")
    members = {each.name: read.read(each.name) for each in read.index.members}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": pa.nulls(2_000_000, pa.string())}), sink)
    write_archive("bomb.zip", read.index.about, {**members, "runs/a/rows.parquet": bytes(sink.getvalue())})
    check = next(each for each in karat.verify("bomb.zip").checks if each.state == "differs")
    assert check.note.startswith("bomb.zip: runs/a/rows.parquet: expected at most 100 rows")
    once = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), pa.array(["x" * 100_000]))
    for column in (once, pa.ListArray.from_arrays(pa.array(range(1_001), pa.int32()), once)):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"id": column}), sink)
        write_archive("bomb.zip", read.index.about, {**members, "runs/a/rows.parquet": bytes(sink.getvalue())})
        check = next(each for each in karat.verify("bomb.zip").checks if each.state == "differs")
        assert "found 1,000 rows and" in check.note


def test_a_correction_by_people_is_derived_from_their_labels(place):
    labels = [{"id": f"q{row}", "label": float(row % 2)} for row in range(0, N, 3)]
    rows = {**TABLE, "people": [float(row % 3 == 0) if row % 2 else None for row in range(N)]}
    karat.score(TABLE, "token_f1", run="labelled", by="topic", human=labels, on="id")
    karat.score(rows, "token_f1", run="beside", by="topic", human="people")
    assert karat.bundle("labelled", output="without.zip").notes[0].startswith("labelled was corrected by labels")
    assert ("labelled", "token_f1", "value", "not recomputed") in wrong(karat.verify("without.zip"))
    for name, human in (("labelled", labels), ("beside", "people")):
        assert karat.bundle(name, output="with.zip", human=human, on="id").notes == ()
        assert wrong(karat.verify("with.zip")) == []
    karat.bundle("labelled", output="digests.zip", human=labels, on="id", texts=False)
    assert {kind for _, _, kind, _ in wrong(karat.verify("digests.zip"))} == {"score"}
    others = [{**each, "label": 1.0} for each in labels]
    with pytest.raises(DataError, match="not those with which labelled was scored"):
        karat.bundle("labelled", output="with.zip", human=others, on="id")
    karat.bundle("a", "b", output="pair.zip", human={"a": labels, "b": labels}, on="id", metrics="token_f1")
    assert wrong(karat.verify("pair.zip")) == []
    read = read_archive("pair.zip")
    assert json.loads(read.read("verdicts.json"))["compared"]["findings"][0]["corrected"]["labelled"] == 8
    members = {each.name: read.read(each.name) for each in read.index.members}
    changed = members["runs/b/labels.json"].replace(b"0.0", b"1.0", 1)
    write_archive("pair.zip", read.index.about, {**members, "runs/b/labels.json": changed})
    assert ("b against a", "token_f1", "verdict", "differs") in wrong(karat.verify("pair.zip"))
    file = members["runs/a/labels.json"].replace(b'"columns": []', b'"columns": ["/etc/passwd"]')
    write_archive("pair.zip", read.index.about, {**members, "runs/a/labels.json": file})
    note = next(each.note for each in karat.verify("pair.zip").checks if each.state == "differs")
    assert "expected a table of labels, or columns of the rows" in note


def test_a_gold_patch_is_in_the_bundle(place):
    Path("patch.jsonl").write_text('{"id": "q3", "old": ["word3", "of 3"], "verdict": "also right", "new": "x"}\n')
    karat.score(TABLE, "token_f1", run="patched", gold_patch="patch.jsonl")
    assert karat.bundle("patched", output="patched.zip").notes == ()
    checks = {each.of: each for each in karat.verify("patched.zip").checks}
    assert {each.state for each in checks.values()} == {"equal"}
    assert checks["gold_patch.jsonl"].kind == "column"
    read = read_archive("patched.zip")
    members = {each.name: read.read(each.name) for each in read.index.members}
    members["runs/patched/gold_patch.jsonl"] = members["runs/patched/gold_patch.jsonl"].replace(b'"x"', b'"y"')
    write_archive("other.zip", read.index.about, members)
    assert wrong(karat.verify("other.zip")) == [("patched", "gold_patch.jsonl", "column", "differs")]
    del members["runs/patched/gold_patch.jsonl"]
    write_archive("lacks.zip", read.index.about, members)
    assert wrong(karat.verify("lacks.zip")) == [("patched", "gold_patch.jsonl", "column", "not recomputed")]
    change_rows(place / "runs/patched/rows.parquet", "gold", lambda values: values[3].remove("x"))
    remake(place / "runs/patched")
    karat.bundle("patched", output="undone.zip")
    assert ("patched", "gold_patch.jsonl", "column", "differs") in wrong(karat.verify("undone.zip"))
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


def test_runs_that_cannot_be_compared_are_bundled_with_a_note(place):
    karat.score({**OTHER, "id": [f"r{row}" for row in range(N)]}, ["token_f1"], run="apart")
    done = call("runs", "bundle", "a", "apart", "-o", "apart.zip")
    assert done.exit_code == 0, done.output
    assert "note: no verdicts are in the bundle: " in done.stderr
    assert karat.verify("apart.zip").state == "equal"


def test_without_texts_values_and_verdicts_are_derived_from_scores(place):
    secret = {
        **TABLE,
        "question": [f"secret {row // 3}" for row in range(N)],
        "note": [{"n": "hidden"}] * N,
        "cost": [0.5] * N,
    }
    karat.score(secret, ["token_f1", "bleu"], run="c", by="topic", where="question != 'secret 9'")
    other = {**secret, "prediction": OTHER["prediction"]}
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
            assert table.column("cost").to_pylist() == [0.5] * N
            assert table.column("question")[0].as_py() == hashlib.sha256(b"secret 0").hexdigest()
        for text in (b"secret", b"hidden", b"word1"):
            assert text not in content, each.name
    change_json(place / "runs/c/values.json", lambda values: values["metrics"][1].__setitem__("high", 0.9))
    remake(place / "runs/c")
    karat.bundle("c", output="forged.zip", texts=False)
    assert ("c", "bleu", "interval", "differs") in wrong(karat.verify("forged.zip"))
    karat.score({**TABLE, "gold": ["x"] * N}, "em", run="e", by="gold")
    with pytest.raises(SpecError, match="values by 'gold', a text that metrics read"):
        karat.bundle("e", output="e.zip", texts=False)
