"""What is recognised in a folder: each file by itself, files and their gold, and what stays open."""

import json
import os

import pytest

from karat.cli.start.survey import folder as folder_module
from karat.cli.start.survey.trials import propose


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def found(folder):
    """The files that can be scored: path, metrics, path of the gold and the id, by group."""
    groups = propose(folder).systems
    return [[(str(x.data.path), x.specs, x.gold and str(x.gold.path), x.on) for x in group] for group in groups]


ANSWERS = ("em", "f1")
RANKED = ("ndcg@10", "recall@10")
SYSTEM = [{"id": 1, "question": "q", "prediction": "a"}, {"id": 2, "question": "r", "prediction": "b"}]
GOLD = [{"id": 1, "gold": "a"}, {"id": 2, "gold": "x"}]


def test_a_file_with_gold_is_scored_alone_and_one_of_retrieval_by_all_metrics(tmp_path):
    write(tmp_path / "rag.jsonl", {"answer": "a", "gold": "a", "retrieved": ["d"], "relevant": ["d", "e"]})
    assert found(tmp_path) == [[("rag.jsonl", ANSWERS + RANKED, None, None)]]


def test_systems_are_joined_with_their_gold_by_id_and_compared(tmp_path):
    write(tmp_path / "ours.jsonl", *SYSTEM)
    write(tmp_path / "other" / "theirs.jsonl", *SYSTEM[::-1])
    write(tmp_path / "dev.jsonl", *GOLD)
    joined = [(name, ANSWERS, "dev.jsonl", "id") for name in ("other/theirs.jsonl", "ours.jsonl")]
    assert found(tmp_path) == [joined]
    assert not propose(tmp_path).unclear


def test_ids_of_two_names_are_joined(tmp_path):
    write(tmp_path / "ours.jsonl", *({"uid": row["id"], "prediction": row["prediction"]} for row in SYSTEM))
    write(tmp_path / "gold.jsonl", *GOLD)
    assert found(tmp_path) == [[("ours.jsonl", ANSWERS, "gold.jsonl", "uid=id")]]


def test_what_answer_holds_follows_from_the_other_file(tmp_path):
    write(tmp_path / "a.jsonl", {"id": 1, "prediction": "a"})
    write(tmp_path / "b.jsonl", {"id": 1, "answer": "a"})
    assert found(tmp_path) == [[("a.jsonl", ANSWERS, "b.jsonl", "id")]]


def test_two_files_of_answers_without_a_sign_of_the_gold_stay_open(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, {"id": 1, "answer": "a"})
    proposals = propose(tmp_path)
    assert proposals.systems == []
    assert "a.jsonl, b.jsonl: which one holds the gold?" in proposals.unclear
    (tmp_path / "b.jsonl").rename(tmp_path / "gold.jsonl")
    assert found(tmp_path) == [[("a.jsonl", ANSWERS, "gold.jsonl", "id")]]


def test_of_two_files_of_gold_one_is_taken_and_the_other_named(tmp_path):
    write(tmp_path / "ours.jsonl", *SYSTEM)
    write(tmp_path / "gold.jsonl", *GOLD)
    write(tmp_path / "gold_old.jsonl", *GOLD)
    proposals = propose(tmp_path)
    assert proposals.systems[0][0].gold.path.name == "gold.jsonl"
    assert proposals.unclear[0] == "ours.jsonl: is its gold gold.jsonl, as taken here, or gold_old.jsonl?"


def test_trec_files_are_joined_by_query(tmp_path):
    (tmp_path / "bm25.run").write_text("1 Q0 d1 1 9.5 x\n1 Q0 d2 2 8.5 x\n2 Q0 d3 1 7 x\n")
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d3 1\n")
    (tmp_path / "notes.txt").write_text("not a table\n")
    assert found(tmp_path) == [[("bm25.run", RANKED, "qrels", None)]]


def test_squad_s_own_files_are_joined(tmp_path):
    qas = [{"id": "x", "question": "q", "answers": [{"text": "a", "answer_start": 0}]}]
    data = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "a", "qas": qas}]}]}
    (tmp_path / "dev-v2.0.json").write_text(json.dumps(data))
    (tmp_path / "predictions.json").write_text(json.dumps({"x": "a"}))
    assert found(tmp_path) == [[("predictions.json", ANSWERS, "dev-v2.0.json", "id")]]


def test_other_questions_are_not_compared_and_gold_of_which_nothing_is_right_is_doubted(tmp_path):
    write(tmp_path / "a.jsonl", {"id": 1, "prediction": "a", "gold": "a"})
    write(tmp_path / "b.jsonl", {"id": 2, "prediction": "a", "gold": "x"})
    proposals = propose(tmp_path)
    assert [len(group) for group in proposals.systems] == [1, 1]
    doubt, different = proposals.unclear
    assert doubt.startswith(
        "b.jsonl: none of its first 1 rows is right: are these its columns, prediction ← prediction"
    )
    assert different.startswith("a.jsonl, b.jsonl: are these the same questions?")


def test_questions_with_gold_and_no_answers_are_for_a_task(tmp_path):
    write(tmp_path / "questions.jsonl", {"question": "q", "gold": ["a"]})
    assert [str(file.path) for file in propose(tmp_path).questions] == ["questions.jsonl"]


def test_answers_without_gold_name_judges_that_need_none(tmp_path):
    write(tmp_path / "out.jsonl", {"question": "q", "response": "a", "contexts": ["c"]})
    ((file, judges),) = propose(tmp_path).without_gold
    assert (str(file.path), judges[0]) == ("out.jsonl", "faithfulness")
    assert "correctness" not in judges


def test_what_cannot_be_read_or_is_not_known_is_said(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "broken.json").write_text('{"a":')
    (tmp_path / "notes.csv").write_text("topic,text\nx,y\n")
    write(tmp_path / "objects.jsonl", {"prediction": {"x": 1, "y": 2}, "gold": "a"})
    write(tmp_path / "maybe.jsonl", {"question": "q", "answer": "a"})
    said = dict(line.split(": ", 1) for line in propose(tmp_path).unclear)
    assert said["empty.jsonl"] == "is empty; expected rows"
    assert said["broken.json"].startswith("not valid JSON")
    assert said["notes.csv"].startswith(
        "no column has a name that says what to score; the columns are topic, text; karat"
    )
    assert "--map prediction=prediction.x" in said["objects.jsonl"]
    assert said["maybe.jsonl"] == "does answer hold the answers of a system, or the gold?"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_pipes_devices_links_to_folders_runs_and_hidden_folders_are_passed_over(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "gone.csv").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(".")
    for name in (".hidden", "node_modules"):
        write(tmp_path / name / "a.jsonl", {"prediction": "a", "gold": "a"})
    write(tmp_path / "karat-runs" / "first" / "manifest.json", {})
    write(tmp_path / "karat-runs" / "first" / "rows.jsonl", {"prediction": "a", "gold": "a"})
    survey = propose(tmp_path).survey
    assert (survey.files, [str(run) for run in survey.runs]) == ([], ["karat-runs/first"])


def test_the_number_of_files_and_their_size_are_bounded(tmp_path, monkeypatch):
    for at in range(4):
        write(tmp_path / f"{at}.jsonl", {"prediction": "a" * at, "gold": "aa"})
    monkeypatch.setattr(folder_module, "MOST_FILES", 3)
    monkeypatch.setattr(folder_module, "LARGEST", (tmp_path / "1.jsonl").stat().st_size)
    proposals = propose(tmp_path)
    assert (len(proposals.survey.files), proposals.survey.further) == (3, 1)
    assert any(line.startswith("2.jsonl: larger than") for line in proposals.unclear)
