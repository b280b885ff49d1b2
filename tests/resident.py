"""karat as a program that is imported once: one process forks for every call, which then needs no second of CPU."""

import json
import os
import signal
import socket
import sys
from importlib import import_module

PRELOADED = ["pandas", "karat.cli.score", "karat.cli.compare", "karat.cli.start.init", "karat.cli.options.result_table"]
PRELOADED += ["karat.metrics.text.overlap", "karat.metrics.text.match", "karat.runs.store.writer"]
PRELOADED += ["karat.runs.scoring.pipeline", "karat.runs.compare.compare", "karat.runs.survey.trials"]


def ask(door: str, *words: str) -> int:
    """Have the process behind a door run karat in this folder, with this environment and these streams; its code."""
    given = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109  (no more imports)
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(door)
        socket.send_fds(asked, [len(given).to_bytes(8, "big")], [0, 1, 2])
        asked.sendall(given)
        return asked.recv(1)[0]


def serve() -> None:
    """Import karat, then fork for everyone who knocks at the door, which is standard input."""
    for name in PRELOADED:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(fileno=os.dup(0)) as door:
        while True:
            asked, _ = door.accept()
            if not os.fork():
                break
            asked.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer(asked)


def answer(asked: socket.socket) -> None:
    """Be karat in a child, and send its exit code."""
    size, streams, *_ = socket.recv_fds(asked, 8, 3)
    with asked.makefile("rb") as file:
        words, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    if child := os.fork():
        asked.sendall(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
        os._exit(0)
    asked.close()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115  (they stay open)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["karat", *words]
    import_module("karat.cli.main").main(prog_name="karat")


if __name__ == "__main__":
    sys.exit(ask(*sys.argv[1:]) if sys.argv[1:] else serve())
