"""What users rely on is as it was: signatures, flags, the Python API, what commands print, runs and caches on disk.

The examples were stored by `make.py`. A difference here is a change that users see: where it is meant, store anew.
"""

import json
import math
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import karat

_spec = spec_from_file_location("frozen_recompute", Path(__file__).with_name("recompute.py"))
now = sys.modules[_spec.name] = module_from_spec(_spec)
_spec.loader.exec_module(now)


def stored(name):
    return json.loads((now.EXPECTED / f"{name}.json").read_text("utf-8"))


ADDED = {"all_low", "all_high", "caution", "recipe"}  # members that are newer than the stored runs


def differences(was, is_now, where=""):
    """Where two values differ: in type, in keys and their order, in length, in numbers by more than 1e-12."""
    if isinstance(was, float) and isinstance(is_now, float):
        if not math.isclose(was, is_now, rel_tol=1e-12, abs_tol=1e-12):
            yield f"{where}: {was!r} was stored, now {is_now!r}"
    elif type(was) is not type(is_now):
        yield f"{where}: {was!r:.200} was stored, now {is_now!r:.200}"
    elif isinstance(was, dict):
        is_now = {key: each for key, each in is_now.items() if key in was or key not in ADDED}
        if list(was) != list(is_now):
            yield f"{where}: the keys {list(was)} were stored, now {list(is_now)}"
        for key in was.keys() & is_now.keys():
            yield from differences(was[key], is_now[key], f"{where}/{key}")
    elif isinstance(was, list):
        if len(was) != len(is_now):
            yield f"{where}: {len(was)} items were stored, now {len(is_now)}"
        for at, (old, new) in enumerate(zip(was, is_now, strict=False)):
            yield from differences(old, new, f"{where}/{at}")
    elif was != is_now:
        yield f"{where}: {was!r} was stored, now {is_now!r}"


def check(was, is_now):
    assert list(differences(was, json.loads(json.dumps(is_now)))) == []


@pytest.fixture
def offline(tmp_path):
    """A workspace with the stored caches, in which nobody answers."""
    with now.workspace(tmp_path / "offline", *now.CACHES.iterdir(), serve=False):
        yield


@pytest.fixture(scope="module")
def working(tmp_path_factory):
    """A workspace with the stored runs, a fake model and no caches."""
    folder = tmp_path_factory.mktemp("frozen") / "work"
    with now.workspace(folder, now.RUNS):
        yield folder


def test_a_difference_is_found():
    was = {"a": [1, 2.0], "b": "x", "c": None}
    assert list(differences(was, {"a": [1, 2.0 + 1e-15], "b": "x", "c": None})) == []
    for changed in (
        {"a": [1, 2.00001], "b": "x", "c": None},
        {"a": [1.0, 2.0], "b": "x", "c": None},
        {"a": [1], "b": "x", "c": None},
        {"a": [1, 2.0], "c": None, "b": "x"},
        {"a": [1, 2.0], "b": "y", "c": None},
        {"a": [1, 2.0], "b": "x"},
    ):
        assert len(list(differences(was, changed))) == 1


def test_specs_and_signatures():
    check(stored("signatures"), now.signatures())


def test_signatures_of_judges_that_ask_in_both_orders():
    check(stored("swapped"), now.swapped())


def test_flags():
    check(stored("flags"), now.flags())


@pytest.mark.parametrize("module", now.PUBLIC)
def test_names_and_parameters_of_the_python_api(module):
    """Names and members may come; none may go."""
    pytest.importorskip("haystack" if module.endswith("haystack") else "karat")
    was = stored("api")[module]
    is_now = now.api(module, names=list(was))
    for name, members in was.items():
        if isinstance(members, dict) and isinstance(is_now[name], dict):
            is_now[name] = {member: said for member, said in is_now[name].items() if member in members}
    check(was, is_now)


def test_names_that_are_listed_as_public():
    for module, names in stored("api").items():
        if hasattr(sys.modules.get(module), "__all__"):
            assert set(names) <= {*sys.modules[module].__all__}


@pytest.mark.parametrize("name", now.COMMANDS)
def test_what_commands_print_and_write(name, working, monkeypatch):
    monkeypatch.chdir(working)
    if name == "files":
        for made_before in ("csv", "parquet"):
            now.printed(now.COMMANDS[made_before])
    check(stored("printed")[name], now.printed(now.COMMANDS[name]))
    if name in now.FILES:
        written, was = (folder / now.FILES[name] for folder in (working, now.EXPECTED / "files"))
        assert written.read_text("utf-8") == was.read_text("utf-8")


@pytest.mark.parametrize("name", now.ASKING)
def test_what_judges_score(name, working, monkeypatch):
    monkeypatch.chdir(working)
    check(stored("asked")[name], now.printed(now.ASKING[name]))


@pytest.mark.parametrize("name", now.ASKING)
def test_stored_replies_are_found(name, offline):
    """The keys of requests are as they were: no call is made, which would fail at once."""
    check(stored("asked")[name], now.printed(now.ASKING[name].replace("--json", "--max-calls 1 --json")))


def test_stored_vectors_are_found(offline):
    check(stored("asked")["similar"], now.similar())


@pytest.mark.parametrize("name", now.KEPT)
def test_a_run_that_is_kept_anew_is_as_before(name, working, tmp_path, monkeypatch):
    monkeypatch.chdir(working)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / now.RUNS.name))
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "none.sqlite"))
    anew = now.contents(now.kept(name))
    was = now.contents(now.RUNS / name)
    assert list(was) == list(anew)
    check(json.loads(json.dumps(was)), anew)


def test_a_run_that_was_stopped_goes_on(working, tmp_path, monkeypatch):
    monkeypatch.chdir(working)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "resumed"))
    shutil.copytree(now.RUNS / ".half.partial", tmp_path / "resumed" / ".half.partial")
    now.this_unicode(tmp_path / "resumed" / ".half.partial")
    assert now.half.score_half(resume=True) == 24 - 15
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "whole"))
    assert now.half.score_half(resume=False) == 24
    check(now.contents(tmp_path / "whole" / "half"), now.contents(tmp_path / "resumed" / "half"))


def test_an_experiment_that_was_killed_goes_on(working, tmp_path, monkeypatch):
    monkeypatch.chdir(working)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    shutil.copytree(now.RUNS / ".halted.answers", tmp_path / ".halted.answers")
    Path("asked.txt").unlink(missing_ok=True)
    done = now.call("experiment task.py:answer --data questions.jsonl -m exact_match --run halted --resume")
    assert done.exit_code == 0, done.output
    assert sorted(Path("asked.txt").read_text().split()) == ["q06", "q07", "q08", "q09"]
    assert now.contents(tmp_path / "halted")["manifest.json"]["n"] == 9


@pytest.mark.parametrize("path", sorted(now.BUNDLES.iterdir()), ids=lambda path: path.stem)
def test_bundles_of_releases_stay_verifiable(path, tmp_path, monkeypatch):
    """By the replies in them: no cache is there, and nobody answers."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "none.sqlite"))
    verified = karat.verify(path)
    assert [each for each in verified.checks if each.state not in ("equal", "last bits")] == []
    assert {each.kind for each in verified.checks} >= {"file", "column", "score", "value", "interval"}
