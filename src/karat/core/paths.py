"""Where karat keeps files of its own."""

from __future__ import annotations

import os
from pathlib import Path


def cache_path(name: str, variable: str = "") -> Path:
    """The value of the environment variable if it is set, else `karat/NAME` in the user's cache folder.

    The user's cache folder is `$XDG_CACHE_HOME`, else `~/.cache`.
    """
    if value := os.environ.get(variable):
        return Path(value)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karat" / name
