"""Completion by a shell: in real ones where they are installed, else by what their scripts get."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.cli.options import completion, shells  # noqa: F401  (registers them)

WORDS = re.compile(r"""(?:\\.|'[^']*'?|"[^"]*"?|[^\s:=])+|[:=]+""")  # as bash cuts a line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KARAT_RUNS", raising=False)
    rows = [{"id": 1, "my topic": "a", "prediction": "Paris", "gold": "Paris"}]
    (tmp_path / "answers.jsonl").write_text(json.dumps(rows[0]) + "\n")
    (tmp_path / "first answers.csv").write_text("id,gold\n1,2\n")
    (tmp_path / "mine.toml").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "more.csv").write_text("nr,gold\n1,2\n")
    karat.score(rows, ["token_f1", "token_f1(normalize='none')"], run="first")
    return tmp_path


@pytest.fixture
def offers(folder, monkeypatch):
    """What a shell's script is told to offer after a line, without a process; FILES and FOLDERS it lists by itself."""

    def complete(line, shell="bash"):
        words = WORDS.findall(line) if shell == "bash" else line.split(" ")
        words += [""] * (shell == "bash" and line.endswith(" "))
        monkeypatch.setenv("COMP_WORDS", "\n".join(words))
        monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words) - 1))
        done = CliRunner().invoke(
            main, prog_name="karat", env={"_KARAT_COMPLETE": f"{shell}_complete"}, complete_var="_KARAT_COMPLETE"
        )
        assert done.exit_code == 0, done.output
        lines = done.stdout.split("\n")[:-1] if done.stdout.strip() else []
        return [as_read(each) for each in lines] if shell == "bash" else lines

    return complete


def as_read(line):
    """What the script of bash reads from a line."""
    kind, value = re.sub(r"\\(.)", r"\1", line).split(",", 1)
    return {"plain": value, "file": FILES, "dir": FOLDERS}[kind]


FILES, FOLDERS = "FILES", "FOLDERS"
COLUMNS = ["id", r"my\ topic", "prediction", "gold"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("karat sh", ["show"]),
        ("karat runs ex", ["export"]),
        ("karat show --wor", ["--worst"]),
        ("karat score ", [FILES]),
        ("karat score data/m", [FILES]),
        ("karat score -m token_f1 -o an", [FILES]),
        ("karat show fir", [FILES, "first"]),  # bash lists files where no name fits
        ("karat compare first ", [FILES, "first"]),
        ("karat runs show ", ["first"]),
        ("karat runs remove fi", ["first"]),
        ("karat score answers.jsonl --by ", COLUMNS),
        ("karat score answers.jsonl --by=my", [r"my\ topic"]),
        ("karat score answers.jsonl --gold data/more.csv --on ", [*COLUMNS, "nr"]),
        ("karat compare first answers.jsonl --by my", [r"my\ topic"]),
        ("karat score missing.jsonl --by ", []),
        ("karat score answers.jsonl --by 'my", ["my topic"]),
        ("karat runs show first --on i", ["id"]),
        ("karat score answers.jsonl --map pre", [f"prediction={column}" for column in COLUMNS]),
        ("karat score missing.jsonl --map pre", ["prediction="]),
        ("karat score answers.jsonl --human go", [FILES, "gold"]),
        ("karat score answers.jsonl --engine ", ["threads", "processes", "ray", "spark"]),
        ("karat score answers.jsonl --where x", []),
        ("karat score answers.jsonl --map re", ["reference=", "retrieved=", "relevant="]),
        ("karat score answers.jsonl --map reference=g", ["gold"]),  # bash cuts words at =
        ("karat score answers.jsonl -m token_f", ["token_f1"]),
        ("karat score -m judge:co", ["completeness", "conciseness", "context_relevance", "correctness"]),
        ("karat score -m judge:mi", ["mine.toml"]),
        ("karat score -m preset:sq", ["squad", "squad_v1"]),
        ("karat show first -m token_f1", ["token_f1", r"token_f1\(normalize=\'none\'\)"]),
        ("karat metrics mrr", ["mrr"]),
        ("karat judge --scale o", ["ordinal"]),
        ("karat init ", [FOLDERS]),
        ("karat demo -o da", [FOLDERS]),
        ("karat schema ju", ["judge"]),
    ],
)
def test_what_bash_is_offered(offers, line, expected):
    assert offers(line) == expected


def test_all_metrics_are_offered_without_being_imported():
    from karat.core.metric.registry import all_metrics, all_presets
    from karat.judges import own_judges

    offered = set(completion.own_metrics())
    own = [each for each in all_metrics() if each.definition.function.__module__.startswith("karat.metrics.")]
    names = {name for each in own for name in (each.name, *each.definition.aliases)}
    presets = {f"preset:{preset.name}" for preset in all_presets()}
    assert offered == names | presets | {f"judge:{name}" for name in own_judges()}


@pytest.mark.parametrize("line", ["karat score -m to", "karat show fi"])
def test_without_a_file_to_read_nothing_heavy_is_imported(folder, line):
    code = "import sys; from karat.cli.main import main; main(prog_name='karat', standalone_mode=False)"
    code = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    words = {"COMP_WORDS": line.replace(" ", "\n"), "COMP_CWORD": str(line.count(" "))}
    environment = {**os.environ, **words, "_KARAT_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout
    assert not {"numpy", "pyarrow", "_duckdb", "regex", "rich.console"} & set(done.stderr.split())


def test_zsh_and_fish_get_runs_and_files_together(offers):
    assert offers("karat show fi", "zsh") == ["file", "fi", "_", "plain", "first", "_"]
    assert offers("karat show fi", "fish") == ["file,fi", "plain,first"]
    assert offers("karat score -m judge:con", "zsh") == [
        *("plain", "judge:conciseness", "_"),
        *("plain", "judge:context_relevance", "_"),
    ]
    assert offers("karat score answers.jsonl --by=pr", "zsh") == ["plain", "--by=prediction", "_"]
    assert offers("karat score --gold=d", "zsh") == ["plain", "--gold=data/", "_"]
    assert offers("karat demo --output=", "fish") == ["plain,--output=data/", "plain,--output=karat-runs/"]
    scripts = {"zsh": "compdef _karat_completion karat", "fish": 'string split --max 1 ","'}
    for shell, line in scripts.items():
        done = CliRunner().invoke(main, prog_name="karat", env={"_KARAT_COMPLETE": f"{shell}_source"})
        assert line in done.stdout


@pytest.fixture
def program(folder, monkeypatch):
    """`karat` on the path of the shells."""
    path = folder / ".bin" / "karat"
    path.parent.mkdir()
    path.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c \'from karat.cli.main import main; main(prog_name="karat")\' "$@"\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")


@contextmanager
def interactive(*words, setup):
    """An interactive shell; the value sends keys, and waits until the terminal shows a text."""
    pty = pytest.importorskip("pty")
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    environment = {**os.environ, "TERM": "dumb", "PS1": "$ ", "INPUTRC": "/dev/null"}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)

    def read_until(pattern):
        seen, end = "", time.monotonic() + 30
        while not (found := re.search(pattern, seen.replace("\b", ""), re.DOTALL)):
            assert time.monotonic() < end, repr(seen)
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 65536).decode()
        return found

    def press(keys, expected):
        os.write(ours, keys.encode())
        read_until(re.escape(expected))
        os.write(ours, b"\x15")  # ^U: an empty line again

    os.write(ours, f"{setup}; echo rea''dy\n".encode())
    read_until("ready\r?\n")
    yield press
    process.kill()
    process.wait()
    os.close(ours)


def test_tab_in_a_real_bash(program):
    setup = "bind 'set enable-bracketed-paste off' 'set bell-style none'; eval \"$(_KARAT_COMPLETE=bash_source karat)\""
    with interactive("bash", "--norc", "--noprofile", "-i", setup=setup) as press:
        press("karat sho\t--wor\t!", "karat show --worst !")
        press("karat score da\tmo\t!", "karat score data/more.csv !")  # no space after a folder
        press("karat score answers.jsonl --by my\t!", "--by my\\ topic !")
        press("karat score -m judge:tox\t!", "karat score -m judge:toxicity !")
        press("karat score answers.jsonl --map reference=go\t!", "--map reference=gold !")
        press("karat score --gold=ans\t!", "--gold=answers.jsonl !")
        press("karat score answers.jsonl --map pre\tgol\t!", "--map prediction=gold !")
        press("karat init dat\tmo!", "karat init data/mo!")
        press("karat show firs\t!", "karat show first !")  # a run before a file
        press("karat show first\\ \t!", "karat show first\\ answers.csv !")


def test_tab_in_a_real_zsh(program):
    setup = 'autoload -Uz compinit; compinit -u -D; eval "$(_KARAT_COMPLETE=zsh_source karat)"'
    with interactive("zsh", "-f", "-i", setup=setup) as press:
        press("karat sho\t", "karat show ")
        press("karat score dat\t", "karat score data/")
        press("karat score data/m\t", "karat score data/more.csv")
        press("karat score answers.jsonl --by my\t", "--by my\\ topic")
        press("karat score -m judge:tox\t", "judge:toxicity")
        press("karat score answers.jsonl --map reference=go\t", "--map reference=gold")
        press("karat score --gold=ans\t", "--gold=answers.jsonl")
        press("karat init dat\t", "karat init data/")
        press("karat show fir\t\t", "first\\ answers.csv")  # both are listed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("karat sho", ["show"]),
        ("karat score ", ["answers.jsonl", "data/", "first answers.csv", "karat-runs/", "mine.toml"]),
        ("karat score data/", ["data/more.csv"]),
        ("karat show fi", ["first", "first answers.csv"]),
        ("karat score -m judge:mi", ["judge:mine.toml"]),
        ("karat score answers.jsonl --by my", ["my topic"]),
        ("karat score answers.jsonl --map reference=go", ["reference=gold"]),
        ("karat score --gold=an", ["--gold=answers.jsonl"]),
        ("karat init ", ["data/", "karat-runs/"]),
    ],
)
def test_what_a_real_fish_is_offered(program, line, expected):
    if shutil.which("fish") is None:
        pytest.skip("there is no fish")
    script = f"_KARAT_COMPLETE=fish_source karat | source; complete -C '{line}'"
    done = subprocess.run(
        [shutil.which("fish"), "--no-config", "-c", script], capture_output=True, text=True, check=True
    )
    assert sorted(offered.partition("\t")[0] for offered in done.stdout.splitlines()) == sorted(expected)
