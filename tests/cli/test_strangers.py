"""Runs of strangers: each field of each file has each wrong type in turn, and names hold what a terminal obeys."""

import copy
import json
import re
import shutil
from html.parser import HTMLParser
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat import KaratError
from karat.cli.main import main
from karat.data.storage.checksums import seal
from karat.runs.store.run import open_run
from karat.text.hidden import HIDDEN
from karat.viewer.page import figures
from karat.viewer.page.query import Query
from karat.viewer.page.workspace import Workspace

N = 12
ROWS = pa.table(
    {
        "id": [f"q{row}" for row in range(N)],
        "topic": ["a", "b"] * (N // 2),
        "prediction": [f"w{row % 3}" for row in range(N)],
        "gold": [["w1"], ["w0"]] * (N // 2),
        "vote": [1.0, 0.0, None] * (N // 3),
    }
)
GONE = object()
WRONG = [None, True, 7, 1.5, "text", [1], {}, GONE]
BY_TURNS = [-1, [], 10**30, float("nan"), 1e308, "\ud800"]  # two for each place
EVIL = "\x1b[2J\u202e<img src=x onerror=alert(1)>[red]\x07*_`|"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two runs, `a` and `b`, and what `b` would hold if everything that can be in a run was in it."""
    folder = tmp_path_factory.mktemp("strangers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder))
        for name in "ab":
            karat.score(ROWS, ["exact_match", "bleu"], run=name, by="topic", cluster="topic", human="vote", on="id")
    files = {name: json.loads((folder / "b" / name).read_text()) for name in ("manifest.json", "values.json")}
    files["manifest.json"] |= {"models": {"names": ["m"], "calls": 3, "cost": 0.5}, "files": {}}
    ids = {"missing": 1, "missing_ids": ["x"], "unknown": 0, "unknown_ids": []}
    notes = {"retrieved": 3, "unjudged": 1, "prediction": {"comments": 1}, "reference": {"duplicates": 1}}
    files["values.json"]["joined"] = ids | notes
    files["values.json"]["metrics"][0]["counts"] = {"label": {"yes": 3}}
    return folder, files


@pytest.fixture
def write(kept, tmp_path, monkeypatch):
    """Writes the files of `b`; the checksum of the manifest is right, as a stranger would see to it."""
    folder, files = kept
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "kept")

    def write(**changed):
        contents = {name: changed.get(Path(name).stem, content) for name, content in files.items()}
        if isinstance(contents["manifest.json"], dict):
            contents["manifest.json"] = seal(contents["manifest.json"])
        for name, content in contents.items():
            (tmp_path / "kept" / "b" / name).write_text(json.dumps(content))

    return write


def places(content, at=()):
    """The way to each value in JSON, but for further items of a list, which are like the first."""
    yield at
    members = content.items() if isinstance(content, dict) else enumerate(content[:1]) if type(content) is list else ()
    for name, inner in members:
        yield from places(inner, (*at, name))


def put(content, at, value):
    """The content with another value in one place."""
    if not at:
        return value
    whole = inner = copy.deepcopy(content)
    for name in at[:-1]:
        inner = inner[name]
    if value is GONE:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return whole


def call(*words):
    """What a command prints, in which nothing is hidden; any error but one of karat's is raised."""
    done = CliRunner().invoke(main, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if "--json" not in words:
        assert not HIDDEN.search(done.output.replace("\n", "")), done.output
    return done.output


def show_page():
    """What the page gets of run `b`."""
    space = Workspace()
    answers = [figures.list_runs(space, Query())]
    if ids := [run["id"] for run in answers[0]["runs"] if run["name"] == "b" and run["state"] == "finished"]:
        answers += [show(space, Query(tuple(ids))) for show in (figures.show_values, figures.show_provenance)]
    return answers


def refusal(use):
    """The message of an error of karat, if there is one."""
    try:
        use()
    except KaratError as error:
        return str(error)
    return None


USES = {
    **{words: lambda words=words: call(*words.split()) for words in (
        "runs", "runs --json", "runs show b", "runs show b --json", "compare a b", "rank a b", "show b --worst 2",
        "runs export b -o b.md", "runs export b -o b.tex", "runs export b -o b.xml", "runs verify b",
    )},
    "page": show_page,
}  # fmt: skip


@pytest.mark.parametrize("file", ["manifest", "values"])
def test_a_field_of_another_type_is_an_error_that_names_file_and_field_or_does_no_harm(kept, write, file):
    content, refused, uses = kept[1][f"{file}.json"], 0, list(USES.items())
    wrongs = ([*WRONG, BY_TURNS[place % 3], BY_TURNS[3 + place % 3]] for place in count())
    for number, (at, value) in enumerate(
        (at, value)
        for at, values in zip(places(content), wrongs, strict=False)
        for value in values
        if at or value != GONE
    ):
        changed = put(content, at, None if value is GONE and not at else value)
        write(**{file: changed})
        if problem := refusal(lambda: open_run("b")):
            refused += 1
            assert f"{file}.json" in problem, (at, value)
            names = [name for name in at if isinstance(name, str)]
            assert not names or names[-1] in problem, (at, value, problem)
            assert re.search("expected|is missing|newer karat", problem), (at, value, problem)
            continue
        for name, use in [uses[number % len(uses)], uses[1]][: 1 + (number % 4 == 0)]:
            try:
                refusal(use)
            except Exception as error:
                raise AssertionError(f"{name}: {file}, {at}: {value!r}") from error
    assert refused > 200


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"metrics": ' + "[" * 900 + "]" * 900 + "}", "\xff", "9" * 5000]
)
@pytest.mark.parametrize("file", ["manifest.json", "values.json"])
def test_a_file_that_is_no_json_is_marked_and_the_other_runs_are_listed(write, file, text):
    write()
    Path("kept/b", file).write_text(text)
    listed = call("runs")
    assert f"b/{file}" in listed.replace("\n", "")
    assert re.search("^a .*exact_match 0", listed, re.MULTILINE)
    assert file in call("runs", "show", "b")


def column(kind, values):
    return lambda table, name: table.set_column(table.schema.get_field_index(name), name, pa.array(values, kind))


COLUMNS = {
    "gone": lambda table, name: table.drop_columns([name]),
    "text": column(pa.string(), ["x"] * N),
    "list": column(pa.list_(pa.int64()), [[1]] * N),
    "null": column(pa.null(), [None] * N),
    "beyond": column(pa.float64(), [1e300] * N),
    "nan": column(pa.float64(), [float("nan")] * N),
    "few": lambda table, _: table.slice(0, 3),
    "none": lambda table, _: table.slice(0, 0),
    "twice": lambda table, name: table.append_column(name, table[name]),
}


COLUMNS_OF = [("rows", name) for name in ("exact_match", "bleu", "topic", "id", "reason")] + [("statistics", "bleu")]


@pytest.mark.parametrize("change", COLUMNS)
@pytest.mark.parametrize(("file", "name"), COLUMNS_OF)
def test_a_column_of_another_type_is_an_error_of_karat(write, file, name, change):
    write()
    path = Path("kept/b", f"{file}.parquet")
    pq.write_table(COLUMNS[change](pq.read_table(path), name), path)
    for use in ("runs", "compare a b", "show b --worst 2", "runs export b -o b.xml", "rank a b"):
        call(*use.split())
    call("report", "b", "-o", "b.html")


def make_evil(folder, name, texts):
    """Make a run in which these texts hold what terminals, rich, HTML and Markdown obey."""
    path = folder / name
    manifest, values = (json.loads((path / file).read_text()) for file in ("manifest.json", "values.json"))

    def evil(content):
        if isinstance(content, dict):
            return {known(key): evil(value) for key, value in content.items()}
        return [evil(each) for each in content] if isinstance(content, list) else known(content)

    def known(text):
        return f"{text}{EVIL}" if text in texts else text

    manifest = evil(manifest) | {"call": EVIL, "files": {}, "created": EVIL}
    (path / "manifest.json").write_text(json.dumps(seal(manifest)))
    (path / "values.json").write_text(json.dumps(evil(values)))
    for file in ("rows.parquet", "statistics.parquet"):
        table = pq.read_table(path / file)
        table = table.rename_columns([known(each) for each in table.schema.names])
        pq.write_table(table, path / file)


class Page(HTMLParser):
    """The elements of a page with the names of their attributes, and what is shown: all but the data of scripts."""

    def __init__(self, page):
        super().__init__()
        self.names, self.shown, self._last = set(), "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._last = tag
        self.names |= {tag, *dict(attrs)}
        self.shown += " ".join(value or "" for _, value in attrs)

    def handle_data(self, data):
        self.shown += "" if self._last == "script" else data


NAMES = {"topic", "a", "b", "gold", "Table", "vote", "numpy", "label", "yes"}


@pytest.mark.parametrize("names", [NAMES, NAMES | {"exact_match", "bleu", "id"}])
def test_names_in_a_run_are_escaped_wherever_they_are_shown(write, names):
    write()
    for name in "ab":
        make_evil(Path("kept"), name, names)
    Path("kept/a").rename(Path("kept", folder := f"a{EVIL}"))
    for use in USES.values():
        use()
    for words in (("runs", "show", "b"), ("runs", "show", folder), ("compare", f"kept/{folder}", "b")):
        assert "<U+001B>[2J<U+202E><img" in call(*words).replace("\n", "")
    pages = [("report", "b"), ("runs", "export", "b"), ("report", f"kept/{folder}", "b", "--by", f"topic{EVIL}")]
    for number, words in enumerate(pages[: 2 if "bleu" in names else 3]):  # only metrics that are known are compared
        assert "Error" not in call(*words, "-o", f"{number}.html")
        page = Page(Path(f"{number}.html").read_text("utf-8"))
        assert not HIDDEN.search(page.shown)
        alone = words == ("report", "b") and "bleu" not in names  # then only data has them: tests/viewer/report
        assert alone or "U+202E" in page.shown
        assert not {"img", "onerror"} & page.names
    call("runs", "export", "b", "-o", "b.xml")
    for document in ("b.md", "b.xml"):
        assert "<img" not in Path(document).read_text("utf-8")
