"""The type of arguments that name a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class Folder(click.Path):
    """The path of a folder that exists; click's own takes pipes and devices too."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, path_type=Path)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The folder; `click.BadParameter` for anything else."""
        folder: Any = super().convert(value, parameter, context)
        if not folder.is_dir():
            self.fail(f"{value!r} is not a folder.", parameter, context)
        return folder
