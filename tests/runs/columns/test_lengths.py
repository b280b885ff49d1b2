"""Answers that are much longer or shorter than their gold: what is said beside values, differences and rankings."""

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.runs.columns.lengths import count_lengths, read_lengths

GOLD = ["Paris", "Rome", "Berlin", "Madrid", "Vienna", "Athens", "Lisbon", "Prague", "Dublin", "Warsaw"] * 2
LONG = [f"The capital of that country is the beautiful city of {city}." for city in GOLD]
SHORT = [*GOLD[:16], "Bern", "Oslo", "Bonn", "Kiel"]
LOWERED = ["exact_match", "token_f1", "levenshtein", "rouge_l", "cer", "token_precision"]
NOT_LOWERED = ["contains", "token_recall", "exact_match(extract=answer_is)", "rouge_l(score='recall')"]


def rows(predictions, gold=GOLD):
    return {"id": [f"q{at}" for at in range(len(gold))], "prediction": predictions, "gold": gold}


def test_long_answers_lower_the_metrics_of_whole_texts_and_not_those_of_contained_ones():
    result = karat.score(rows(LONG), [*LOWERED, *NOT_LOWERED])
    assert list(result.cautions) == [result.metrics[at].spec for at in range(len(LOWERED))]
    assert "at least 3 times as long as the gold (median 60 characters against 6)" in result.cautions["exact_match"]
    assert "use contains" in result.cautions["exact_match"]
    assert result.values["contains"].value == 1


def test_short_answers_lower_what_asks_for_all_of_the_gold():
    result = karat.score(rows(GOLD, LONG), ["exact_match", "contains", "token_recall", "token_precision"])
    assert list(result.cautions) == ["exact_match", "contains", "token_recall"]
    assert "at most a third as long as the gold" in result.cautions["contains"]


@pytest.mark.parametrize(
    ("predictions", "gold"),
    [
        (SHORT, GOLD),
        (["four"] * 9, ["4"] * 9),
        ([f"It is {city}." for city in GOLD], [[city, f"{city}, the capital"] for city in GOLD]),
        (["I do not know at all"] * 9, [""] * 9),
        ([*LONG[:9], *GOLD[9:]], GOLD),
    ],
    ids=["as long", "a few characters", "as the longest reference", "no gold", "less than half"],
)
def test_nothing_is_said_of_other_lengths(predictions, gold):
    assert karat.score(rows(predictions, gold), ["exact_match", "token_f1"]).cautions == {}


def test_several_answers_to_a_question_are_all_longer():
    answers = [[text, text + " I am sure."] for text in LONG]
    assert list(karat.score(rows(answers), ["pass_at(exact_match)@1"]).cautions) == ["pass_at@1"]


def test_lengths_are_the_same_however_the_rows_are_divided(tmp_path: Path):
    columns = {"prediction": pa.array([*LONG, *SHORT]), "reference": pa.array([[g, g[:3]] for g in GOLD * 2])}
    whole = count_lengths(columns)
    parts = count_lengths({role: column.slice(0, 7) for role, column in columns.items()})
    parts.update(count_lengths({role: column.slice(7) for role, column in columns.items()}))
    assert parts == whole
    dictionary = {
        role: pa.array(LONG).dictionary_encode() if role == "prediction" else pa.array(GOLD) for role in columns
    }
    assert read_lengths(count_lengths(dictionary)) == karat.score(rows(LONG), "exact_match").lengths


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The runs `long` and `short`, and the files of their scored rows."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    for name, predictions in (("long", LONG), ("short", SHORT)):
        karat.score(rows(predictions), ["exact_match", "contains"], run=name)
        karat.score(rows(predictions), ["exact_match", "contains"], output=tmp_path / f"{name}.parquet")
    return tmp_path


def test_the_verdict_names_the_lengths_wherever_the_systems_come_from(kept: Path):
    memory = [karat.score(rows(predictions), ["exact_match", "contains"]) for predictions in (SHORT, LONG)]
    files = [kept / "short.parquet", kept / "long.parquet"]
    for systems in (["short", "long"], memory, files):
        exact, contained = karat.compare(*systems).findings
        assert exact.verdict == "worse"
        assert contained.caution == ""
        assert "but 100 % of " in exact.sentence
        assert "compare by contains" in exact.sentence
        assert "compare by contains" not in contained.sentence
        notes = [note for note in karat.rank(*systems).notes if "times as long" in note]
        assert len(notes) == 1
        assert notes[0].startswith("exact_match: ")


def test_half_long_answers_against_short_ones_are_named_too():
    mixed = karat.score(rows([*LONG[:8], *GOLD[8:]]), "exact_match")
    assert mixed.cautions == {}
    assert (
        "40 % of B's answers and 0 % of A's"
        in karat.compare(karat.score(rows(SHORT), "exact_match"), mixed).findings[0].sentence
    )


def test_every_command_says_it(kept: Path):
    def run(*words):
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    lowers = "which lowers this value even where they are right"
    assert lowers in run("runs", "show", "long")
    assert lowers not in run("runs", "show", "short")
    assert lowers in run("runs", "show", "long", "--json")
    run("runs", "export", "long", "-o", kept / "long.md")
    run("report", "long", "-o", kept / "long.html")
    run("compare", "short", "long", "-o", kept / "both.md")
    run("report", "short", "long", "-o", kept / "both.html")
    assert lowers in (kept / "long.md").read_text()
    assert lowers in (kept / "long.html").read_text()
    for file in ("both.md", "both.html"):
        assert "which lowers this metric even where they are right" in (kept / file).read_text()
