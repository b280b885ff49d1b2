"""Write the stored examples anew. Run it only when a format, a flag or a name is changed on purpose.

    python tests/frozen/make.py PART...

PART is one of `signatures`, `swapped` (signatures of judges that ask in both orders), `flags`, `api`, `printed` (what
commands print, and the files that they write; from the stored runs), `bundle` (of runs that are scored for it; once a
release, beside the earlier ones), or `runs`, which writes everything but these anew: the runs, those that were stopped,
the caches, and what commands print of them.

A change of `src/` that needs this is seen by users: say so in CHANGELOG.md.
"""

import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from unittest import mock

import recompute as now

import karat


class Embeddings(BaseHTTPRequestHandler):
    """An endpoint of vectors, three numbers a text, where the stored ones come from."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = [
            {"index": at, "embedding": [1.0, len(text) / 9, text.count("a") + 0.5]}
            for at, text in enumerate(body["input"])
        ]
        said = json.dumps({"data": rows, "usage": {"prompt_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        """Nothing is printed of requests."""


def store(name, value):
    """Write `expected/NAME.json`."""
    (now.EXPECTED / f"{name}.json").write_text(f"{in_lines(value)}\n", "utf-8")


def in_lines(value, depth=3):
    """The value as JSON with a line for each item, of so many levels."""
    if isinstance(value, dict) and depth:
        items = [f"{json.dumps(key, ensure_ascii=False)}: {in_lines(each, depth - 1)}" for key, each in value.items()]
        return "{\n" + ",\n".join(items) + "\n}"
    if isinstance(value, list) and depth:
        return "[\n" + ",\n".join(in_lines(each, depth - 1) for each in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


def copy_database(path, to):
    """Copy a database that may still be open, as one file without a log beside it."""
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as open_now, closing(sqlite3.connect(to)) as copied:
        open_now.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")


def keep_runs(folder):
    """Keep every run, and two that are stopped half-way."""
    with now.workspace(folder), mock.patch.object(platform, "platform", return_value="a machine"):
        for name in now.KEPT:
            now.kept(name)
        with suppress(KeyboardInterrupt):
            now.half.score_half(resume=False, stop=15)
        Path("stop").touch()
        words = ["experiment", "task.py:answer", "--data", "questions.jsonl", "-m", "exact_match", "--run", "halted"]
        words = [sys.executable, "-m", "karat", *words, "--concurrency", "1"]
        source = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(words, env=os.environ | source, check=False)
        assert done.returncode < 0, "the task kills its process"
    shutil.rmtree(now.RUNS, ignore_errors=True)
    shutil.copytree(folder / now.RUNS.name, now.RUNS, ignore=shutil.ignore_patterns("*lock", "*.sqlite*"))
    answers = Path(".halted.answers", "answers.sqlite")
    copy_database(folder / now.RUNS.name / answers, now.RUNS / answers)


def keep_caches(folder):
    """Keep the replies of every command that asks judges, and the vectors of one that asks an endpoint."""
    now.CACHES.mkdir(exist_ok=True)
    with now.workspace(folder / "replies", port=now.PORT):
        asking = {name: now.printed(words) for name, words in now.ASKING.items()}
    server = HTTPServer(("127.0.0.1", now.PORT), Embeddings)
    Thread(target=server.serve_forever, daemon=True).start()
    with now.workspace(folder / "vectors", serve=False):
        similar = now.similar()
    server.shutdown()
    server.server_close()
    for name in ("replies", "vectors"):
        copy_database(folder / name / f"{name}.sqlite", now.CACHES / f"{name}.sqlite")
    return {**asking, "similar": similar}


def keep_bundle(folder):
    """Keep a bundle of this release, of two runs that are compared and one that asked judges."""
    now.BUNDLES.mkdir(exist_ok=True)
    with now.workspace(folder, port=now.PORT), mock.patch.object(platform, "platform", return_value="a machine"):
        for name in now.BUNDLED:
            now.kept(name)
        for words in ("qa qa_b --by topic -o two.zip", "judged -o judged.zip"):
            done = now.call(f"runs bundle {words}")
            assert done.exit_code == 0, done.output
        for name in ("two.zip", "judged.zip"):
            shutil.copy(name, now.BUNDLES / f"{karat.__version__}_{name}")


def print_all(folder):
    """What every command prints of the stored runs, and the files that they write."""
    with now.workspace(folder, now.RUNS):
        printed = {name: now.printed(words) for name, words in now.COMMANDS.items()}
        shutil.rmtree(now.EXPECTED / "files", ignore_errors=True)
        (now.EXPECTED / "files").mkdir()
        for name in now.FILES.values():
            shutil.copy(name, now.EXPECTED / "files")
    store("printed", printed)


def main(parts):
    """Write the parts."""
    now.EXPECTED.mkdir(exist_ok=True)
    for part in parts:
        if part in ("signatures", "swapped", "flags", "api"):
            store(part, getattr(now, part)())
            continue
        if part not in ("runs", "printed", "bundle"):
            sys.exit(f"{part!r}: one or more of signatures, swapped, flags, api, printed, bundle, runs are expected")
        with tempfile.TemporaryDirectory() as folder:
            if part == "bundle":
                keep_bundle(Path(folder, "bundle"))
                continue
            if part == "runs":
                keep_runs(Path(folder, "runs"))
                store("asked", keep_caches(Path(folder)))
            print_all(Path(folder, "printed"))


if __name__ == "__main__":
    main(sys.argv[1:] or ["nothing"])
