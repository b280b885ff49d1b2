"""Commands killed by SIGKILL: `python scripts/campaign/killed.py [KILLS [EXERCISE…]]`, by default 6 in each exercise.

A command is killed at a random time, or as it is about to open a file for writing, rename or remove one, or open a
database. Then no file under its final name may be half written, and nothing may be gone that was kept. The same
command, with `--resume` where there is something to resume, has to give the values and files of an undisturbed one; to
pay for no call twice whose reply was kept; and to leave nothing behind beside its outputs, nor in the temporary folder
after the next process that has temporary files. Linux.
"""

from __future__ import annotations

import json
import os
import pty
import random
import re
import runpy
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from pathlib import Path
from select import select
from typing import Any

ROOT = Path(__file__).parents[2]
CHANCE = random.Random()
ROWS, CALLS = 250_000, 60
SPEC = "semantic_similarity(endpoint=true,model='small')"
TASK = """
import time
def answer(id, question):
    with open("asked.txt", "a") as file:
        file.write(f"{id}\\n")
    time.sleep(0.01)
    return question.replace("word1", "w0rd")
"""
CLEAN = "from karat.data.storage.files import temporary_place; temporary_place()"  # not every command needs one
STEPS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "sqlite3.connect"}


class Wrong(Exception):
    """What karat must not do."""


def victim(last: int, words: list[str]) -> None:
    """Be the command; kill yourself at a step by its number, and say at the end how many there were."""
    steps, began = [0], [0.0]

    def count(event: str, given: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if not (writes or event in STEPS) or "__pycache__" in str(given[0]):
            return
        steps[0] += 1
        if steps[0] == 1:
            began[0] = time.monotonic()
            os.write(2, b"BEGUN\n")
        if steps[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    sys.argv = ["karat", *words]
    try:
        runpy.run_module("karat", run_name="__main__")
    finally:
        os.write(2, f"STEPS {time.monotonic() - began[0]:.3f} {steps[0]}\n".encode())


@dataclass
class Whole:
    """What a command gives undisturbed: what it prints, its files, the runs, its steps, seconds and calls."""

    said: str
    files: dict[str, object]
    runs: dict[str, object]
    steps: int
    took: float
    calls: int


@dataclass
class Exercise:
    """A command; `outputs` are its files, `run` the name of its run, `paid` says that it asks an endpoint.

    `again` is added where an output is there already; a command that `replaces` none reads it.
    """

    words: list[str]
    outputs: list[str] = field(default_factory=list)
    run: str = ""
    paid: bool = False
    again: list[str] = field(default_factory=list)
    replaces: bool = True


EXERCISES = {
    "score -o": Exercise(["score", "rows.csv", "-m", "em", "-m", "bleu", "-o", "out.{}", "--json"], ["out.{}"]),
    "score from a list": Exercise(["score", "log.json", "--gold", "gold.csv", "--on", "id", "-m", "f1", "-o", "out.{}"],
                                  ["out.{}"]),
    "run": Exercise(["score", "rows.csv", "-m", "em", "-m", "bleu", "--by", "topic", "--run", "a", "--json"], run="a"),
    "threads": Exercise(["score", "rows.parquet", "-m", "em", "-m", "bleu", "--engine", "threads", "--run", "a",
                         "--json"], run="a"),
    "processes": Exercise(["score", "answers.parquet", "--gold", "gold.parquet", "--on", "id", "-m", "em", "-m", "f1",
                           "--engine", "processes", "--run", "a", "--json"], run="a"),
    "judge": Exercise(["score", "few.jsonl", "-m", "judge:correctness", "--model", "small", "--concurrency", "4",
                       "--run", "a", "-o", "out.{}", "--json"], ["out.{}"], "a", paid=True),
    "examination": Exercise(["judge", "few.jsonl", "-m", "judge:correctness", "--model", "small", "--on", "id", "--ask",
                             "1", "--human", "labels.csv", "--keep-calibration", "kept.json", "--json"], ["kept.json"],
                            paid=True),
    "vectors": Exercise(["score", "few.jsonl", "-m", SPEC, "--batch-size", "4", "--run", "a", "--json"], run="a",
                        paid=True),
    "experiment": Exercise(["experiment", "task.py:answer", "--data", "questions.jsonl", "-m", "em", "--run", "a",
                            "--concurrency", "4", "-o", "out.{}", "--json"], ["out.{}"], "a"),
    "report": Exercise(["report", "one", "two", "-o", "out.html"], ["out.html"]),
    "compare": Exercise(["compare", "one", "two", "-o", "out.{}"], ["out.{}"]),
    "compare --rank": Exercise(["compare", "--rank", "one", "two", "-o", "out.{}"], ["out.{}"]),
    "export": Exercise(["runs", "export", "one", "-o", "out.{}"], ["out.{}"]),
    "label --next": Exercise(["label", "one", "--next", "20", "-o", "out.{}"], ["out.{}"], replaces=False),
    "init": Exercise(["init", "folder"], ["folder/karat.sh", "folder/.github/workflows/karat.yml"],
                     again=["--overwrite"]),
    "remove": Exercise(["runs", "remove", "one"]),
}  # fmt: skip
ENDINGS = ["jsonl", "csv", "parquet", "csv.gz"]
PRELOADED = [
    "karat.cli.main", "karat.cli.score", "karat.runs.scoring.pipeline", "karat.metrics.text.bleu", "pyarrow.parquet",
    "karat.runs.store.writer", "karat.runs.compare.compare", "karat.judges.judge", "karat.models.openai.client",
]  # fmt: skip


class Command:
    """A command in a process of its own, forked from one that has imported karat: so most of its time is its work."""

    forks: subprocess.Popen[str]

    def __init__(self, words: list[str], last: int = 0) -> None:
        self.words, self._out, self._err = words, os.memfd_create("out"), os.memfd_create("err")
        self.pid = self._tell(last, words, str(Path.cwd()), dict(os.environ), self._out, self._err)

    @classmethod
    def _tell(cls, *request: object) -> int:
        assert cls.forks.stdin
        assert cls.forks.stdout
        cls.forks.stdin.write(f"{json.dumps([os.getpid(), *request])}\n")
        cls.forks.stdin.flush()
        return int(cls.forks.stdout.readline())

    def __del__(self) -> None:
        os.close(self._out)
        os.close(self._err)

    def said(self) -> str:
        """What it has written to standard error so far."""
        return os.pread(self._err, 1 << 20, 0).decode()

    def wait(self) -> int:
        """Its exit code."""
        return self._tell(self.pid)

    def end(self) -> tuple[str, float, int]:
        """What it printed, its seconds from the first step on, and its steps; `Wrong` if it fails."""
        if code := self.wait():
            raise Wrong(f"{' '.join(self.words)}: ended with {code}: {self.said()[-1500:]}")
        seconds, steps = re.findall(r"STEPS ([\d.]+) (\d+)", self.said())[-1]
        return os.pread(self._out, 1 << 24, 0).decode(), float(seconds), int(steps)


def fork_commands() -> None:
    """Be the process from which commands are forked, and that waits for them."""
    for name in PRELOADED:
        import_module(name)
    for line in sys.stdin:
        parent, *asked = json.loads(line)
        if len(asked) == 1:
            print(os.waitstatus_to_exitcode(os.waitpid(asked[0], 0)[1]), flush=True)
        elif pid := os.fork():
            print(pid, flush=True)
        else:
            last, words, folder, environment, out, err = asked
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            tempfile.tempdir = None
            for handle, to in ((out, 1), (err, 2)):
                os.dup2(os.open(f"/proc/{parent}/fd/{handle}", os.O_WRONLY), to)
            victim(last, words)


def karat(*words: str) -> str:
    """What a command prints to its end."""
    return Command(list(words)).end()[0]


def kill(words: list[str], steps: int, took: float) -> bool:
    """Start a command, and kill it at a random step, or at a random time after its first one, if it runs until then."""
    by_step = CHANCE.random() < 0.5
    command = Command(words, CHANCE.randint(1, steps) if by_step else 0)
    if not by_step:
        while not re.search("BEGUN|STEPS", command.said()):
            time.sleep(0.005)
        time.sleep(CHANCE.uniform(0, took))
        os.kill(command.pid, signal.SIGKILL)
    if (code := command.wait()) not in (0, -signal.SIGKILL):
        raise Wrong(f"{' '.join(words)} ended by itself with {code}: {command.said()[-1500:]}")
    return code == -signal.SIGKILL


@contextmanager
def serving(paid: bool) -> Iterator[Callable[[], int]]:
    """An endpoint that judges and embeds; what it gives counts the replies and the vectors asked for so far."""
    if not paid:
        yield lambda: 0
        return
    from karat.models.testing.fake import FakeServer
    from karat.models.testing.http import HttpRequest, HttpResponse

    def label(messages: Any) -> dict[str, str]:
        asked = next(each["content"] for each in messages if each["role"] == "user")
        return {"explanation": "by length", "label": "correct" if len(asked) % 2 else "incorrect"}

    class Embedder(FakeServer):
        vectors = 0

        def _handle(self, request: HttpRequest) -> HttpResponse:
            if not request.path.endswith("/embeddings"):
                return super()._handle(request)
            texts = json.loads(request.body)["input"]
            self.vectors += len(texts)
            data = [{"index": at, "embedding": [len(text), text.count("1") + 1.0]} for at, text in enumerate(texts)]
            return HttpResponse.from_value({"data": data, "usage": {"prompt_tokens": 1}}, delay=0.05)

    with Embedder(label, latency=(0.01, 0.1)) as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        yield lambda: server.calls + server.vectors


def kept(folder: Path) -> int:
    """How many replies, vectors and answers of a task are on the disk."""
    found = 0
    for file in folder.rglob("*.sqlite"):
        with closing(sqlite3.connect(file)) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            for table in tables & {"replies", "vectors"}:
                found += db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  (one of two names)
    return found


def content(path: Path) -> object:
    """What a file holds, but for times."""
    if path.is_dir():
        return {each.name: content(each) for each in path.iterdir()}
    if path.suffix in (".html", ".md", ".sh", ".yml", ".json"):
        return re.sub(r"\d{4}-\d\d-\d\d[T \d:.+Z]*", "", path.read_text())
    from karat.data.open import open_source

    source = open_source(path)
    rows = (row for batch in source.batches() for row in batch.to_pylist())
    return repr([{name: cell for name, cell in row.items() if not name.endswith(".latency")} for row in rows])


def stored() -> dict[str, object]:
    """The values and rows of each finished run."""
    runs = sorted(path for path in Path("runs").iterdir() if not path.name.startswith("."))
    return {
        run.name: [content(path) for path in (run / "values.json", *sorted(run.rglob("*.parquet"))) if path.exists()]
        for run in runs
    }


def left(folder: Path) -> list[str]:
    """What a command has left behind."""
    deadline = time.monotonic() + 10  # processes of an engine end after their driver
    while (temporary := list(filter(holds, Path("tmp").iterdir()))) and time.monotonic() < deadline:
        time.sleep(0.2)
    hidden = [path for path in Path().rglob(".*") if path.name != ".github"]
    return [f"{folder / path}" for path in (*hidden, *temporary)]


def holds(path: Path) -> bool:
    """Whether it is a folder or file of karat's; Python's `tempfile` tries a folder with a file of these four bytes."""
    return path.is_dir() or path.read_bytes() not in (b"", b"blat")


def place(folder: Path, inputs: Path) -> None:
    """Make a folder for a command, with the inputs and the runs `one` and `two`, and go there."""
    shutil.copytree(inputs, folder)
    (folder / "tmp").mkdir()
    os.chdir(folder)
    os.environ.update(
        KARAT_RUNS="runs", KARAT_CACHE="replies.sqlite", KARAT_VECTORS="vectors.sqlite", HOME=str(folder),
        TMPDIR=str(folder / "tmp"), OPENAI_API_KEY="none",
    )  # fmt: skip


def undisturbed(exercise: Exercise, words: list[str], outputs: list[str]) -> Whole:
    """What the command gives where nothing disturbs it, in this folder."""
    with serving(exercise.paid) as asked:
        said, took, steps = Command(words).end()
        calls = asked()
    if found := left(Path()):
        raise Wrong(f"an undisturbed command left {found}")
    return Whole(said, {each: content(Path(each)) for each in outputs}, stored(), steps, took, calls)


def disturb(exercise: Exercise, kills: int, work: Path, inputs: Path) -> str:
    """Kill a command so many times, one to three times in a folder of its own, and look at what is left."""
    wholes: dict[str, Whole] = {}
    done = folders = begun = finished = 0
    while done < kills:
        ending = ENDINGS[folders % len(ENDINGS)] if "{}" in "".join(exercise.outputs) else ""
        words = [word.format(ending) for word in exercise.words]
        outputs = [word.format(ending) for word in exercise.outputs]
        if ending not in wholes:
            place(work / f"whole-{ending}", inputs)
            wholes[ending] = undisturbed(exercise, words, outputs)
        whole, folders = wholes[ending], folders + 1
        place(folder := work / f"{folders}", inputs)
        # An output that was there must stay until the new one is.
        older = CHANCE.random() < 0.3 and exercise.replaces and not exercise.again
        for each in outputs if older else ():
            Path(each).write_text("older\n")
        with serving(exercise.paid) as asked:
            resume: list[str] = []
            ended = False
            for _ in range(min(CHANCE.choice([1, 2, 3]), kills - done)):
                done += kill(once_more(exercise, words, resume), whole.steps, whole.took)
                resume = ["--resume"] * bool(exercise.run)
                for each in outputs:
                    check_file(Path(each), whole.files[each], older=older)
                if ended := exercise.run != "" and Path("runs", exercise.run).exists():
                    break
                if is_removed(words):
                    break
            before, there = asked(), kept(folder)
            begun += bool(there or list(Path("runs").glob(".*.partial")))
            said = finish(exercise, words, resume, ended=ended)
            if not ended and exercise.paid and asked() - before > whole.calls - there:
                raise Wrong(f"{asked() - before} calls after {before}; {there} replies of {whole.calls} were kept")
        finished += ended
        if not ended and "--json" in words and json.loads(said) != json.loads(whole.said):
            raise Wrong(f"other values, in {folder}: {said[:1000]}")
        if stored() != whole.runs or not (ended or {each: content(Path(each)) for each in outputs} == whole.files):
            raise Wrong(f"other rows, in {folder}")
        subprocess.run([sys.executable, "-c", CLEAN], check=True)
        if found := left(folder):
            raise Wrong(f"it left {found}")
        shutil.rmtree(folder)
    return f"{done} kills, {begun} with rows or replies kept, {finished} after the end"


def check_file(path: Path, whole: object, *, older: bool) -> None:
    """Whether a file under its final name is whole, or what was there before, or not there."""
    if path.exists() != older and not path.exists():
        raise Wrong(f"{path} was there, and is not")
    if path.exists() and not (older and path.read_bytes() == b"older\n") and content(path) != whole:
        raise Wrong(f"half of {path.resolve()}")


def finish(exercise: Exercise, words: list[str], resume: list[str], *, ended: bool) -> str:
    """The command once more, to its end; what it printed."""
    if ended:  # the kill came after the run was finished
        again = Command([*words, *resume])
        if again.wait() != 1 or "exists already" not in again.said():
            raise Wrong(f"a finished run was resumed: {again.said()}")
        return karat("runs", "verify", exercise.run)
    return karat("runs") if is_removed(words) else karat(*once_more(exercise, words, resume))


def once_more(exercise: Exercise, words: list[str], resume: list[str]) -> list[str]:
    """The command as it is repeated: what is there may be replaced."""
    return [*words, *(exercise.again if any(map(Path.exists, map(Path, exercise.outputs))) else []), *resume]


def is_removed(words: list[str]) -> bool:
    """Whether `karat runs remove` has nothing left to remove."""
    return words[:2] == ["runs", "remove"] and not list(Path("runs").glob("*one*"))


def labels_typed(kills: int, work: Path, inputs: Path) -> str:
    """`karat label`: a label counts as confirmed when the next row is shown."""
    place(work / "typed", inputs)
    words = ["label", "few.jsonl", "-o", "typed.jsonl", "--label-map", "good=1,bad=0", "--on", "id"]
    confirmed = 0
    for _ in range(kills):
        main, end = pty.openpty()
        process = subprocess.Popen([sys.executable, "-m", "karat", *words], stdin=end, stdout=end, stderr=end)
        os.close(end)
        screen, last = "", min(confirmed + CHANCE.randint(1, 4), CALLS - 1)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if select([main], [], [], 0.2)[0]:
                screen += os.read(main, 65536).decode(errors="replace")
            if shown := re.findall(r"row (\d+) of", screen):
                if (at := int(shown[-1]) - 1) < confirmed:
                    raise Wrong(f"row {at + 1} is shown again: {confirmed} were labelled")
                confirmed, screen = at, ""
                os.write(main, CHANCE.choice([b"1", b"2"]))
                if at >= last:
                    break
        time.sleep(CHANCE.uniform(0, 0.01))
        process.kill()
        process.wait()
        os.close(main)
        lines = len(Path("typed.jsonl").read_bytes().split(b"\n")) - 1
        if not confirmed <= lines <= confirmed + 1:
            raise Wrong(f"{confirmed} labels were confirmed, {lines} are there")
    return f"{kills} kills, {confirmed} labels, none lost"


def labels_on_the_page(kills: int, work: Path, inputs: Path) -> str:
    """`karat view --labels`: a label counts as confirmed when the page got its answer."""
    place(work / "page", inputs)
    words = ["view", "--no-open", "--labels", "page.jsonl", "--label-map", "good=1,bad=0", "--rows", "few.jsonl",
             "--on", "id"]  # fmt: skip
    confirmed = 0
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-m", "karat", *words], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        host, _, token = process.stdout.readline().strip().removeprefix("http://").partition("/#token=")
        ask = partial(request, host, {"X-Karat-Token": token, "Content-Type": "application/json"})
        run = ask("GET", "/api/runs")["runs"][0]["id"]
        at = ask("GET", f"/api/label/next?runs={run}")["at"]
        timer = threading.Timer(CHANCE.uniform(0, 0.2), process.kill)
        timer.start()
        sent = 0
        try:
            while at is not None:
                sent += 1
                answer = ask("POST", "/api/label", {"runs": [run], "at": at, "action": "label", "label": "good"})
                confirmed, at, sent = confirmed + 1, answer["at"], 0
        except (OSError, ValueError, HTTPException):
            pass
        timer.join()
        process.communicate()
        lines = len(Path("page.jsonl").read_bytes().split(b"\n")) - 1 if Path("page.jsonl").exists() else 0
        if not confirmed <= lines <= confirmed + sent:
            raise Wrong(f"{confirmed} labels were confirmed, {lines} are there")
        confirmed = lines
    return f"{kills} kills, {confirmed} labels, none lost"


def request(host: str, headers: dict[str, str], method: str, path: str, body: object = None) -> Any:
    """What the page is told."""
    connection = HTTPConnection(host, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    return json.loads(connection.getresponse().read())


def annotations_logged(kills: int, work: Path, inputs: Path) -> str:
    """`karat runs publish --to phoenix`: the file keeps what Phoenix does not have."""
    sys.path.insert(0, str(ROOT))
    make_fake: Any = import_module("tests.adapters.phoenix.server.conftest").FakePhoenix
    logged = [{"span_id": f"{n}", "name": "em", "annotator_kind": "CODE", "result": {"score": 1.0}} for n in range(900)]
    done = number = 0
    while done < kills:
        place(work / f"annotations{(number := number + 1)}", inputs)
        Path("unsent.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in logged))
        fake = make_fake()
        with fake.serving() as url:
            words = ["runs", "publish", "unsent.jsonl", "--to", "phoenix", "--set", f"url={url}"]
            done += kill(words, 6, 0.3)
            there = len(Path("unsent.jsonl").read_text().splitlines()) if Path("unsent.jsonl").exists() else 0
            if len(fake.kept) + there < len(logged):
                raise Wrong(f"{len(fake.kept)} are in Phoenix, {there} in the file")
            if there:
                karat(*words)
        if len(fake.kept) != len(logged) or left(Path()) or Path("unsent.jsonl").exists():
            raise Wrong(f"{len(fake.kept)} are in Phoenix; left: {left(Path())}")
    return f"{kills} kills, {len(logged)} annotations each, none lost"


OTHERS = {"label": labels_typed, "view --labels": labels_on_the_page, "publish --to phoenix": annotations_logged}


def make_inputs(folder: Path) -> None:
    """The files and runs on which the commands work."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    folder.mkdir()
    os.chdir(folder)
    numbers = range(ROWS)
    rows = pa.table({
        "id": [f"q{n}" for n in numbers],
        "question": [f"word{n % 7} and {n}" for n in numbers],
        "topic": [f"t{n % 3}" for n in numbers],
        "prediction": [None if n % 11 == 5 else f"word{n % 7} and {n % 9}" for n in numbers],
        "reference": [f"word{n % 5} and {n % 4}" for n in numbers],
    })  # fmt: skip
    pq.write_table(rows.drop_columns(["reference"]), "answers.parquet", row_group_size=20_000)
    pq.write_table(rows.select(["id", "reference"]).take(pa.array(numbers[::-1])), "gold.parquet",
                   row_group_size=20_000)  # fmt: skip
    pq.write_table(rows, "rows.parquet", row_group_size=20_000)
    pc.write_csv(rows.slice(0, 20_000), "rows.csv")
    few = rows.slice(0, CALLS).drop_columns(["prediction"]).append_column("prediction", rows["question"][:CALLS])
    Path("few.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in few.to_pylist()))
    asked = few.drop_columns(["prediction"]).to_pylist()
    Path("questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in asked))
    Path("log.json").write_text(json.dumps(rows.slice(0, 20_000).drop_columns(["reference"]).to_pylist()))
    pc.write_csv(rows.select(["id", "reference"]).slice(0, 20_000), "gold.csv")
    Path("labels.csv").write_text("id,label\n" + "".join(f"q{n},{n % 2}\n" for n in range(CALLS)))
    Path("task.py").write_text(TASK)
    Path("folder").mkdir()
    for name in ("before", "after"):
        shutil.copy("few.jsonl", f"folder/{name}.jsonl")
    os.environ["KARAT_RUNS"] = "runs"
    karat("score", "rows.csv", "--limit", "4000", "-m", "em", "-m", "bleu", "--run", "one")
    karat("score", "rows.csv", "--limit", "4000", "-m", "em", "-m", "bleu", "--run", "two")


def main(words: list[str]) -> int:
    """Each exercise in turn; 1 if karat does what it must not."""
    kills, names, failed = int(words[0]) if words else 6, words[1:] or [*EXERCISES, *OTHERS], 0
    Command.forks = subprocess.Popen(
        [sys.executable, __file__, "--forks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with tempfile.TemporaryDirectory() as temporary:
        make_inputs(inputs := Path(temporary, "inputs"))
        for name in names:
            work = Path(temporary, str(names.index(name)))
            work.mkdir()
            try:
                told = (
                    OTHERS[name](kills, work, inputs)
                    if name in OTHERS
                    else disturb(EXERCISES[name], kills, work, inputs)
                )
            except Wrong as wrong:
                failed, told = failed + 1, f"WRONG: {wrong}"
            print(f"{name:20} {told}", flush=True)
            os.chdir("/")
    return int(failed > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--forks"]:
        fork_commands()
    else:
        sys.exit(main(sys.argv[1:]))
