"""Where a table keeps what a role needs: by the layout of a known tool, or in the objects that its column holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.json_text import RAW, value_at
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError
from karat.data.paths.json_text import parse_cell
from karat.data.paths.nested import add_nested, find_filling, find_nested
from karat.data.roles import Layout, UnmappedRoleError, find_layout, is_side_of, matches_role, singular
from karat.data.source import Source
from karat.data.storage.file_names import name_row

_DEEPEST, _MOST_WAYS = 4, 4
_MESSAGES = ("choices[0].message.content", "body.choices[0].message.content", "messages[-1].content")
_CONTENTS = (
    *("page_content", "text", "content", "passage", "document", "body", "chunk", "value"),
    *("node.text", "node.text_resource.text", "text_resource.text", "kwargs.page_content", "document.page_content"),
)
"""What holds the text of a document or a message. Sources: LangChain, LlamaIndex, Haystack, OpenAI."""


def find_layout_paths(source: Source, roles: Collection[str]) -> dict[str, str]:
    """The paths of roles in the layout of a known tool, for which no column has the role's own name.

    Of a join, each side has its own layout. Only the first rows are looked at.

    >>> from karat.data.formats.frames import open_frame
    >>> rows = {"custom_id": ["a"], "response": [{"body": {"choices": [{"message": {"content": "4"}}]}}], "error": [""]}
    >>> find_layout_paths(open_frame(rows), ["prediction", "reference"])
    {'prediction': 'response.body.choices[0].message.content'}
    """
    paths = dict[str, str]()
    for side, file, names in source.files:
        of_side = [role for role in roles if role not in paths and (side is None or is_side_of(role, side))]
        for role, path in _find_paths(file, of_side).items():
            columns = [(max(filter(each.startswith, names), key=len, default=""), each) for each in path.split("|")]
            if all(column for column, _ in columns):
                paths[role] = "|".join(names[column] + each[len(column) :] for column, each in columns)
    return paths


def find_tools(source: Source) -> list[str]:
    """The tools whose logs a source, or each side of a join, was recognised as."""
    layouts = ((file, find_layout(file.schema.names)) for _, file, _ in source.files)
    tools = (file.tool or (layout.tool if layout is not None and layout.is_log else "") for file, layout in layouts)
    return list(filter(None, tools))


def _find_paths(source: Source, roles: Collection[str]) -> dict[str, str]:
    names = source.schema.names
    layout = find_layout(names)
    if layout is None:
        return {}
    wanted = {role: layout.paths[role] for role in roles if role in layout.paths and role not in names}
    first = replace(source, read=lambda: iter([source.first]), parts=(), numbered=None)
    there = {*names, *find_nested(first, {path for paths in wanted.values() for path in paths})}
    if "prediction" in wanted and layout.likelihood:
        _refuse_likelihoods(first, layout)
    chosen = {role: path for role, paths in wanted.items() if (path := next(filter(there.__contains__, paths), None))}
    if len(paths := wanted.get("reference", ())) > 1 and (filling := find_filling(source, paths)):
        leading = {*names, *find_nested(source, filling)}  # `answers[*].text` leads nowhere in a list of texts
        if filling := [path for path in filling if path in leading]:
            chosen["reference"] = "|".join(filling)
    columns = {role: path.partition("[")[0].partition(".")[0] for role, path in chosen.items()}
    if columns.get("reference") == columns.get("prediction"):  # the same cells: predictions, and gold in another file
        chosen.pop("reference", None)
    for role in wanted.keys() - chosen.keys():
        if path := _find_flat(first, role, wanted[role]):
            chosen[role] = path
    if layout.instead and any(_lacks(first, role) for role in {"prediction", "reference"} & {*roles} - chosen.keys()):
        raise ColumnError(f"{source.name}: {layout.tool}: {layout.instead}")
    return chosen


def _lacks(first: Source, role: str) -> bool:
    """Whether no column has the role by its name, or none with a value."""
    named = [first.first.column(name) for name in first.schema.names if matches_role(role, name)]
    return all(map(_is_empty, named))


def _find_flat(first: Source, role: str, objects: Collection[str]) -> str | None:
    """The path to the text of a role in the first of these objects whose members are columns: `outputs.answer`."""
    for name in objects:
        members = [each for each in first.schema.names if each.startswith(f"{name}.")]
        rows = zip(*(to_python(first.first.column(each)) for each in members), strict=True)
        cells = [
            {key[len(name) + 1 :]: parse_cell(cell) for key, cell in zip(members, row, strict=True)} for row in rows
        ]
        if cells:
            return _inside(name_row(first.name, 1), role, name, cells)
    return None


def _refuse_likelihoods(first: Source, layout: Layout) -> None:
    """Raise `ColumnError` where a log has the likelihood of each choice and no answers, with its scores to take."""
    nested = add_nested(first, find_nested(first, {layout.likelihood, layout.scores, *layout.paths["prediction"]}))
    if not {layout.likelihood, layout.scores}.issubset(nested.schema.names):
        return
    [batch] = nested.batches()
    cells = {
        path: [parse_cell(cell) for cell in to_python(batch.column(path)) if cell not in (None, [])]
        for path in (layout.likelihood, layout.scores, *layout.paths["prediction"])
        if path in batch.schema.names
    }
    answers = [cell for path in layout.paths["prediction"] for cell in cells.get(path, ())]
    if not cells[layout.likelihood] or not all(isinstance(cell, list) for cell in cells[layout.likelihood] + answers):
        return
    scores: Any = next(iter(cells[layout.scores]), ())
    names = [f"'{layout.scores}.{name}'" for name in scores] if isinstance(scores, dict) else list(scores)
    problem = f"{layout.tool} asked for the likelihood of each choice, so that there are no answers"
    options = " or ".join(f'-m "column({name})"' for name in names)
    raise ColumnError(f"{first.name}: {problem}; take its own scores: {options}")


def find_empty(source: Source, roles: Collection[str]) -> set[str]:
    """The columns without any value, where others that have a value may have the same role by their names.

    >>> from karat.data.formats.frames import open_frame
    >>> frame = open_frame({"expected_output": ["a"], "expectations": [""], "comments": [None]})
    >>> find_empty(frame, ["reference"])
    {'expectations'}
    """
    empty_columns = set[str]()
    for _, file, names in source.files:
        own = {role: {singular(other) for other in roles if other != role} for role in roles}  # names of other roles
        fitting = [[n for n in names if matches_role(role, n) and singular(n) not in own[role]] for role in roles]
        empty = {name for several in fitting if len(several) > 1 for name in several}
        for batch in chain([file.first], file.batches()):
            if not (empty := {name for name in empty if _is_empty(batch.column(name))}):
                break
        empty = {name for several in fitting if not empty.issuperset(several) for name in empty & {*several}}
        alone = {name for several in fitting if empty.issuperset(several) for name in several}  # a role's last column
        empty_columns |= {names[name] for name in empty - alone}
    return empty_columns


def _is_empty(column: pa.Array) -> bool:
    """Whether a column has nulls and empty texts alone."""
    if is_text(column.type):
        return not pc.any(pc.greater(pc.binary_length(column.cast(pa.large_string())), 0)).as_py()
    return bool(column.null_count == len(column))


def find_text_files(source: Source) -> set[str]:
    """The columns of files in which all columns are text, as in CSV, where a cell may hold JSON."""
    of_text = (names for _, file, names in source.files if all(is_text(kind) for kind in file.schema.types))
    return {name for names in of_text for name in names.values()}


def find_inside(source: Source, columns: Mapping[str, str], *, of_text: Collection[str] = ()) -> dict[str, str]:
    """The paths to the texts of roles whose columns hold objects.

    In an object, this is the value under a name of the role, the content of the last message of a chat, or the only
    value; in a list of objects, the content of each, as of LangChain's and LlamaIndex's documents. Objects and lists in
    cells of text count in the columns `of_text`. A column with other values has none. Only the first rows are looked
    at, of a join each side's: nothing is matched for it. Raises `UnmappedRoleError` where the keys do not tell.

    >>> from karat.data.formats.frames import open_frame
    >>> rows = [{"answer": {"text": "Paris", "tokens": 3}, "contexts": [{"page_content": "Paris is", "metadata": {}}]}]
    >>> find_inside(open_frame(rows), {"prediction": "answer", "contexts": "contexts"})
    {'prediction': 'answer.text', 'contexts': 'contexts[*].page_content'}
    """
    kinds = {name: source.schema.field(name).type for name in columns.values()}
    may_hold = {name for name, kind in kinds.items() if pa.types.is_nested(kind) or kind == RAW or name in of_text}
    opened = {name: (file, column) for _, file, names in source.files for column, name in names.items()}
    paths = dict[str, str]()
    for role, name in columns.items():
        if name in may_hold:
            file, column = opened.get(name, (source, name))  # the source itself has the columns from paths
            parsed = [parse_cell(cell) for cell in to_python(file.first.column(column))]
            cells = [cell for cell in parsed if cell not in (None, "")]
            row = next((at for at, cell in enumerate(parsed, 1) if cell not in (None, "")), 1)
            path = _inside(name_row(source.name, row), role, name, cells)
            if path not in (name, f"{name}[*]"):  # lists of texts need no path, but in cells of text, see `find_listed`
                paths[role] = path
    return paths


def _inside(where: str, role: str, path: str, values: list[Any], depth: int = 0) -> str:
    """The path to the texts of a role in values at a path: the path itself where they are not objects."""
    if values and all(isinstance(value, list) for value in values):
        items = [item for value in values for item in value if item is not None]
        if items and all(isinstance(item, dict) and {"role", "content"} <= item.keys() for item in items):
            return f"{path}[-1].content"
        path, values = (
            (f"{path}[*]", items) if items and not any(isinstance(item, list) for item in items) else (path, [])
        )
    if not values or depth == _DEEPEST or not all(isinstance(value, dict) for value in values):
        return path
    keys = list(dict.fromkeys(key for value in values for key, inner in value.items() if inner is not None))
    if not keys:
        return path
    named = [key for key in keys if matches_role(role, key)]
    chosen = named[0] if len(named) == 1 else next(_known(values, keys), None) if not named else None
    if chosen is None:
        shown = ", ".join(map(repr, keys))
        ways = [f"{path}.{key}" for key in keys] if len(keys) <= _MOST_WAYS else [f"{path}.KEY"]
        raise UnmappedRoleError(
            f"{where}: column {path!r} ({role}) holds objects with the keys {shown:.200}", role, *ways
        )
    below = [value_at(value, chosen) for value in values]
    return _inside(where, role, f"{path}.{chosen}", [each for each in below if each is not None], depth + 1)


def _known(values: list[Any], keys: list[str]) -> Iterator[str]:
    """The paths that may hold the text of objects, the most certain first."""
    yield from (path for path in (*_MESSAGES, *_CONTENTS) if any(value_at(value, path) is not None for value in values))
    yield from keys if len(keys) == 1 else ()
