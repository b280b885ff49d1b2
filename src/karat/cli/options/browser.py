"""Whether somebody is at a terminal, and a browser can show a page."""

from __future__ import annotations

import os
import sys


def is_terminal() -> bool:
    """Whether standard output is a terminal, not a pipe or a file."""
    return sys.stdout.isatty()


def has_desktop() -> bool:
    """Whether a browser can show itself."""
    return sys.platform in {"darwin", "win32"} or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
