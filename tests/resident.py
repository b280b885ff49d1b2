"""Python that has imported karat: one process forks for every call, which then needs no second of CPU.

python resident.py < SOCKET                    listens at a socket
python -IS resident.py DOOR 0 -m karat WORDS…  runs karat in a fork, with this folder, environment and streams
python -IS resident.py DOOR FD -c CODE WORDS…  runs code, and writes the number of the process to a descriptor
"""

import json
import os
import signal
import socket
import sys
from importlib import import_module
from importlib.util import find_spec

PRELOADED = ["pandas", "karat.cli.score", "karat.cli.compare", "karat.cli.start.init", "karat.cli.options.result_table"]
PRELOADED += ["karat.metrics.text.overlap", "karat.metrics.text.match", "karat.metrics.text.bleu"]
PRELOADED += ["karat.runs.store.writer", "karat.runs.scoring.pipeline", "karat.runs.compare.compare"]
PRELOADED += ["karat.cli.start.survey.trials", "pyarrow.parquet"]
PRELOADED += ["uvicorn", "starlette.applications", "karat.cli.view", "karat.viewer.page.workspace"]


def ask(door: str, told: str, *words: str) -> int:
    """Have the process behind a door run Python; its exit code, or the signal that ended it ends this process too."""
    given = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()  # noqa: PTH109  (no more imports)
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(door)
        socket.send_fds(asked, [len(given).to_bytes(8, "big")], [0, 1, 2])
        asked.sendall(given)
        process = asked.recv(8)
        if int(told):
            os.write(int(told), process)
        code = int.from_bytes(asked.recv(8), "big", signed=True)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def serve() -> None:
    """Import karat, then fork for everyone who knocks at the door, which is standard input."""
    for name in PRELOADED:
        if find_spec(name.partition(".")[0]):
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
    """Be Python in a child, and send its number and its exit code."""
    size, streams, *_ = socket.recv_fds(asked, 8, 3)
    with asked.makefile("rb") as file:
        words, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    if child := os.fork():
        for stream in streams:
            os.close(stream)
        asked.sendall(child.to_bytes(8, "big"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        asked.sendall(code.to_bytes(8, "big", signed=True))
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
    how, what, *rest = words
    sys.argv = [what if how == "-m" else how, *rest]
    if how == "-m":
        import_module(f"{what}.cli.main").main(prog_name=what)
    else:
        exec(what, {"__name__": "__main__"})  # noqa: S102


if __name__ == "__main__":
    sys.exit(ask(*sys.argv[1:]) if sys.argv[1:] else serve())
