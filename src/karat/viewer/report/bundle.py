"""The modules of the page as one script, so that a file that is opened from the disk needs no other."""

from __future__ import annotations

import re
from importlib.resources import files

_OWN = {"report.js": "report.js", "api.js": "answers.js"}  # where the page asks the server, a report has its data
_IMPORT = re.compile(r'^import\s+([^;"]+?)\s+from\s+"\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (default )?((?:async )?function|class|const) (\w+)", re.MULTILINE)


def bundle() -> str:
    """The report's modules and the page's modules that they use, each in a function, in the order of their imports."""
    written = dict[str, str]()
    _write("report.js", written)
    return '"use strict";\n(async () => {\nconst modules = {};\n' + "\n".join(written.values()) + "\n})();\n"


def _write(name: str, written: dict[str, str]) -> None:
    """Add a module behind those that it imports."""
    source = _read(name)
    for _, other in _IMPORT.findall(source):
        if other not in written:
            _write(other, written)
    exported = {match[3]: "default" if match[1] else match[3] for match in _EXPORT.finditer(source)}
    body = _EXPORT.sub(r"\2 \3", _IMPORT.sub(_take, source))
    listed = ", ".join(f"{key}: {own}" for own, key in exported.items())
    written[name] = f'modules["{name}"] = await (async () => {{\n{body}return {{ {listed} }};\n}})();'


def _take(match: re.Match[str]) -> str:
    r"""An import as a constant.

    >>> _take(_IMPORT.match('import { a, b as c } from "./d.js";\n'))
    'const { a, b: c } = modules["d.js"];\n'
    """
    names, module = match[1], f'modules["{match[2]}"]'
    if names.startswith("* as "):
        return f"const {names[5:]} = {module};\n"
    if not names.startswith("{"):
        return f"const {names} = {module}.default;\n"
    return f"const {names.replace(' as ', ': ')} = {module};\n"


def _read(name: str) -> str:
    viewer = files("karat.viewer")
    place = viewer / "report" / _OWN[name] if name in _OWN else viewer / "page" / "static" / name
    return place.read_text("utf-8")
