"""Several systems' answers in the columns of one table: one result each, on the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.data.open import open_source
from karat.data.roles import is_side_of, matches_role
from karat.runs.scoring.pipeline import score
from karat.runs.scoring.result import Result

_SEPARATORS = re.compile(r"([\s_.:/\\-]+)")
_ANSWERS = ("prediction", "retrieved", "tool_calls", "messages")  # the role that a system fills, the first that is read
_ABOUT = frozenset((
    *("gold", "golden", "true", "correct", "reference", "expected", "human", "start", "end", "id", "ids", "type"),
    *("length", "len", "tokens", "time", "latency", "seconds", "score", "scores", "count", "index", "span", "spans"),
    *("cost", "logprob", "logprobs", "label", "labels", "date", "format", "hash", "usage", "error", "reason"),
))  # fmt: skip
"""Words of columns that say something about answers, and hold none."""


def score_systems(
    data: Any,
    metrics: str | Metric | Iterable[str | Metric],
    predictions: str | Sequence[str],
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    run: str | None = None,
    **options: Any,
) -> dict[str, Result]:
    """Score several systems whose answers are columns of one table: the result of each, by its name.

    `predictions`: the columns of answers, or patterns of their names, such as `"answer_*"`. A system's name is what its
    column has beside the others: `gpt4` and `fid` of `answer_gpt4` and `answer_fid`. `run`: the runs are kept as
    `RUN-SYSTEM`. `karat.compare` and `karat.rank` take the results. All other arguments are as in `karat.score`, but
    for `output` and `human`, which are of one system.

    Raises `ColumnError` where no column has such a name, and what `karat.score` raises.

    >>> table = {"id": [1, 2], "gold": ["Paris", "Rome"], "answer_a": ["Paris", "Rom"], "answer_b": ["Paris", "Rome"]}
    >>> results = score_systems(table, "em", "answer_*")
    >>> {name: result.values["em"].value for name, result in results.items()}
    {'a': 0.5, 'b': 1.0}
    """
    for name in ("output", "human"):
        if options.get(name) is not None:
            kept = "keep the rows with run (--run)" if name == "output" else "give them to karat compare"
            raise SpecError(f"predictions names several systems, and {name} is of one: {kept}")
    chosen = parse_all(metrics)
    source = open_source(data)
    systems = name_columns(find_systems(source.schema.names, predictions))
    read = {role for metric in chosen for role in metric.definition.columns}
    role = next((role for role in _ANSWERS if role in read), None)
    if role is None:
        raise SpecError(f"{', '.join(metric.spec for metric in chosen)} reads no predictions")
    results = dict[str, Result]()
    for name, column in systems.items():
        stored = None if run is None else name_run(run, name)
        again = source if data == "-" else data
        result = score(again, chosen, map={**(map or {}), role: column}, run=stored, **options)
        results[name] = replace(result, name=name)
    return results


def find_systems(names: Sequence[str], predictions: str | Sequence[str]) -> list[str]:
    """The columns that `predictions` names, in their order; of a pattern not those that have the name of gold.

    >>> find_systems(["id", "gold_answer", "gpt4_answer", "fid_answer"], "*_answer")
    ['gpt4_answer', 'fid_answer']
    """
    fitting_columns = list[str]()
    for wanted in [predictions] if isinstance(predictions, str) else predictions:
        if wanted in names:
            fitting_columns.append(wanted)
            continue
        fitting = [name for name in names if fnmatchcase(name, wanted) and not _is_gold(name)]
        if not fitting:
            near = "" if "*" in wanted else did_you_mean(wanted, names)
            listed = near or f"; the columns are {', '.join(names)}"
            raise ColumnError(f"predictions (--predictions) {wanted!r}: no column has such a name{listed}")
        fitting_columns += fitting
    return list(dict.fromkeys(fitting_columns))


def guess_systems(names: Sequence[str]) -> list[str]:
    """Columns whose names are a name of answers with a further word, at least two alike; [] where there are none.

    >>> guess_systems(["id", "answer_gpt4", "answer_fid", "answer_start", "gold_answer", "model answer"])
    ['answer_gpt4', 'answer_fid']
    """
    groups = dict[tuple[int, str], list[str]]()
    for name in names:
        words = _SEPARATORS.split(name)
        for at in range(1, len(words), 2):
            for side, alias, rest in ((0, words[:at], words[at + 1 :]), (1, words[at + 1 :], words[:at])):
                known = matches_role("prediction", "".join(alias))
                if known and not _is_gold(name) and not {each.lower() for each in rest} & _ABOUT:
                    groups.setdefault((side, "".join(alias)), []).append(name)
    return max((each for each in groups.values() if len(each) > 1), key=len, default=[])


def name_columns(columns: Sequence[str]) -> dict[str, str]:
    """Each column by the name of its system: its words without those with which all begin, or end.

    >>> name_columns(["answer_gpt4", "answer_fid-kd"])
    {'gpt4': 'answer_gpt4', 'fid-kd': 'answer_fid-kd'}
    """
    words = [_SEPARATORS.split(column) for column in columns]
    first = _count_same(words)
    last = _count_same([each[first:][::-1] for each in words])
    names = ["".join(each[first : len(each) - last]).strip("_.:/\\- ") for each in words]
    distinct = len(columns) > 1 and all(names) and len(set(names)) == len(names)
    return dict(zip(names if distinct else columns, columns, strict=True))


def name_run(run: str, system: str) -> str:
    """The name of a system's run, where several are kept as `run`."""
    spelled = re.sub(r"[^\w.+@-]+", "-", system, flags=re.ASCII).strip("-.+@")
    return f"{run}-{spelled or 'system'}"


def _count_same(words: Sequence[Sequence[str]]) -> int:
    """How many words all begin with."""
    return len(list(takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))))


def _is_gold(name: str) -> bool:
    gold = any(matches_role(role, name) for role in ("reference", "relevant", "reference_tool_calls"))
    return gold and not any(matches_role(role, name) and is_side_of(role, "prediction") for role in _ANSWERS)
