"""``karat mcp``: let an agent read runs, compare them and score files, by the Model Context Protocol."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from threading import Thread

import click

from karat.cli.options.folder import Folder


@click.command()
@click.argument("folder", default=".", type=Folder())
@click.option("--allow-models", is_flag=True, help="Let metrics ask models, which may cost money, or load them.")
def mcp(folder: Path, *, allow_models: bool) -> None:
    """Serve an agent on standard input and output (Model Context Protocol): runs, comparisons and scoring.

    The agent reads files below FOLDER, by default the working directory, and the runs of $KARAT_RUNS. It writes nothing
    but the runs that it asks to keep. Its program starts this command, as in:

    \b
    karat mcp results
    {"mcpServers": {"karat": {"command": "karat", "args": ["mcp", "results"]}}}
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.adapters.mcp import create_server  # noqa: PLC0415  (heavy, and an extra)

    server, ended = create_server(str(folder), judges=allow_models), Future[None]()

    def serve() -> None:
        try:
            ended.set_result(server.run())
        except BaseException as error:  # noqa: BLE001  (it is raised in the caller's thread)
            ended.set_exception(error)

    Thread(target=serve, name="karat-mcp", daemon=True).start()  # it reads standard input, which no signal ends
    ended.result()
