"""Bundles that were forged, with all digests made anew: what was changed, added or left out is found."""

import hashlib
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.data.storage.checksums import seal
from karat.errors import DataError
from karat.runs.export.bundle.archive import read_archive, write_archive
from karat.runs.store.manifest import read_manifest, write_manifest


def test_a_forged_value_is_found(place, forging):
    def forge(values):
        values["metrics"][0]["value"] += 0.1
        values["metrics"][1]["groups"]["t1"]["high"] = 1.0

    forging.change_json(place / "runs/a/values.json", forge)
    forging.remake(place / "runs/a")
    karat.bundle("a", output="forged.zip")
    verified = karat.verify("forged.zip")
    assert forging.wrong(verified) == [("a", "token_f1", "value", "differs"), ("a", "bleu", "interval", "differs")]
    value, interval = (each for each in verified.checks if each.state == "differs")
    assert value.difference == pytest.approx(0.1)
    assert value.note.startswith("value: 0.")
    assert "groups t1 high: 1.0 in the bundle, 0." in interval.note


def test_swapped_gold_forged_scores_and_counts_are_found(place, forging):
    def swap(values):
        values[0], values[1] = values[1], values[0]

    forging.change_rows(place / "runs/a/rows.parquet", "gold", swap)
    forging.change_rows(place / "runs/b/rows.parquet", "token_f1", lambda values: values.__setitem__(3, 0.25))
    forging.change_rows(place / "runs/b/statistics.parquet", "bleu", lambda values: values[2].__setitem__(0, 7.0))
    for name in "ab":
        forging.remake(place / "runs" / name)
    karat.bundle("a", "b", output="forged.zip")
    verified = karat.verify("forged.zip")
    found = forging.wrong(verified)
    assert ("a", "reference (gold)", "column", "differs") in found
    assert ("a", "token_f1", "score", "differs") in found
    assert ("b", "token_f1", "score", "differs") in found
    assert ("b", "bleu", "counts", "differs") in found
    assert ("b", "bleu", "score", "differs") not in found
    assert next(each.note for each in verified.checks if each.run == "b" and each.kind == "score").startswith(
        "row 4: 0.25 in the bundle, 1.0 recomputed"
    )


def test_a_forged_verdict_is_found(place, forging):
    read = read_archive("both.zip")
    members = {each.name: read.read(each.name) for each in read.index.members}
    content = json.loads(members["verdicts.json"])
    finding = content["compared"]["findings"][0]
    finding["verdict"], finding["p"] = "better", 1e-9
    write_archive("forged.zip", read.index.about, {**members, "verdicts.json": json.dumps(content).encode()})
    assert forging.wrong(karat.verify("forged.zip")) == [("b against a", "token_f1", "verdict", "differs")]
    for arguments in ({"human": "/etc/passwd"}, {"by": 3}):  # of a stranger
        strange = json.dumps({**content, "arguments": arguments}).encode()
        write_archive("strange.zip", read.index.about, {**members, "verdicts.json": strange})
        with pytest.raises(DataError, match=r"strange\.zip: verdicts\.json"):
            karat.verify("strange.zip")


def forge(path, change, remake, name="values.json"):
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
        (lambda values: values["metrics"][0].update(value=float("inf"), strange=10**400), "value"),
        (lambda values: values["mapping"].update(prediction="gold"), "mapping"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_left_out_added_or_reworded_is_found(place, forging, change, of):
    karat.bundle("a", output="a.zip")
    verified = forge("a.zip", change, forging.remake)
    assert verified.state == "differs"
    assert of in next(each.note for each in verified.checks if each.state == "differs")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["compared"]["findings"].pop(0),
        lambda content: content["compared"]["findings"].append(content["compared"]["findings"][0]),
        lambda content: content["compared"]["findings"][0].update(sentence="b is better than a"),
    ],
)
def test_findings_that_are_left_out_or_reworded_are_found(place, forging, change):
    assert forge("both.zip", change, forging.remake, "verdicts.json").state == "differs"


def test_a_manifest_that_says_other_things_is_found(place, forging):
    karat.bundle("a", output="a.zip")
    for change, of in (
        (lambda manifest: manifest["metrics"][1].update(recipe="squad"), "recipes bleu"),
        (lambda manifest: manifest["lengths"].update(longer=99), "lengths longer"),
        (lambda manifest: manifest["digests"].pop("prediction"), "digest"),
    ):
        verified = forge("a.zip", change, forging.remake, "manifest.json")
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


def test_last_bits_on_another_version_and_metrics_that_are_not_here(place, forging):
    def forge(values):
        values["metrics"][0]["value"] *= 1 + 4e-16

    forging.change_json(place / "runs/a/values.json", forge)
    forging.remake(place / "runs/a")
    karat.bundle("a", output="same.zip")
    assert (karat.verify("same.zip").state, karat.verify("same.zip").elsewhere) == ("last bits", ())
    manifest = read_manifest(place / "runs/a")
    manifest.versions["numpy"] = "1.0"
    write_manifest(manifest, place / "runs/a")
    karat.bundle("a", output="other.zip")
    verified = karat.verify("other.zip")
    assert (verified.state, forging.wrong(verified)) == ("last bits", [("a", "token_f1", "value", "last bits")])
    assert verified.elsewhere[0].startswith("numpy 1.0, here ")
    assert CliRunner().invoke(main, ["verify", "other.zip"]).exit_code == 7
    for name in ("values.json", "manifest.json"):
        path = place / "runs/b" / name
        path.write_text(path.read_text().replace("normalize='squad'", "normalize='squad', gone=1"))
        if name == "values.json":
            forging.remake(place / "runs/b")
    content = json.loads(path.read_text())
    content.pop("checksum")
    (place / "runs/b/manifest.json").write_text(json.dumps(content))
    karat.bundle("b", output="older.zip")
    verified = karat.verify("older.zip")
    assert forging.wrong(verified) == [("b", "token_f1", "score", "not recomputed")]
    assert CliRunner().invoke(main, ["verify", "older.zip"]).exit_code == 7


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
