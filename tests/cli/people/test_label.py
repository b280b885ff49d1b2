"""`karat label` in a terminal: its keys, and what is left after `kill -9`."""

import json
import os
import pty
import re
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer
from karat.runs.labels.table import read_labels

WORDS = ["label", "rows.jsonl", "-o", "labels.jsonl", "--label-map", "good=1,bad=0", "--annotator", "ada"]


@pytest.fixture(autouse=True)
def _rows_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ({"id": at, "question": f"what is {at}?", "answer": "an \x1b[2J answer"} for at in range(9))
    Path("rows.jsonl").write_text("\n".join(json.dumps(row | {"gold": "g", "f1": 0.123}) for row in rows))


class Terminal:
    """The command in a terminal of its own; `screen` is what it has printed."""

    def __init__(self, python, words):
        self.main, inner = pty.openpty()
        self.process = python("-m", "karat", *words, stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)
        self.screen = ""

    def wait_for(self, pattern):
        """Read until the pattern is printed; what is printed before is forgotten."""
        while (found := re.search(pattern, self.screen, re.DOTALL)) is None:
            assert select([self.main], [], [], 20)[0], self.screen
            self.screen += os.read(self.main, 65536).decode()
        self.screen = self.screen[found.end() :]
        return found

    def press(self, key, then):
        """Press a key once, when the row has been on the screen for an instant."""
        time.sleep(0.4)
        os.write(self.main, key.encode())
        return self.wait_for(then)


@pytest.fixture
def terminal(python):
    """Starts the command in a terminal, in which it is killed at the end."""

    @contextmanager
    def start(*words):
        started = Terminal(python, words or WORDS)
        try:
            yield started
        finally:
            with suppress(ProcessLookupError):
                started.process.kill()
            started.process.wait()
            os.close(started.main)

    return start


def test_each_key_does_its_work_and_survives_a_kill(terminal):
    with terminal() as first:
        shown = first.wait_for(r"row 1 of 9, annotator ada(.*)1 good \(1\)   2 bad \(0\)   s skip").group(1)
        assert "an <U+001B>[2J answer" in shown
        assert "0.123" not in shown
        first.press("1", r"row 2 of 9")
        first.press("2", r"row 3 of 9")
        first.press("s", r"row 4 of 9")
        first.press("u", r"row 3 of 9")
        first.press("n", r"note: ")
        first.press("too long\n", r"note: too long")
        first.press("x", r"\a'x' is not a key here; the keys are:\s+1 good")
        first.press("?", r"u  take back your last label.*1 good")
        first.press("1", r"row 4 of 9.*what is (\d)\?")
        first.process.send_signal(signal.SIGKILL)
    before = Path("labels.jsonl").read_text()
    assert [json.loads(line)["action"] for line in before.splitlines()] == ["label", "label", "skip", "undo", "label"]
    assert json.loads(before.splitlines()[-1])["note"] == "too long"
    with terminal() as again:
        again.wait_for(r"row 4 of 9")
        again.process.send_signal(signal.SIGINT)
        again.wait_for(r"3 of 9 rows are done; labels are in labels.jsonl")
        assert again.process.wait() == 0
    assert Path("labels.jsonl").read_text() == before
    labels = read_labels("labels.jsonl", on="id")
    assert (len(labels), labels.mean.tolist()) == (3, [1, 0, 1])


@pytest.mark.parametrize("first_pause", [0.05, 0.4])
def test_a_key_that_is_held_labels_no_row_that_nobody_has_seen(first_pause, terminal):
    with terminal() as started:
        started.wait_for(r"row 1 of 9.*help")
        started.press("1", r"row 2 of 9.*help")
        time.sleep(first_pause)
        for _ in range(40):  # as a keyboard repeats a key
            os.write(started.main, b"1")
            time.sleep(0.03)
        started.press("2", r"row 3 of 9.*help")
        os.write(started.main, b"1")  # before anybody can have read the row
        time.sleep(0.5)
    kept = [json.loads(line)["label"] for line in Path("labels.jsonl").read_text().splitlines()]
    assert kept == ["good", "bad"]


def test_a_judge_says_which_labels_there_are(terminal):
    with terminal("label", "rows.jsonl", "-o", "l.jsonl", "-m", "judge:correctness", "--show", "answer") as started:
        started.wait_for(r"1 correct \(1\)   2 incorrect \(0\)")
        for at in range(2, 10):
            started.press("2", f"row {at} of 9")
        started.press("2", "9 of 9 rows are done")
        assert started.process.wait() == 0
    with terminal("label", "rows.jsonl", "-o", "l.jsonl", "-m", "judge:correctness", "--annotator", "bob") as started:
        started.wait_for("row 1 of 9")
        started.press("\x04", "0 of 9 rows are done")


def test_a_row_that_is_finished_in_another_window_is_not_labelled_twice(terminal):
    with terminal() as first, terminal() as second:
        first.wait_for(r"row 1 of 9.*help")
        second.wait_for(r"row 1 of 9.*help")
        first.press("1", r"row 2 of 9")
        second.press("2", r"row 2 of 9.*this row is labelled 'good' already")
        second.press("u", r"row 1 of 9.*help")
        second.press("u", r"row 1 of 9.*there is nothing to take back")
        second.press("2", r"row 2 of 9")
    lines = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    assert [(line["action"], line.get("label")) for line in lines] == [
        ("label", "good"),
        ("undo", None),
        ("label", "bad"),
    ]


def test_labelling_stops_by_its_rule(monkeypatch):
    """In this process, with keys from a list in the place of a keyboard."""
    keys = iter("11u1s" + "1" * 9)

    @contextmanager
    def keyboard():
        yield lambda: next(keys)

    monkeypatch.setattr("karat.cli.people.terminal._keyboard", keyboard)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    words = [*WORDS, "--until-width", "0.4", "--until-cost", "4", "--price-label", "0.5", "-m", "f1"]
    first = CliRunner().invoke(main, words)
    assert first.exit_code == 0, first.output
    assert "people's mean not known, from 0.0000 to 1.0000 (1.0000 wide) after 0 of 9 rows\n" in first.output
    assert "after 2 of 9 rows, $1.00\n" in first.output
    met = r"by its rule \((width 0\.4|cost \$4)\)"
    end = rf"after (\d) of 9 rows, \$\d\.\d0; stopped at \1 of 9 rows, {met}\n\1 of 9 rows"
    assert re.search(end, first.output), first.output
    again = CliRunner().invoke(main, words)
    assert again.output == "".join(first.output.splitlines(keepends=True)[-2:])
    other = CliRunner().invoke(main, [*words, "--seed", "1"])
    assert "the interval was begun with the seed (--seed) 0, now it is 1" in other.stderr


def test_a_judge_is_asked_meanwhile(monkeypatch, own_replies):
    typed = iter("1")

    @contextmanager
    def keyboard():
        yield lambda: next(typed)

    monkeypatch.setattr("karat.cli.people.terminal._keyboard", keyboard)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    prices = ["--until-width", "0.9", "--price-label", "0.5", "--price-call", "0.125"]
    with FakeServer({"explanation": "", "label": "correct"}) as server:
        words = [*WORDS, "-m", "judge:correctness", "--model", "m", "--base-url", server.url, *prices]
        first = CliRunner().invoke(main, words)
        assert first.exit_code == 0, first.output
        said = r"judge:correctness\(model='m'\) is asked about each row that you label, and 1 of all rows drawn for it"
        assert re.search(said, first.stderr)
        line = r"after 1 of 9 rows, (\d) verdicts?, \$0\.\d\d; stopped at 1 of 9 rows"
        assert re.search(line, first.output), first.output
        verdicts = int(re.search(line, first.output)[1])
        assert 1 <= verdicts <= 2
        assert json.loads(Path("labels.jsonl").read_text().splitlines()[1])["judge"]["scores"] == [1.0] * verdicts
        again = CliRunner().invoke(main, words)
        assert f"after 1 of 9 rows, {verdicts} verdict" in again.output
        assert server.calls == verdicts
        without = CliRunner().invoke(main, [*WORDS, *prices])
        assert "the interval was begun with the judge (--model) judge:correctness(model='m')" in without.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which labels? --label-map"),
        (["--label-map", "good=1", "-m", "judge:refusal"], "which labels?"),
        (["--label-map", "good"], "expected each label once, with its score, as in 'good=1,bad=0'"),
        (["-m", "em"], "expected a judge that answers with a label"),
        (["--label-map", "<".join(map(str, range(11)))], "at most 10 labels, found 11"),
        (["--label-map", "good=1,bad=0"], "a terminal is expected"),
        (["--label-map", "good=1,bad=0", "-o", "labels.csv"], "expected a name that ends in .jsonl"),
        (["--until-width", "0.1", "-m", "em"], "which labels? --label-map"),
        (["--until-width", "0.1", "--next", "2"], "with --next nobody labels"),
        (["--until-cost", "10"], "--until-cost needs the price of a label in USD: --price-label 0.3, say"),
        (["--price-label", "10"], "--price-label is what --until-cost is spent on"),
        (["--price-call", "0.1", "--until-width", "0.1"], "--price-call is weighed against labels until a width"),
        (["--model", "m", "--until-width", "0.1"], "--model asks a judge for what its verdicts save of labels"),
        (["--dry-run", "--model", "m"], "labels wait for the verdicts: leave --dry-run"),
        (["--budget", "1"], "--budget is about models, but no metric asks one"),
    ],
)
def test_what_cannot_be_labelled_says_why(words, message):
    result = CliRunner().invoke(main, ["label", "rows.jsonl", "-o", "labels.jsonl", *words])
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
