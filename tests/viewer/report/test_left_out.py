"""What a report that is to be shared leaves out, however it was written into a run."""

import pytest

import karat
from karat.core.errors import SpecError
from karat.runs.store.run import open_run

N = 12


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Keep two runs with a condition on a column, which is part of the command line too."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))

    def score(where):
        monkeypatch.setattr("sys.argv", ["karat", "score", "--where", where])
        rows = {"id": [f"q{i}" for i in range(N)], "Customer": ["secret1", "SECRET2"] * (N // 2)}
        rows |= {"gold": [f"private{i}" for i in range(N)], "topic": ["a", "b"] * (N // 2), 'my"column': ["x"] * N}
        for name in ("one", "two"):
            karat.score(
                rows | {"prediction": ["private0", "private1"] * (N // 2)}, "exact_match", run=name, where=where
            )

    return score


@pytest.mark.parametrize(
    ("where", "options"),
    [
        ("CUSTOMER <> 'secret9'", {"redact": "Customer"}),
        ("\"cUSTOMER\" <> 'secret9'", {"redact": "Customer"}),
        ('true OR "my""column" = \'secret9\'', {"redact": 'my"column'}),
        ("prediction <> 'private9'", {"texts": False}),
    ],
)
def test_conditions_in_any_spelling_are_left_out(runs, tmp_path, where, options):
    runs(where)
    word = "private" if "texts" in options else "secret"
    assert word in karat.report("one", "two", output=tmp_path / "whole.html").read_text().lower()
    written = karat.report("one", "two", output=tmp_path / "r.html", **options).read_text().lower()
    assert word not in written
    assert "(left out)" in written


@pytest.mark.parametrize("by", ["gold", "prediction"])
def test_slices_by_a_text_are_refused_without_texts(runs, tmp_path, by):
    runs("true")
    for systems in (["one"], ["one", "two"]):
        with pytest.raises(SpecError, match=f"slices by '{by}' would show"):
            karat.report(*systems, output=tmp_path / "r.html", texts=False, by=by)
    assert "private" not in karat.report("one", "two", output=tmp_path / "r.html", texts=False, by="topic").read_text()


def test_what_a_judge_said_makes_no_slices_without_the_texts_that_it_saw(tmp_path, monkeypatch):
    from karat.judges import Judge
    from karat.models.testing.fake import FakeModel

    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    rows = {"question": ["Which river?"] * 3, "prediction": ["the Seine"] * 3, "gold": ["Seine"] * 3, "id": [*"abc"]}
    said = {"explanation": "names the river Seine", "label": "correct"}
    karat.score(rows, Judge("correctness", model=FakeModel(said)), run="one")
    (quoting,) = [name for name in open_run("one").schema.names if name.endswith("explanation")]
    for options in ({"texts": False}, {"redact": "gold"}):
        with pytest.raises(SpecError, match="would show"):
            karat.report("one", output=tmp_path / "r.html", by=quoting, **options)
    assert "river" in karat.report("one", output=tmp_path / "r.html", by=quoting).read_text()
