"""A server of the Model Context Protocol (MCP), by which an agent reads runs, compares them and scores files.

`server` makes the server with the official SDK, `tools` holds what its tools do: they call `karat.score`,
`karat.compare` and the like, and give what these commands print with `--json`. Files are read below one folder only,
and no model is asked unless the server was started so. Open `tools` first. Needs `karat[mcp]`.
"""

from karat.core.errors import MissingExtra

try:
    from karat.adapters.mcp.server import create_server
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
        raise
    raise MissingExtra("mcp", extra="mcp", need="karat.adapters.mcp") from None

__all__ = ["create_server"]
