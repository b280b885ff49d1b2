"""A task for stored runs. Its digest is part of them: to change this file is to write them anew."""

import os
import signal
from pathlib import Path


def answer(question, id):  # noqa: A002  (a column)
    """The last word of the question; one row fails, and where a file `stop` is, another kills the process."""
    with Path("asked.txt").open("a") as file:
        file.write(f"{id}\n")
    if id == "q04":
        raise KeyError("capital")
    if id == "q06" and Path("stop").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return {"prediction": question.rstrip("?").split()[-1], "words": len(question.split())}
