"""Runs whose rows are in several files look the same, everywhere, as those in one."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import DataError
from karat.runs.export.one_file import export_run
from karat.runs.labels.rows_to_label import open_rows_to_label
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.store.run import open_run
from karat.viewer.page.catalog import Catalog
from karat.viewer.rows.columns import find_facets
from karat.viewer.rows.display import show_rows
from karat.viewer.rows.facets import count_facets, keep_others, list_facets
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.filters import keep_rows, sort_rows
from karat.viewer.rows.table import match_rows

N, GROUP = 90, 20


@pytest.fixture(scope="module", autouse=True)
def plain(tmp_path_factory):
    """The runs `one` and `parts` of the same rows, the second in parts of a few rows; the folder of both."""
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs [1]"))
        patch.setattr(parts_module, "LEAST_ROWS", 1)
        score(folder)
        yield folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of runs."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    return tmp_path


def score(folder, more=None, names=("one", "parts"), where=None):
    """Score the same rows as two runs, the second in parts; `more` are other columns."""
    random = np.random.default_rng(1)
    words = np.array(["Paris", "Rome", "the", "Straße"])
    texts = [" ".join(random.choice(words, 3)) for _ in range(2 * N)]
    table = {
        "id": [f"q{at}" for at in random.permutation(N)],
        "question": [f"what is {at}?" for at in range(N)],
        "prediction": [None if at % 9 == 4 else texts[at] for at in range(N)],
        "gold": [texts[at + (at % 2) * N] for at in range(N)],
        "topic": [("geo", "art", None)[at % 3] for at in range(N)],
        **(more or {}),
    }
    pq.write_table(pa.table(table), folder / "rows.parquet", row_group_size=GROUP)
    for name, settings in zip(names, ({"keep": True}, {"engine": "threads"}), strict=True):
        karat.score(folder / "rows.parquet", ["exact_match", "token_f1", "bleu"], run=name, where=where, **settings)
    assert len(open_run(names[1]).files) >= N // GROUP


def test_the_page_shows_finds_counts_and_sorts_the_same_rows():
    check_page()


def test_the_page_is_the_same_where_a_column_has_the_name_of_the_numbers_of_rows(folder):
    score(folder, {"file_row_number": [9] * N})
    check_page()


def check_page():
    one, parts = (match_rows([open_run(name)]) for name in ("one", "parts"))
    chosen = np.random.default_rng(2).permutation(N)
    assert show_rows(one, chosen) == show_rows(parts, chosen)
    found = [Condition(Field("text"), "contains", ("straße",)), Condition(Field("column", "topic"), "in", ("art",))]
    kept = [keep_rows(table, found) for table in (one, parts)]
    assert 0 < kept[0].sum() < N
    np.testing.assert_array_equal(*kept)
    counted = [count_facets(table, keep_others(table, found), list_facets(table)) for table in (one, parts)]
    assert counted[0] == counted[1]
    order = Order(Field("score", metric="token_f1"), descending=True)
    np.testing.assert_array_equal(*(sort_rows(table, order) for table in (one, parts)))


def test_the_values_that_name_groups_are_found_though_the_first_part_is_empty(folder):
    score(folder, {"place": range(N)}, where="place >= 40")
    names = [(table.columns[0], table.runs[0]) for table in (match_rows([open_run(each)]) for each in ("one", "parts"))]
    assert [find_facets(run, columns) for columns, run in names] == [["topic"]] * 2


def test_two_runs_in_parts_are_matched_and_read(plain):
    score(plain, {"prediction": ["Paris"] * N}, names=("one_2", "parts_2"))
    shown = [show_rows(match_rows([open_run(name), open_run(f"{name}_2")]), np.arange(N)) for name in ("one", "parts")]
    assert shown[0] == shown[1]


def test_rows_without_ids_are_numbered_through_all_parts(folder):
    score(folder, {"id": ["x"] * N, "question": ["y"] * N})
    table = match_rows([open_run("parts")])
    assert (table.by, table.n) == ("order", N)
    assert table.name_rows(np.array([0, N - 1])) == ["1", str(N)]


def printed(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    "options", [["--worst", 50], ["--unscored", 5], ["--best", 5, "--where", "topic = 'art'", "--show", "topic"]]
)
def test_show_prints_the_same_rows(options):
    shown = [json.loads(printed("show", name, "--json", *options)) for name in ("one", "parts")]
    assert shown[0]["rows"] == shown[1]["rows"]
    assert shown[0]["rows"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xml", "md"])
def test_an_export_is_the_same_file(tmp_path, ending):
    for name in ("one", "parts"):
        export_run(open_run(name), tmp_path / f"{name}.{ending}")
    one, parts = ((tmp_path / f"{name}.{ending}").read_text("utf-8") for name in ("one", "parts"))
    when, name = 'timestamp="[^"]*"', "parts(?![A-Za-z])"
    assert re.sub(when, "", one) == re.sub(when, "", re.sub(name, "one", parts))


def test_an_export_does_not_replace_a_part():
    run = open_run("parts")
    with pytest.raises(DataError, match="is an input file"):
        export_run(run, run.files[3])


def test_a_report_holds_the_same_rows(tmp_path):
    for name in ("one", "parts"):
        printed("report", name, "-o", tmp_path / f"{name}.html")
    one, parts = ((tmp_path / f"{name}.html").read_text("utf-8").replace("parts", "one") for name in ("one", "parts"))
    data = [text.split('type="application/json"')[1].split("</script>")[0] for text in (one, parts)]
    data = [re.sub(r"\d{4}-\d\d-\d\dT[\d:]{8}", "", text) for text in data]  # when each was made
    assert "Straße" in data[0]
    assert data[0] == data[1]


def test_the_same_rows_are_labelled():
    one, parts = (open_rows_to_label([name]) for name in ("one", "parts"))
    assert one.rows == parts.rows
    assert [one.read(at) for at in range(N)] == [parts.read(at) for at in range(N)]


def test_a_run_in_parts_that_is_not_finished_says_how_far_it_is(plain):

    class Stops:
        name, workers = "stops", 4

        def run(self, recipe, tasks, advance):
            for task in (0, 2):
                yield parts_module.Threads(1).run(recipe, {task: tasks[task]}, advance).__next__()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        karat.score(plain / "rows.parquet", "exact_match", run="late", engine=Stops())
    (entry,) = (each for each in Catalog().describe() if each["name"] == "late")
    assert (entry["state"], entry["n"]) == ("stopped", 2 * GROUP)
