"""Workers that run tests: they are forked from the process that has collected them, and run a file each at a time.

    python -m pytest -p scripts.forks --forks 4

Each worker of pytest-xdist imports and collects all tests for itself, which takes 30 to 40 s of processor time.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from itertools import chain, pairwise
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn, cast

import pytest
from _pytest.capture import FDCapture

if TYPE_CHECKING:
    from _pytest.config.argparsing import Parser

Files = list[list[pytest.Item]]
GRACE = 10.0  # seconds that a worker has to end after an interrupt


class Sender:
    """Sends what a worker does: the name of a test when it starts, then its reports."""

    def __init__(self, config: pytest.Config, door: Connection) -> None:
        self.config, self.door = config, door

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.door.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.door.send(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))


def pytest_addoption(parser: Parser) -> None:
    """Add `--forks` and `--begin`."""
    parser.addoption("--forks", type=int, default=0, help="how many workers run tests, forked when they are collected")
    parser.addoption("--begin", type=int, help="a file descriptor: tests run when a byte is read from it")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Have workers run the tests, and report what they send as if it happened here."""
    config = session.config
    if not config.option.forks or config.option.collectonly or session.testsfailed:
        return None
    if config.option.begin is not None:
        os.read(config.option.begin, 1)
    by_file: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        by_file.setdefault(item.nodeid.partition("::")[0], []).append(item)
    files = list(by_file.values())
    numbers, numbered = os.pipe()  # what is next: two bytes each, which one worker alone reads
    os.write(numbered, b"".join(number.to_bytes(2, "big") for number in range(len(files))))
    os.close(numbered)
    folder = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # noqa: SLF001
    sys.stdout.flush()
    workers: dict[Connection, tuple[int, str]] = {}
    for number in range(config.option.forks):
        door, inner = Pipe(duplex=False)
        if not (process := os.fork()):
            work(session, folder / f"worker{number}", taken(files, numbers), inner)
        inner.close()
        workers[door] = process, ""
    try:
        follow(session, workers)
    finally:
        end([process for process, _ in workers.values()])
    return True


def end(processes: list[int]) -> None:
    """Interrupt workers, and kill those that have not ended after a while: a test may swallow the interrupt."""
    for process in processes:
        os.kill(process, signal.SIGINT)
    latest = monotonic() + GRACE
    for process in processes:
        while os.waitpid(process, os.WNOHANG) == (0, 0):
            if monotonic() > latest:
                os.kill(process, signal.SIGKILL)
            sleep(0.05)


def follow(session: pytest.Session, workers: dict[Connection, tuple[int, str]]) -> None:
    """Report what workers send until all have ended; a test in which one died has failed."""
    hook, config = session.config.hook, session.config
    finished = 0
    while workers:
        for door in cast("list[Connection]", wait(list(workers))):
            process, running = workers[door]
            try:
                sent = door.recv()
            except EOFError:
                died = f"a worker ended here ({os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])})"
                place = running.partition("::")[0], None, ""
                hook.pytest_runtest_logreport(report=pytest.TestReport(running, place, {}, "failed", died, "call"))
                sent = None
            if sent is None:
                del workers[door]
            elif isinstance(sent, str):
                workers[door] = process, sent
            else:
                report = hook.pytest_report_from_serializable(config=config, data=sent)
                hook.pytest_runtest_logreport(report=report)
                finished += report.when == "teardown"
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
    if finished < len(session.items) and not session.testsfailed:
        raise session.Failed(f"{len(session.items) - finished} tests were not run")


def work(session: pytest.Session, folder: Path, items: Iterator[pytest.Item], door: Connection) -> NoReturn:
    """Be a worker: run tests until none is left, with temporary files in a folder."""
    try:
        config: Any = session.config
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(Sender(config, door))
        capturing = config.pluginmanager.getplugin("capturemanager")._global_capturing  # noqa: SLF001
        for stream in (capturing.out, capturing.err):
            if isinstance(stream, FDCapture):  # a file of its own: modules may hold the objects
                with TemporaryFile() as file:
                    os.dup2(file.fileno(), stream.tmpfile.fileno())
        folder.mkdir()
        config._tmp_path_factory._basetemp = folder  # noqa: SLF001
        for item, following in pairwise(chain(items, [None])):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        session._setupstate.teardown_exact(None)  # noqa: SLF001
        door.send(None)
        os._exit(0)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        session._setupstate.teardown_exact(None)  # noqa: SLF001
        os._exit(1)


def taken(files: Files, numbers: int) -> Iterator[pytest.Item]:
    """The tests of the files that no other worker takes: a file is taken before the last test of the one before it."""
    while number := os.read(numbers, 2):
        yield from files[int.from_bytes(number, "big")]
