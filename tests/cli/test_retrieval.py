"""Runs and qrels through `karat score` and `karat.score`: what is reported, joined, refused."""

import json
import re

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytrec_eval = pytest.importorskip("pytrec_eval")

RUN = """# a run
1 Q0 a 1 3 x
1 Q0 b 2 2 x
1 Q0 b 3 1 x
2 Q0 c 1 2 x
9 Q0 z 1 1 x
"""
QRELS = """1 0 b 2
1 0 a 0
2 0 c 1
2 0 d 1
# 3 has no results
3 0 e 1
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.txt").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)

    def invoke(*words, **options):
        return CliRunner().invoke(main, ["score", *words], **options)

    return invoke


def test_a_run_and_its_qrels_need_no_on(run):
    said = run("run.txt", "--gold", "qrels.txt", "-m", "ndcg@10", "-m", "average_precision(rel=2)@100")
    assert said.exit_code == 0
    lines = said.stdout.splitlines()
    assert lines[:5] == [
        "retrieved ← retrieved  relevant ← relevant",
        "queries without results: 1 (such as 3)  queries without judgements: 1 (such as 9)",
        "run: comment lines: 1  documents that a query has twice: 1",
        "qrels: comment lines: 1",
        "1 of 4 retrieved documents are not judged: see -m judged@10",
    ]
    assert "retrieved is null in 1 of 3 rows" in said.stdout


def test_json_has_what_was_counted(run):
    said = json.loads(run("run.txt", "--gold", "qrels.txt", "-m", "map", "--json").stdout)
    assert said["joined"] == {
        "missing": 1,
        "missing_ids": ["3"],
        "unknown": 1,
        "unknown_ids": ["9"],
        "retrieved": 4,
        "unjudged": 1,
        "prediction": {"comments": 1, "duplicates": 1},
        "reference": {"comments": 1, "duplicates": 0},
    }


def test_the_mean_is_trec_evals_and_worst_is_that_with_c():
    scores = {"1": {"a": 3, "b": 2}, "2": {"c": 2}, "9": {"z": 1}}
    grades = {"1": {"b": 2, "a": 0}, "2": {"c": 1, "d": 1}, "3": {"e": 1}}
    topics = pytrec_eval.RelevanceEvaluator(grades, {"map", "recip_rank", "ndcg"}).evaluate(scores)
    result = karat.score(scores, ["map", "recip_rank", "ndcg"], gold=grades)
    for spec, measure in zip(result.values, ("map", "recip_rank", "ndcg"), strict=True):
        total = sum(topic[measure] for topic in topics.values())
        value = result.values[spec]
        assert (value.value, value.worst) == (pytest.approx(total / 2), pytest.approx(total / 3))  # -c divides by all


@pytest.mark.parametrize(
    "gold",
    [
        [{"query-id": 1, "relevant": {"b": 2, "a": 0}}, {"query-id": 2, "relevant": {"c": 1, "d": 1}}],
        {"qid": ["1", "2"], "qrels": [[("b", 2.0), ("a", 0.0)], [("c", 1.0), ("d", 1.0)]]},
        pl.DataFrame({"topic": [1, 1, 2, 2], "docno": list("bacd"), "label": [2, 0, 1, 1]}),
        pd.DataFrame({"q_id": [1, 1, 2, 2], "doc": list("bacd"), "rel": [2.0, 0, 1, 1]}),
        {"1": {"b": 2, "a": 0}, "2": {"c": 1, "d": 1}},
    ],
)
def test_lists_frames_and_dicts_join_as_files_do(run, gold):
    if isinstance(gold, dict) and "qrels" in gold:
        pairs = [[{"doc_id": document, "grade": grade} for document, grade in row] for row in gold["qrels"]]
        gold = {**gold, "qrels": pairs}
    told = karat.score("run.txt", "ndcg", gold="qrels.txt", where="query_id <> '3'")
    result = karat.score("run.txt", "ndcg", gold=gold)
    assert result.table["ndcg"].to_pylist() == told.table["ndcg"].to_pylist()
    assert result.joined["unjudged"] == 1


def test_plain_lists_say_nothing_of_judgements(run):
    result = karat.score(
        "run.txt", "map", gold=[{"query_id": "1", "relevant": ["b"]}, {"query_id": "2", "relevant": []}]
    )
    assert "unjudged" not in result.joined
    assert result.table["average_precision"].to_pylist() == [0.5, 0.0]


@pytest.mark.parametrize("on", ["query_id", "query_id=number", "qid=number"])
def test_on_names_the_query_where_its_name_does_not_tell(run, on):
    long = {"number": ["1", "2"], "docno": ["b", "c"], "grade": [1, 1]}
    ranked = {"qid": ["1", "2"], "docno": ["b", "c"], "score": [1, 1]} if on == "qid=number" else "run.txt"
    gold = long if "number" in on else {"query_id": ["1", "2"], "docno": ["b", "c"], "grade": [1, 1]}
    assert karat.score(ranked, "hit_rate", gold=gold, on=on).values["hit_rate"].value == 1.0


def test_ids_in_json_keep_their_spelling(tmp_path):
    rows = [
        '{"retrieved": ["007", 7, "8"], "relevant": ["7"]}',
        '{"retrieved": [true, 1e2], "relevant": {"100": 2, "007": 0}}',
        '{"retrieved": [{"b": 1, "a": [2]}, null], "relevant": [{"a": [2.0], "b": 1}]}',
        '{"retrieved": null, "relevant": []}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    result = karat.score(tmp_path / "a.jsonl", "reciprocal_rank")
    assert result.table["reciprocal_rank"].to_pylist() == [0.5, 0.5, 1.0, None]


def test_grades_by_many_ids_are_read(tmp_path):
    data = [{"retrieved": [f"d{n}"], "relevant": {f"d{n}": 1, f"e{n}": 2}} for n in range(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, data * 3)))
    for given in (data * 3, tmp_path / "a.jsonl", pd.DataFrame(data * 3)):
        assert set(karat.score(given, "recall").table["recall"].to_pylist()) == {0.5}


def test_a_cell_that_holds_no_ids_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"retrieved": ["a"], "relevant": ["a"]}\n{"retrieved": "a", "relevant": ["a"]}\n'
    )
    with pytest.raises(karat.KaratError, match="row 2, column 'retrieved': a list of ids"):
        karat.score(tmp_path / "a.jsonl", "map")
    (tmp_path / "b.jsonl").write_text(
        '{"retrieved": ["a"], "relevant": ["a"]}\n{"retrieved": [], "relevant": {"a": "x"}}\n'
    )
    with pytest.raises(karat.KaratError, match="row 2, column 'relevant': grades by id"):
        karat.score(tmp_path / "b.jsonl", "map")


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "arrow"])
def test_scored_queries_are_written_and_can_be_scored_again(run, ending):
    assert run("run.txt", "--gold", "qrels.txt", "-m", "ndcg", "-o", f"out.{ending}").exit_code == 0
    told, again = karat.score("run.txt", "map", gold="qrels.txt"), karat.score(f"out.{ending}", "map")
    assert again.values == told.values


def test_a_run_comes_from_standard_input_and_from_several_files(run, tmp_path):
    (tmp_path / "b.run").write_text("3 Q0 e 1 1 x\n# end\n")
    (tmp_path / "a.run").write_text(RUN)
    told = json.loads(run("run.txt", "--gold", "qrels.txt", "-m", "map", "--json").stdout)
    piped = json.loads(run("-", "--gold", "qrels.txt", "-m", "map", "--json", input=RUN).stdout)
    assert piped["metrics"] == told["metrics"]
    both = json.loads(run("*.run", "--gold", "qrels.txt", "-m", "map", "--json").stdout)
    assert (both["joined"]["missing"], both["joined"]["prediction"]["comments"]) == (0, 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run.txt"], "run.txt has one document a row, and no relevance"),
        (
            ["qrels.txt", "--gold", "run.txt"],
            r"qrels.txt has one document per row .* but no column score \(is it the gold\?\)",
        ),
        (
            ["run.txt", "--gold", "other.jsonl"],
            r"other.jsonl has no column of queries, such as query_id \(its columns: number, relevant\)",
        ),
        (["run.txt", "--gold", "qrels.txt", "--on", "topic"], "no column 'topic'"),
        (["bad.txt", "--gold", "qrels.txt"], "bad.txt, line 2: expected 6 fields"),
    ],
)
def test_what_does_not_work_says_why(run, tmp_path, words, said):
    (tmp_path / "other.jsonl").write_text('{"number": 1, "relevant": ["a"]}\n')
    (tmp_path / "bad.txt").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2\n2 Q0 c 1 2 x\n")
    found = run(*words, "-m", "map")
    assert found.exit_code != 0
    assert isinstance(found.exception, SystemExit)
    assert re.search(said, found.stderr)


def test_nothing_at_all_says_so():
    with pytest.raises(karat.errors.DataError, match="dict is empty; expected queries with documents"):
        karat.score({}, "map", gold={"1": {"a": 1}})


def test_text_metrics_join_long_tables_as_ever():
    rows = [{"query_id": 1, "doc_id": "a", "score": 2, "prediction": "x", "id": 1}]
    gold = [{"id": 1, "reference": "x"}]
    result = karat.score(rows, "exact_match", gold=gold, on="id")
    assert result.table.column_names[:2] == ["id", "reference"]
    assert result.values["exact_match"].value == 1.0
    with pytest.raises(karat.errors.SpecError, match="gold and on go together"):
        karat.score(rows, "exact_match", gold=gold)
