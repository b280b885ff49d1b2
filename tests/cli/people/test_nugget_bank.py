"""`karat label --nuggets`, with keys from a list in the place of a keyboard."""

import json
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner

from karat.cli.main import main

WORDS = ["label", "--nuggets", "bank.jsonl", "-o", "edited.jsonl", "--annotator", "ada"]


def test_a_bank_by_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bank = {"qid": "1", "query": "Why?", "nuggets": [{"text": text, "importance": "vital"} for text in "abc"]}
    Path("bank.jsonl").write_text(json.dumps(bank), "utf-8")
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    pressed = iter("2443")

    @contextmanager
    def keyboard():
        yield lambda: next(pressed)

    monkeypatch.setattr("karat.cli.people.terminal._keyboard", keyboard)
    done = CliRunner().invoke(main, WORDS, input="\nnew\nokay: new\n+ vital: more\n\n")
    assert done.exit_code == 0, done.output
    assert "1 vital   2 okay   3 drop   4 edit   s skip" in done.output
    assert "expected vital: TEXT or okay: TEXT" in done.output
    assert "3 of 3 nuggets are done; the edited bank is edited.jsonl" in done.output
    edited = json.loads(Path("edited.jsonl").read_text("utf-8"))
    assert sorted(each["importance"] for each in edited["nuggets"]) == ["okay", "okay", "vital"]
    assert {"new", "more"} < {each["text"] for each in edited["nuggets"]}


def test_the_nuggets_are_of_the_file():
    for words, message in ((["rows.jsonl"], "leave ROWS out"), (["--gold", "bank.jsonl"], "leave --nuggets out")):
        assert message in CliRunner().invoke(main, [*WORDS, *words]).output
