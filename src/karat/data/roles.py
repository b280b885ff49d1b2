"""Which column has which role: by its own name, by names that other tools use, or by the user's mapping."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

from karat.core.errors import ColumnError, did_you_mean

Side = Literal["prediction", "reference"]
"""Which of two files: the one with predictions (or rankings), or the one with the gold."""

ALIASES: dict[str, tuple[str, ...]] = {
    "prediction": (
        *("answer", "response", "output", "completion", "generated_answer", "predicted_answer", "model_answer"),
        *("actual_output", "generated_text", "generated_cot", "hypothesis", "candidate", "pred", "prediction_text"),
        "generated_ans",
    ),
    "reference": (
        *("gold", "ground_truth", "ground_truth_answer", "gold_answer", "golden_answer", "golden_label", "target"),
        *("expected", "expected_output", "expected_response", "expected_answer", "reference_output", "label", "answer"),
        *("reference_answer", "correct_answer", "ideal", "expectation"),
    ),
    "question": ("query", "input", "user_input", "prompt", "instruction", "request"),
    "contexts": ("context", "retrieved_context", "retrieval_context", "retrieved_document", "document", "passage"),
    "retrieved": (
        *("retrieved_document", "retrieved_doc", "retrieved_id", "retrieved_doc_id", "retrieved_document_id"),
        *("retrieved_chunk", "retrieved_chunk_id", "retrieved_context_id", "retrieved_passage", "result", "ranking"),
        *("ranked_document", "ranked_doc", "ranked_list"),
    ),
    "relevant": (
        *("relevant_document", "relevant_doc", "relevant_id", "relevant_doc_id", "relevant_document_id"),
        *("relevant_chunk", "relevant_passage", "gold_document", "gold_doc", "gold_id", "gold_doc_id", "gold_chunk"),
        *("ground_truth_document", "ground_truth_doc", "ground_truth_id", "reference_context_id", "qrel"),
    ),
    "messages": ("conversation", "trajectory", "dialogue", "transcript"),
    "reference_messages": (
        *("expected_message", "gold_message", "reference_conversation", "expected_conversation"),
        *("reference_trajectory", "expected_trajectory", "gold_trajectory"),
    ),
    "tool_calls": (
        *("function_call", "predicted_tool_call", "actual_tool_call", "tools_called"),
        *("message", "conversation", "trajectory"),
    ),
    "reference_tool_calls": (
        *("expected_tool_call", "gold_tool_call", "ground_truth_tool_call", "reference_function_call", "tool_call"),
        *("expected_function_call", "expected_tool", "reference_message", "expected_message", "possible_answer"),
        *("reference_trajectory", "expected_trajectory"),
    ),
    "criteria": ("criterion", "rubric", "rubric_item"),
    "nuggets": ("nugget_list", "nugget_bank"),
    "tools": ("tool_definition", "available_tool", "function", "tool_schema"),
    "confidence": ("probability", "prob", "confidence_score", "confidence_value", "certainty"),
    "database": ("db", "db_id", "db_path", "db_name", "database_id", "database_path", "database_name"),
    "subtopics": ("intent", "aspect", "nugget", "relevant_subtopic", "diversity_qrel"),
}
"""Names of each role in other tools, singular and in lower case. Sources: Haystack, Ragas, DeepEval,
MLflow, Phoenix, Opik, autoevals, openevals, pydantic-evals, Inspect, DataFlow, torchmetrics, OpenQA-eval,
REMem, ranx, agentevals, BFCL."""


@dataclass(frozen=True)
class Layout:
    """The rows of a tool's files: the columns that tell them apart, and the paths to the values of roles.

    `paths`: for each role the paths that versions and tasks of the tool have; the first that leads anywhere counts,
    of references the first in each row. `is_log`: other files do not have these columns; objects in JSON Lines stay
    JSON text, which is read faster. `document` tells a tool's documents apart, of which there is a row for each value
    of a path in `apart`: another filter, prompt or provider, which are systems of their own. Where the value at the
    path `likelihood` is a list, the tool asked how likely each choice is, and nothing for an answer; `scores` leads to
    its scores, or to their names. `instead` says what to score in place of a file in which a role has no values.
    """

    tool: str
    columns: frozenset[str]
    paths: Mapping[str, tuple[str, ...]]
    is_log: bool = True
    document: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    likelihood: str = ""
    scores: str = ""
    instead: str = ""


@cache
def read_tools() -> Mapping[str, Mapping[str, Any]]:
    """The files of `data/formats/logs/tools`, one a tool, by their names: its `tool`, `rows_at` and `layout`s.

    >>> read_tools()["promptfoo"]["rows_at"]
    ['results.results']
    """
    paths = sorted((Path(__file__).parent / "formats" / "logs" / "tools").glob("*.toml"))
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in paths}


@cache
def read_layouts() -> tuple[Layout, ...]:
    """The layouts of all tools."""
    return tuple(_layout(tool["tool"], each) for tool in read_tools().values() for each in tool.get("layout", ()))


def _layout(tool: str, values: Mapping[str, Any]) -> Layout:
    own: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    paths = {role: own.pop(role) for role in values if role in ALIASES}
    return Layout(tool, frozenset(own.pop("columns")), paths, **own)


def find_layout(names: Iterable[str]) -> Layout | None:
    """The layout of a known tool that has these columns, or paths into them; None for other tables.

    Of several that fit, it is the one with the most columns, the first of equals.

    >>> found = find_layout(["custom_id", "response.body", "error", "id"])
    >>> None if found is None else found.tool
    'the Batch API of OpenAI'
    """
    there = {part for name in names for part in (name, name.partition(".")[0])}
    fitting = [layout for layout in read_layouts() if layout.columns <= there]
    return max(fitting, key=lambda each: (len(each.columns), each.is_log), default=None)


_MOST_NEAR = 4
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SIDE_OF_ROLE: dict[str, Side] = {
    **dict.fromkeys(("prediction", "retrieved", "messages", "tool_calls"), "prediction"),
    **dict.fromkeys(("reference", "relevant", "subtopics", "reference_messages", "reference_tool_calls"), "reference"),
}


class UnmappedRoleError(ColumnError):
    """A role that no column fits, or several: `problem` says which, `columns` are those to choose from for `role`.

    `others` are the other roles without a column, and one to choose for each.
    """

    def __init__(self, problem: str, role: str, *columns: str, more: str = "", **others: str) -> None:
        all_ways = ({role: column, **others} for column in columns)
        flags = [" ".join(f"--map {shlex.quote(f'{r}={name}')}" for r, name in way.items()) for way in all_ways]
        example = {role: columns[0], **others}
        super().__init__(f"{problem}. Say which: {' or '.join(flags)} (in Python, map={example!r}){more}")
        self.problem, self.role, self.column = problem, role, columns[0]


def matches_role(role: str, name: str) -> bool:
    """Whether a column's name is the role's, or one that other tools use for it.

    >>> matches_role("retrieved", "Retrieved Docs"), matches_role("relevant", "retrieved_docs")
    (True, False)
    """
    return singular(name) in _names(role)


@cache
def _names(role: str | None = None) -> frozenset[str]:
    """The names of a role, or of all known roles."""
    return (
        frozenset().union(*map(_names, ALIASES))
        if role is None
        else frozenset({singular(role), *ALIASES.get(role, ())})
    )


def is_side_of(role: str, side: str) -> bool:
    """Whether a file of this side may hold a role: any but the other side's.

    >>> is_side_of("retrieved", "reference"), is_side_of("question", "reference")
    (False, True)
    """
    return _SIDE_OF_ROLE.get(role, side) == side


def is_known_name(name: str) -> bool:
    """Whether a column's name is known: a role's, or `id`.

    >>> is_known_name("Predicted Answers"), is_known_name("56be4db0acb8001400a502ec")
    (True, False)
    """
    return (plain := singular(name)) == "id" or plain in _names()


def map_columns(
    columns: Sequence[str],
    wanted: Sequence[str],
    chosen: Mapping[str, str] | None = None,
    *,
    sides: Mapping[str, Side] | None = None,
    original_names: Mapping[str, str] | None = None,
    where: str = "",
) -> dict[str, str]:
    """Find the column of each wanted role.

    A column with the role's own name, singular or plural, wins. Otherwise the names known from other tools decide, if
    there is exactly one way to give every wanted role a column. `chosen` decides for the roles in it. After a join,
    `sides` is the file that a column comes from (predictions come from one, references from the other) and
    `original_names` its name there; a column whose name there is empty has no role. `where` is the file's name, for
    messages. A role without known names takes the column of that name.

    Raises `UnmappedRoleError` if no column fits a role, or several do.

    >>> map_columns(["question", "answer", "ground_truth"], ["prediction", "reference"])
    {'prediction': 'answer', 'reference': 'ground_truth'}
    >>> map_columns(["prediction", "answer"], ["prediction", "reference"])
    {'prediction': 'prediction', 'reference': 'answer'}
    """
    where = f"{where}: " if where else ""
    mapping = dict(chosen or {})
    for role, column in mapping.items():
        if role not in wanted:
            raise ColumnError(f"{where}no metric has a column {role!r}{did_you_mean(role, wanted)}")
        if column not in columns:
            raise ColumnError(f"{where}no column {column!r} for {role}{did_you_mean(column, columns)}")
    free = [column for column in columns if column not in mapping.values()]
    open_roles = [role for role in wanted if role not in mapping]
    fits = {role: _candidates(role, free, sides or {}, original_names or {}) for role in open_roles}
    if missing := [role for role in open_roles if not fits[role]]:
        raise _none_fits(missing, columns, where, alone=not sides)
    ways = [way for way in product(*fits.values()) if len(set(way)) == len(way)]
    if len(ways) != 1:
        raise _several_fit(fits, ways, where)
    complete = mapping | dict(zip(open_roles, ways[0], strict=True))
    return {role: complete[role] for role in wanted}


def _candidates(role: str, columns: Sequence[str], sides: Mapping[str, Side], names: Mapping[str, str]) -> list[str]:
    """The columns that can have a role; if one has the role's own name, only that one."""
    side = _SIDE_OF_ROLE.get(role)
    if side and (of_side := [column for column in columns if sides.get(column) == side]):
        return _candidates(role, of_side, {}, names) or _candidates(role, columns, {}, names)
    names = {column: names.get(column, column) for column in columns}
    return (
        [column for column, name in names.items() if name == role]
        or [column for column, name in names.items() if singular(name) == singular(role)]
        or [column for column, name in names.items() if singular(name) in ALIASES.get(role, ())]
    )


def singular(name: str) -> str:
    """A name in the singular, lower case, with underscores.

    >>> singular("Ground Truth Answers"), singular("hypothesis"), singular("queries"), singular("actualOutput")
    ('ground_truth_answer', 'hypothesis', 'query', 'actual_output')
    """
    plain = _NEW_WORD.sub("_", name.strip()).lower().replace(" ", "_").replace("-", "_")
    if plain.endswith("ies"):
        return f"{plain[:-3]}y"
    return plain[:-1] if plain.endswith("s") and not plain.endswith(("ss", "is", "_ans")) else plain


def _none_fits(roles: Sequence[str], columns: Sequence[str], where: str, *, alone: bool) -> ColumnError:
    """The error for roles without a column; `alone`: nothing is joined, so gold may be in a second file."""
    if len(columns) == 1 and (separators := [mark for mark in ";,\t|" if mark in columns[0]]):
        hint = f"are its cells separated by {separators[0]!r}? CSV has commas or semicolons, TSV tabs"
        return ColumnError(f"{where}no column fits {roles[0]!r}; the only one is {columns[0]!r}: {hint}")
    if not columns:
        return ColumnError(f"{where}expected rows, found none, and no columns")
    near = {role: _near(role, columns) for role in roles}
    hints = {role: f" (did you mean {' or '.join(map(repr, names))}?)" if names else "" for role, names in near.items()}
    fitting = " or ".join(f"{role!r}{hint}" for role, hint in hints.items())
    problem = f"{where}no column fits {fitting}; the columns are {', '.join(columns)}"
    unhelped = any(_SIDE_OF_ROLE.get(role) == "reference" and not near[role] for role in roles)
    second = ". Gold in a second file: --gold FILE --on ID, the column of ids (in Python, gold=, on=)"
    ways = {role: names or ["COLUMN"] for role, names in near.items()}
    others = {role: ways[role][0] for role in roles[1:]}
    return UnmappedRoleError(problem, roles[0], *ways[roles[0]], more=second if alone and unhelped else "", **others)


def _near(role: str, columns: Sequence[str]) -> list[str]:
    """The columns of unknown name that a role may mean: misspelled, or with a name of the role as their last word.

    >>> _near("reference", ["refrence", "n"]), _near("prediction", ["LLM Response", "output_tokens"])
    (['refrence'], ['LLM Response'])
    """
    unknown = {column: singular(column) for column in columns if not is_known_name(column)}
    close = [column for column, name in unknown.items() if get_close_matches(name, _names(role), n=1, cutoff=0.8)]
    endings = tuple(f"_{name}" for name in _names(role))
    return (close or [column for column, name in unknown.items() if name.endswith(endings)])[:_MOST_NEAR]


def _several_fit(fits: Mapping[str, list[str]], ways: list[tuple[str, ...]], where: str) -> ColumnError:
    if not ways:
        columns_found = ", ".join(sorted({column for columns in fits.values() for column in columns}))
        return ColumnError(f"{where}{' and '.join(fits)} need a column each, but only {columns_found} fits")
    choices = {role: sorted(set(names)) for role, names in zip(fits, zip(*ways, strict=True), strict=True)}
    role, names = max(choices.items(), key=lambda choice: len(choice[1]))
    return UnmappedRoleError(f"{where}{' and '.join(names)} fit {role!r}", role, *names)
