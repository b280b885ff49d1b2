"""Options of commands from a file: `karat.toml`, or `[tool.karat]` in `pyproject.toml`, the nearest upwards.

A key at the top is an option of every command that has it, one in a table such as `[score]` is of that command; what is
typed wins. The options of the commands are the schema: none is listed here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import click

from karat.cli.options.completion import SPEC, Offered
from karat.core.errors import did_you_mean

OWN, PROJECT = "karat.toml", "pyproject.toml"
_SECRET = re.compile(r"(?:^|[_-])(?:key|token|password|secret|authorization)$", re.IGNORECASE)
_REMEDY = "secrets are not read from a file: set an environment variable, such as OPENAI_API_KEY"
_SPEC_FILE = re.compile(r"(?P<prefix>judge:)?(?P<path>[^():=]+\.(?:toml|py))(?P<rest>.*)", re.DOTALL)
_NUMBERS = {"integer": "integer", "integer range": "integer", "float": "number", "float range": "number"}

Commands: TypeAlias = Mapping[str, click.Command]


@dataclass(frozen=True)
class SettingsFile:
    """A file with options. `name`: what messages call it; `folder`: what the paths in it are relative to."""

    name: str
    folder: Path
    content: Mapping[str, Any]

    def defaults(self, command: str, commands: Commands) -> dict[str, Any]:
        """The values for the parameters of a command, by their names; `commands` are all that take options from files.

        Raises `click.UsageError` for a key that is not an option, with the nearest one, and for a value that is none.
        """
        options = {name: list_options(each) for name, each in commands.items()}
        shared = {key: value for key, value in self.content.items() if not (key in options and isinstance(value, dict))}
        everywhere = {key: option for each in options.values() for key, option in each.items()}
        defaults = {key: self._read(everywhere, key, value, names=options) for key, value in shared.items()}
        defaults |= {
            key: self._read(options[command], key, value, f"[{command}] ")
            for key, value in self.content.get(command, {}).items()
        }
        return {options[command][key].name or key: value for key, value in defaults.items() if key in options[command]}

    def _read(
        self, options: Mapping[str, click.Option], key: str, value: Any, table: str = "", names: Iterable[str] = ()
    ) -> Any:
        """The value as it would be typed; `names`: further keys that there are."""
        where = f"{self.name}: {table}{key}"
        if (option := options.get(key)) is None:
            problem = _REMEDY if _SECRET.search(key) else f"no such option{did_you_mean(key, {*options, *names})}"
            raise click.UsageError(f"{where}: {problem}")
        if option.is_flag != isinstance(value, bool):
            raise click.UsageError(f"{where}: expected {'true or false' if option.is_flag else 'no true or false'}")
        if option.is_flag:
            return value
        if re.search(r"://[^/]*@", str(value)) or (not option.multiple and any(map(_SECRET.search, _keys(value)))):
            raise click.UsageError(f"{where}: {_REMEDY}")
        if option.multiple and isinstance(value, dict):  # such as fail-under = { em = 0.6 }
            value = [f"{name}={each}" for name, each in value.items()]
        if option.multiple:
            return [self._rebase(option, str(each)) for each in (value if isinstance(value, list) else [value])]
        if isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
        return self._rebase(option, ",".join(map(str, value)) if isinstance(value, list) else str(value))

    def _rebase(self, option: click.Option, text: str) -> str:
        """A path as it is seen from the working directory; any other text as it is."""
        prefix, path, rest = "", text, ""
        if option.type is SPEC:
            if (match := _SPEC_FILE.fullmatch(text)) is None:
                return text
            prefix, path, rest = match["prefix"] or "", match["path"], match["rest"]
        elif not (isinstance(option.type, Offered) and option.type.is_path):
            return text
        whole, named = self.folder / path, isinstance(option.type, Offered) and option.type.is_name
        if path == "-" or "://" in path or Path(path).is_absolute() or (named and not whole.exists()):
            return text
        return f"{prefix}{os.path.relpath(whole)}{rest}"


def find_settings() -> SettingsFile | None:
    """The nearest file with options, from the working directory upwards; `click.UsageError` where it cannot be read."""
    try:
        here = Path.cwd()
    except OSError:  # it has been removed
        return None
    for folder in (here, *here.parents):
        own, project = folder / OWN, folder / PROJECT
        has_own, inside = own.is_file(), _load_table(project) if project.is_file() else None
        if has_own and inside is not None:
            raise click.UsageError(f"options are in {_name(own)} and in [tool.karat] of {_name(project)}: keep one")
        if has_own:
            return SettingsFile(_name(own), folder, _load(own, _read_text(own)))
        if inside is not None:
            return SettingsFile(f"{_name(project)}: [tool.karat]", folder, inside)
    return None


def list_options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their longest names, without dashes before them."""
    return {max(each.opts, key=len).lstrip("-"): each for each in command.params if isinstance(each, click.Option)}


def settings_schema(commands: Commands) -> dict[str, Any]:
    """The JSON Schema of `karat.toml`."""
    tables = {
        name: _schema_of({key: _option_schema(option) for key, option in list_options(command).items()})
        for name, command in commands.items()
    }
    shared = {key: value for table in tables.values() for key, value in table["properties"].items()}
    top = _schema_of({**shared, **tables})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": OWN, **top}


def _schema_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _option_schema(option: click.Option) -> dict[str, Any]:
    kind = "boolean" if option.is_flag else _NUMBERS.get(option.type.name, "string")
    kinds: str | list[str] = kind if option.is_flag or kind != "string" else [kind, "number", "array", "object"]
    return {"type": kinds, "description": option.help or ""}


def _keys(value: Any) -> Iterator[str]:
    """The keys in a value, at any depth."""
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(each)


def _load_table(project: Path) -> dict[str, Any] | None:
    """The table [tool.karat] of a project; a file that does not speak of karat is not parsed, whatever is in it."""
    if "karat" not in (text := _read_text(project)):
        return None
    tool = _load(project, text).get("tool")
    inside = tool.get("karat") if isinstance(tool, dict) else None
    if inside is not None and not isinstance(inside, dict):
        raise click.UsageError(f"{_name(project)}: tool.karat: expected a table, [tool.karat]")
    return inside


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        if path.name == PROJECT:  # it is another program's, and may be in any form
            return ""
        raise click.UsageError(f"{_name(path)} cannot be read: {error}") from None


def _load(path: Path, text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  (only where there is such a file)

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise click.UsageError(f"{_name(path)} cannot be read: {error}") from None


def _name(path: Path) -> str:
    return os.path.relpath(path)
