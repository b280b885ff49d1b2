"""Commands as strangers mistype them: each message says what to type."""

import pytest
from click.testing import CliRunner

from karat.cli.main import main

ROWS = "id,prediction,gold\n1,a,a\n2,b,c\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call karat in a folder with `rows.csv`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS)
    return lambda *words: CliRunner().invoke(main, list(words))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rank a b", "unknown command 'rank'; did you mean 'compare'?"),
        ("evaluate rows.csv", "unknown command 'evaluate'; did you mean 'score'?"),
        ("ls", "unknown command 'ls'; did you mean 'runs'?"),
        ("label rows.csv -o l.jsonl --choices a,b", "No such option '--choices'. Did you mean '--label-map'?"),
        ("score rows.csv --metrics em", "No such option '--metrics'. Did you mean '--metric'?"),
        ("score rows.csv -m em --filter x", "No such option '--filter'. Did you mean '--where'?"),
        ("score rows.csv other.csv -m em", "quote a pattern to read its files as one table"),
        ("score rows.csv -m em --confidence 95", "95 is not a share; expected a number up to 0.9999, 0.95 for 95 %"),
        ("power --difference 0.02", "Missing option '--run'. A run or a scored file;"),
        (
            "label rows.csv -o l.jsonl --label-map right,so,wrong",
            "expected each label once, with its score, as in 'right=1,so=0.5,wrong=0' or 'bad<fair<good'",
        ),
    ],
)
def test_a_message_says_what_to_type(run, words, message):
    told = run(*words.split())
    assert told.exit_code in (1, 2)
    assert message in " ".join(told.stderr.split())


@pytest.mark.parametrize("words", ["score rows.csv -m em", "runs show a", "compare a b"])
def test_a_folder_that_was_removed_is_named(run, tmp_path, words, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    told = run(*words.split())
    assert told.exit_code == 1
    assert "Errno" not in told.stderr
    assert "the folder in which you are has been removed: cd to another one" in told.stderr
