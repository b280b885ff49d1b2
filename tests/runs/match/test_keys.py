"""The key by which rows are paired: never where a row stood in a file, where another column says which row it is."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.data.open import open_source
from karat.errors import DataError, JoinError
from karat.runs.match.match import match
from karat.runs.match.systems import OpenRows
from karat.runs.store.manifest import Manifest, describe_metric

pd = pytest.importorskip("pandas")

INDEX = ("", "Unnamed: 0", "Unnamed: 0.1", "index", "__index_level_0__", "level_0", "id", "row_id", "n", "row", "Index")
IDS = ("id", "uid", "question_id", "qid", "example_id", "case", "item", "key", "name", "question")
SPELLED = ("q{:04}", "{:x}-{:02}", "{}", "item {}", "{:08}")


@pytest.fixture(autouse=True)
def _runs_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)


def draw_tables(random):
    """Two tables of the same rows, as data frames are written with their index; `score` is the number of the row."""
    n = int(random.integers(3, 25))
    numbers = random.choice(np.arange(100, 9000), n, replace=False)
    key, spell = random.choice(IDS), random.choice(SPELLED)
    columns = {key: [spell.format(number, number) for number in numbers.tolist()]}
    if random.random() < 0.4 and key != "question":
        few = random.random() < 0.5
        columns["question"] = [f"what {row % 3 if few else row}" for row in range(n)]
    if random.random() < 0.5:
        columns["gold"] = [str(random.integers(2)) for _ in range(n)]
    if random.random() < 0.2:
        columns["topic"] = [f"t{row % 3}" for row in range(n)]
    columns["score"] = [float(row) for row in range(n)]
    names = [name for name in random.permutation(INDEX)[: random.integers(1, 3)].tolist() if name not in columns]
    kinds = [random.choice(["counts", "counts", "from one", "q", "stale"]) for _ in names]
    tables = []
    for side in (0, 1):
        order = random.permutation(n) if random.random() < 0.8 else np.arange(n)
        if side and random.random() < 0.2:
            order = order[: max(2, n // 2)]
        frame = {name: [cells[row] for row in order] for name, cells in columns.items()}
        frame["answer"] = [f"{side} {row}" for row in order]
        for name, kind in zip(names, kinds, strict=True):
            counted = range(kind == "from one", len(order) + (kind == "from one"))
            spelled = [f"q{each}" if kind == "q" else str(each) for each in counted]
            if kind == "stale" and name not in ("id", "row_id"):
                spelled = random.permutation(spelled).tolist()  # of another frame
            frame = {name: spelled} | frame if random.random() < 0.7 else frame | {name: spelled}
        tables.append(frame)
    return tables


SCORED = (describe_metric(karat.metrics.column.using(name="score"), "score"),)


def in_memory(frame):
    return OpenRows(Path(), Manifest("a", "", SCORED, {}), source=open_source(pa.table(frame)))


def read_pairs(systems, **options):
    matched = match(systems, "column(score)", **options)
    sides = [run.scores("column(score)") for run in matched.runs]
    assert matched.rows.key.strip()
    return [side[order].tolist() for side, order in zip(sides, matched.rows.orders, strict=True)]


@pytest.mark.parametrize("seed", range(8))
def test_pairs_are_those_of_the_true_key_whatever_index_is_beside_it(seed, monkeypatch):
    monkeypatch.setenv("KARAT_THREADS", "1")  # 800 small tables, for which threads only cost time
    random = np.random.default_rng(seed)
    for case in range(100):
        one, other = draw_tables(random)
        a, b = map(in_memory, (one, other))
        if case == 0:  # files are read in the same way
            for path, frame in (("a.csv", one), ("b.csv", other)):
                pd.DataFrame(frame).to_csv(path, index=False)
            a, b = Path("a.csv"), Path("b.csv")
        ours, theirs = read_pairs([a, b], common=True)
        assert ours == theirs, (one, other)
        assert set(ours) == set(one["score"]) & set(other["score"]), (one, other)


N = 60
random = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {
        "id": [f"x{each}" for each in random.choice(9999, N, replace=False)],
        "question": [f"What is {row}?" for row in range(N)],
        "gold": [f"{row % 7}" for row in range(N)],
        "score": random.integers(0, 2, N).astype(float),
    }
)
OTHER = FRAME.assign(score=random.integers(0, 2, N).astype(float)).sample(frac=1, random_state=2).reset_index(drop=True)
BOTH = FRAME.merge(OTHER, on="id")
WON = [int((BOTH.score_y > BOTH.score_x).sum()), int((BOTH.score_y < BOTH.score_x).sum())]


def run(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


def write(a, b):
    a.to_csv("sa.csv")
    b.to_csv("sb.csv")


@pytest.mark.parametrize("columns", [["id", "score"], ["id", "question", "gold", "score"], ["question", "score"]])
def test_files_of_data_frames_are_compared_by_the_column_beside_their_index(columns):
    write(FRAME[columns], OTHER[columns])
    printed = run("compare", "sa.csv", "sb.csv", "-m", "column(score)")
    assert f"{N} rows, compared row by row, by {columns[0]}" in printed.stdout
    assert f" {WON[0]}/{WON[1]}/" in printed.stdout
    assert (
        f"{N} rows, matched by {columns[0]}"
        in run("compare", "--rank", "sa.csv", "sb.csv", "-m", "column(score)").stdout
    )
    drawn = run("label", "sa.csv", "sb.csv", "--next", 5, "--show", "score", "-o", "drawn.csv")
    assert drawn.exit_code == 0, drawn.output
    assert pd.read_csv("drawn.csv").columns[0] == columns[0]
    report = run("report", "sa.csv", "sb.csv", "-m", "column(score)", "-o", "report.html")
    assert report.exit_code == 0, report.output
    shown = run("show", "sa.csv", "sb.csv", "-m", "column(score)", "--first", N, "--json", "--show", "score")
    assert shown.exit_code == 0, shown.output
    pairs = [[each["columns"]["score"] for each in row] for row in json.loads(shown.stdout)["rows"]]
    assert sum(float(one) < float(other) for one, other in pairs) == WON[0]


def test_an_index_without_other_columns_is_no_key_unless_gold_is_in_the_same_order():
    write(FRAME[["score"]], OTHER[["score"]])
    refused = run("compare", "sa.csv", "sb.csv", "-m", "column(score)")
    assert refused.exit_code == 1
    assert "no column identifies the rows of sa.csv and sb.csv: name one that holds an id" in refused.stderr
    named = run("compare", "sa.csv", "sb.csv", "-m", "column(score)", "--on", "")
    assert f"{N} rows, compared row by row, by the column without a name" in named.stdout


def test_ids_in_an_index_without_a_name_are_a_key():
    write(FRAME.set_index("id").rename_axis(None)[["score"]], OTHER.set_index("id").rename_axis(None)[["score"]])
    printed = run("compare", "sa.csv", "sb.csv", "-m", "column(score)")
    assert "by the column without a name" in printed.stdout
    assert f" {WON[0]}/{WON[1]}/" in printed.stdout


def test_an_id_that_counts_is_the_key_where_other_columns_pair_the_same_rows():
    a = FRAME.assign(id=range(N))
    b = a.assign(score=1 - a.score)
    assert karat.compare(*(karat.score(each, "column(score)") for each in (a, b))).by == "id"
    shuffled = b.sample(frac=1, random_state=1)
    assert (
        karat.compare(*(karat.score(each, "column(score)") for each in (a, shuffled))).by == "id"
    )  # it moved with rows
    again = shuffled.assign(id=range(N))
    compared = karat.compare(*(karat.score(each, "column(score)") for each in (a, again)))
    assert compared.by == "question"
    assert compared.findings[0].comparison.ties == 0
    assert "rows are matched by question, as id only counts the rows" in compared.notes[0]


def test_a_named_key_whose_rows_disagree_names_the_key_that_agrees():
    a, b = (each.assign(row=range(N)) for each in (FRAME, OTHER))
    systems = [karat.score(each, "column(score)") for each in (a, b)]
    for compare in (karat.compare, karat.rank):
        with pytest.raises(JoinError, match=r"paired by row, and A and B have another question .*: --on 'id'"):
            compare(*systems, on="row")
        assert any("another question" in note for note in compare(*systems, on="row", allow_different=True).notes)
        assert compare(*systems, on="id").by == "id"


def test_the_advice_for_other_gold_leads_to_right_pairs():
    answers = {"prediction": FRAME.gold.tolist()}
    a, b = FRAME.assign(**answers, uid=range(N)), OTHER.assign(prediction=OTHER.gold, uid=range(N))
    for name, each in (("a", a), ("b", b)):
        karat.score(each[["uid", "gold", "prediction"]], "exact_match", run=name)
    refused = run("compare", "a", "b")
    assert "scored against different gold" in refused.stderr
    assert "uid only counts the rows" in refused.stderr
    assert "--allow-different" not in refused.stderr
    for name, each in (("a", a), ("b", b)):
        karat.score(
            each[["uid", "gold", "prediction", "id"]].rename(columns={"id": "case"}), "exact_match", run=f"{name}2"
        )
    assert "by case" in run("compare", "a2", "b2").stdout


def test_the_id_that_joined_the_gold_is_the_key():
    FRAME[["id", "gold"]].rename(columns={"id": "case"}).to_csv("gold.csv")
    for name, each in (("a", FRAME), ("b", OTHER)):
        each.assign(prediction=each.gold, id=range(N), case=each.id)[["id", "case", "prediction"]].to_csv(f"{name}.csv")
        done = run("score", f"{name}.csv", "--gold", "gold.csv", "--on", "case", "-m", "exact_match", "--run", name)
        assert done.exit_code == 0, done.output
    assert karat.compare("a", "b").by == "case"
    results = [karat.score(f"{name}.csv", "exact_match", gold="gold.csv", on="case", keep=True) for name in "ab"]
    assert karat.compare(*results).by == "case"


def test_rows_that_only_a_count_pairs_are_not_left_out_by_guess():
    a, b = FRAME[["score"]].assign(id=range(N)), FRAME[["score"]].iloc[5:].assign(id=range(N - 5))
    systems = [karat.score(each, "column(score)") for each in (a, b)]
    with pytest.raises(JoinError, match="do not have the same rows"):
        karat.compare(*systems)
    with pytest.raises((JoinError, DataError)):
        karat.compare(*systems, common=True)
    assert karat.compare(*systems, common=True, on="id").n == N - 5
