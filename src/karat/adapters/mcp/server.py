"""The server: each tool as the SDK wants it, with its errors as the agent can read them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from karat.adapters.mcp.tools import Tools
from karat.core.errors import KaratError
from karat.core.version import __version__

_ABOUT = (
    "karat scores answers (QA, RAG, LLM output) against gold, and says whether a difference between two systems is "
    "real. Values come with intervals, comparisons with paired tests corrected for their number (Holm): report both."
)


def create_server(folder: str | Path = ".", *, judges: bool = False) -> MCPServer:
    """A server whose tools read runs and files below `folder`, and score these.

    `judges`: whether metrics may ask models, which may cost money, or load them. `server.run()` serves it on standard
    input and output, as `karat mcp` does.
    """
    tools = Tools(Path(folder), judges=judges)
    server = MCPServer("karat", version=__version__, instructions=_ABOUT, log_level="WARNING")
    reading = (tools.list_runs, tools.show_run, tools.show_rows, tools.compare, tools.flipped_rows, tools.power)
    for tool in (*reading, tools.score):
        hints = ToolAnnotations(
            read_only_hint=tool in reading, destructive_hint=False, open_world_hint=judges and tool == tools.score
        )
        server.add_tool(_tell_errors(tool), annotations=hints)
    return server


def _tell_errors(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The tool with our errors as those whose message the agent reads."""

    @wraps(tool)
    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except (KaratError, OSError) as error:
            raise ToolError(str(error)) from error

    return call
